"""What does not fit in any machine compiles, is emitted and planned; only running it is refused, with both sizes."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import compiler
from compiler import CompileOptions
from compiler.__main__ import cli
from compiler.commands.emit import AS_READ, FORMS
from compiler.diagnostics import UnsupportedError
from compiler.interpreter import interpret
from compiler.ir.module import Module
from compiler.plan import DEEPEST_CALLS, peak_bytes
from compiler.text.parser import parse

BIG = "f32[1000000,1000000]"
PROGRAMS = {
    "parameter": f"ENTRY e {{ x = {BIG} parameter(0) ROOT y = {BIG} add(x, x) }}",
    "result": f"ENTRY e {{ x = f32[] parameter(0) ROOT y = {BIG} broadcast(x), dimensions={{}} }}",
    "arena": f"""ENTRY e {{ x = f32[1000000] parameter(0) b = {BIG} broadcast(x), dimensions={{0}}
        s = {BIG} sort(b), dimensions={{1}}, to_apply=less ROOT y = f32[1,1] slice(s), slice={{[5:6],[7:8]}} }}""",
    "folded": f"""ENTRY e {{ c = f32[] constant(2) o = f32[1,1] constant({{{{3}}}})
        b = {BIG} broadcast(c), dimensions={{}} p = {BIG} pad(o, c), padding=0_999999x0_999999
        i = {BIG} iota(), iota_dimension=1 r = {BIG} reverse(i), dimensions={{1}}
        a = {BIG} add(b, p) m = {BIG} multiply(a, r) n = {BIG} negate(b) t = {BIG} concatenate(m), dimensions={{0}}
        ROOT z = ({BIG}, {BIG}) tuple(t, n) }}""",
    "dot": f"""ENTRY e {{ c = f32[] constant(2) b = {BIG} broadcast(c), dimensions={{}}
        i = {BIG} iota(), iota_dimension=0
        ROOT d = {BIG} dot(b, i), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}""",
    "counted beyond 2^60": """ENTRY e { x = s8[1099511627776,1048576] parameter(0)
        ROOT y = s8[1099511627776,1048576] add(x, x) }""",
}
LESS = "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT l = pred[] compare(a, b), direction=LT }\n"
MOST_BYTES = 512 << 20
"""What compiling one of them may add to this process."""


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_compiles_and_a_call_says_what_is_needed_and_what_is_there(name: str, backend: str) -> None:
    text, before = LESS + PROGRAMS[name], _peak_bytes()
    module = compiler.parse(text)
    options = CompileOptions(device="sim" if backend == "nvptx" else "")
    executable = compiler.compile(text, backend=backend, options=options)
    inputs = [np.broadcast_to(np.zeros((), p.array.element_type.dtype), p.array.dims) for p in module.entry.parameters]
    said = r"it would need \d{13,} bytes of memory, this machine has \d+; use smaller shapes"
    for call in (executable, executable.profile):
        with pytest.raises(compiler.UnsupportedError, match=said):
            call(*inputs)
    assert _peak_bytes() - before < MOST_BYTES


@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
@pytest.mark.parametrize("form", [*FORMS, *AS_READ])
@pytest.mark.parametrize("name", ["parameter", "arena", "folded"])
def test_every_form_is_emitted(name: str, form: str, backend: str, tmp_path: Path) -> None:
    path = tmp_path / "big.hlo"
    path.write_text(LESS + PROGRAMS[name])
    done = CliRunner().invoke(cli, ["emit", form, str(path), "--backend", backend])
    if (form, backend) in {("ptx", "cpu"), ("steps", "cpu"), ("asm", "nvptx"), ("object", "nvptx")}:
        assert done.exit_code == 2
    else:
        assert done.exit_code == 0, done.output
        assert done.output.strip()


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_printed_verified_and_optimised_and_a_run_ends_with_125(name: str, tmp_path: Path) -> None:
    path = tmp_path / "big.hlo"
    path.write_text(LESS + PROGRAMS[name])
    before = _peak_bytes()
    for arguments in (["print"], ["verify"], ["opt", "--passes", "optimize"]):
        assert CliRunner().invoke(cli, [arguments[0], str(path), *arguments[1:]]).exit_code == 0
    for backend in (["--backend", "cpu"], []):
        done = CliRunner().invoke(cli, ["run", str(path), *backend])
        assert done.exit_code == 125
        assert "bytes of memory, this machine has" in done.output
    assert _peak_bytes() - before < MOST_BYTES


def _module(*lines: str, computations: str = "") -> Module:
    return parse("\n".join(["HloModule m", computations, "ENTRY e {", *lines, "}"]))


def test_a_module_too_large_for_memory_is_refused_with_its_size() -> None:
    module = _module(
        "z = f32[] constant(0)",
        "b = f32[1000000000,1000000] broadcast(z), dimensions={}",
        "ROOT r = f32[1000000000,1000000] negate(b)",
    )
    with pytest.raises(UnsupportedError, match="it would need 8000000000000000 bytes"):
        interpret(module)
    with pytest.raises(UnsupportedError, match="it would need 48000000000000000 bytes"):
        compiler.interpret(module, wide=True)
    with pytest.raises(UnsupportedError, match="it would need 4000000000000000 bytes"):
        compiler.compile(module)()
    with pytest.raises(UnsupportedError, match="it would need 4000000000000000 bytes"):
        compiler.inputs.draw(_module("ROOT p = f32[1000000000,1000000] parameter(0)"), 0)


def test_values_are_freed_after_their_last_use() -> None:
    lines = ["x = f32[1000] parameter(0)", "v0 = f32[1000] negate(x)"]
    lines += [f"v{i + 1} = f32[1000] negate(v{i})" for i in range(50)]
    module = _module(*lines, "ROOT r = f32[] constant(0)")
    assert peak_bytes(module) == 8000 + 4


def test_calls_that_nest_too_deep_are_refused() -> None:
    calling = "f{} {{ a = f32[] parameter(0) ROOT r = f32[] call(a), to_apply=f{} }}"
    functions = ["f0 { a = f32[] parameter(0) ROOT r = f32[] negate(a) }"]
    functions += [calling.format(i + 1, i) for i in range(DEEPEST_CALLS)]
    entry = ("x = f32[] parameter(0)", f"ROOT r = f32[] call(x), to_apply=f{DEEPEST_CALLS - 2}")
    assert interpret(_module(*entry, computations="\n".join(functions[:-1])), np.float32(3)) == [-3]
    deeper = ("x = f32[] parameter(0)", f"ROOT r = f32[] call(x), to_apply=f{DEEPEST_CALLS}")
    with pytest.raises(UnsupportedError, match=f"calls nest {DEEPEST_CALLS + 2} deep"):
        interpret(_module(*deeper, computations="\n".join(functions)), np.float32(3))


def test_programs_for_several_devices_are_refused() -> None:
    text = "HloModule m, replica_count=2\nENTRY e {\nROOT r = u32[] replica-id()\n}"
    with pytest.raises(UnsupportedError, match="it is a program for 2 devices"):
        interpret(parse(text))
