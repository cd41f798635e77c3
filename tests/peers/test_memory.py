"""The memory of compiled programs beside what XLA says of its own.

XLA's count leaves out what its library calls and parallel tasks take while they run: packed factors, partial sums.
Ours holds those too, as workspaces.  So values are compared alone; with workspaces, a program may take as much as XLA's
temporaries and results, and a tenth of what it reads.
"""

import re

import pytest

import compiler
from compiler.ir.shape import leaves
from xlabench.cases import programs
from xlabench.cases.suite import load_suite

pytest.importorskip("jaxlib", reason="jaxlib is not installed")

from jaxlib import _hlo, _jax, xla_client

PATHS = {program.name: program.path for program in load_suite("corpus").programs}
_PART_OF_INPUTS = 10
_VALUE = re.compile(r": arena offset (\d+), (\d+) bytes, live \[(\d+), (\d+)\]$")


def memory_of_xla(text):
    client = xla_client.make_cpu_client(asynchronous=False)
    module = _hlo.hlo_module_from_text(text)
    stablehlo = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
    devices = _jax.DeviceList((client.local_devices()[0],))
    return client.compile_and_load(stablehlo, devices, _jax.CompileOptions()).get_compiled_memory_stats()


@pytest.mark.parametrize("name", PATHS)
def test_programs_take_no_more_memory_than_with_xla(name):
    module = programs.read(PATHS[name])
    known = memory_of_xla(PATHS[name].read_text(encoding="utf-8"))
    executable = compiler.compile(module, options=compiler.CompileOptions(threads=2))
    arena, _ = executable.memory_bytes
    given = sum(leaf.size_bytes for parameter in module.entry.parameters for leaf in leaves(parameter.shape))

    assert values_alone(executable) <= known.temp_size_in_bytes
    assert arena <= known.temp_size_in_bytes + known.output_size_in_bytes + given // _PART_OF_INPUTS


def values_alone(executable):
    """The most bytes that values take at once in the arena, by the dump of the assignment."""
    lines = executable.artifacts["buffer-assignment.txt"].splitlines()
    found = {_VALUE.search(line) and _VALUE.search(line).groups() for line in lines}
    values = [tuple(map(int, numbers)) for numbers in found if numbers]
    return max((sum(size for _, size, first, last in values if first <= at <= last) for *_, at in values), default=0)
