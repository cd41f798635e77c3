"""Programs that call LAPACK by name run on XLA in a process that has made none of them by JAX."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.edit import plain, routine_of
from compiler.generate.choices import RandomChoices
from compiler.generate.exhaustive import Packing, space_of
from compiler.generate.lapack import BY_ROUTINE
from compiler.ir.types import C64, F64
from xlabench import engine, from_jax
from xlabench.bundles import export
from xlabench.bundles.failure import Failure
from xlabench.fuzzing.values import make_inputs
from xlabench.jobs import standard_of
from xlabench.judging.judge import judge
from xlabench.judging.tolerance import TolerancePolicy

pytest.importorskip("jax", reason="jax is not installed")

from jax.scipy import linalg


@pytest.fixture(scope="module")
def program():
    solve = from_jax(
        lambda a, b: linalg.solve_triangular(a, b, lower=True), np.eye(3, dtype=np.float32), np.ones(3, np.float32)
    )
    return compiler.to_text(solve)


def test_xla_solves_by_lapack(program, tmp_path):
    file = tmp_path / "solve.hlo"
    file.write_text(program)
    command = [sys.executable, "-m", "xlabench", "run", file, "--engine", "xla", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert json.loads(done.stdout)["verdict"] in ("bitwise", "within"), done.stdout + done.stderr


def test_so_does_the_exported_script(program, tmp_path):
    inputs = [np.eye(3, dtype=np.float32) * 2, np.ones(3, np.float32)]
    result = [np.full(3, 0.5, np.float32)]
    failure = Failure(program, inputs, result, result, "xla", "reference", None, "wrong", "3 elements are wrong")
    for name, data in export.contents(failure)[0].items():
        (tmp_path / name).write_bytes(data)
    script = [sys.executable, "-I", "run_in_jax.py"]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


SAID = ("operand_layout_constraints", "api_version")


def drawn(name, kind):
    """A call of a routine as campaigns draw them: the first for which there is room."""
    space = replace(space_of(("f32", "f64", "c64", "c128", "pred", "s32"), frozenset()), most_elements=1 << 14)
    for seed in range(50):
        packing = Packing("m", space)
        packing.kernel(BY_ROUTINE[name], kind, RandomChoices(seed))
        module = packing.finish()
        if module is not None and any(routine_of(i) for i in module.instructions()):
            return module
    pytest.fail(f"{name} is not drawn")


@pytest.mark.parametrize("taken", [(), SAID[:1], SAID], ids=["shapes alone", "constraints too", "nothing is said"])
@pytest.mark.parametrize("kind", [F64, C64], ids=str)
@pytest.mark.parametrize("name", BY_ROUTINE)
def test_xla_is_given_the_matrices_that_a_program_is_about_where_it_does_not_say_how_they_lie(name, kind, taken):
    module = plain(drawn(name, kind)).module
    for instruction in module.instructions():
        for attribute in taken:
            instruction.attributes.pop(attribute, None)
    inputs = make_inputs(module, np.random.default_rng(5))
    expected = compiler.interpret(module, *inputs)
    judgement = judge(
        module,
        inputs,
        expected,
        engine("xla").compile(module)(*inputs),
        standard_of("xla", "reference", TolerancePolicy()),
    )
    assert judgement.verdict in ("bitwise", "within"), judgement.message
