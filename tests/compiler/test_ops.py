"""Every opcode has a complete record, and what the record takes of a type runs everywhere with one result.

Every opcode that the reference evaluates runs natively on a small program.  Over all opcodes that need nothing but
operands, all types of operands and results, ranks from 0 to 3 and empty dimensions are tried; what a record does not
take, and what no two targets need agree on, is refused by name.
"""

from __future__ import annotations

import pytest
from every_type import packed
from op_programs import EVALUATED, around, program

import compiler
from compiler import inputs
from compiler.backends import BACKENDS
from compiler.ir.attributes import ATTRIBUTES, COMMON
from compiler.ir.types import PRED, TYPES, ElementType, Kind
from compiler.ops import OPS
from compiler.text.opcodes import SIGNATURES
from xlabench.judging.differ import Agreement, compare

OPTIONS = compiler.CompileOptions(device="sim", verify_each=True)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("opcode", EVALUATED)
def test_every_opcode_that_the_reference_evaluates_runs_natively(opcode, backend):
    module = compiler.parse(program(opcode))
    arrays = inputs.draw(module, 0)
    expected = compiler.interpret(module, *arrays)
    comparison = compare(expected, compiler.compile(module, backend, OPTIONS)(*arrays))
    assert comparison.agreement in ("bitwise", "within"), comparison.describe()
    assert any(opcode == i.opcode for i in module.instructions())


UNSUPPORTED = {
    "a dimension without a bound": "n = s32[] constant(2) ROOT r = f32[?] dynamic-reshape(x, n)",
    "a custom call for a routine of LAPACK": "ROOT r = (f32[2,3], f32[2])"
    ' custom-call(m), custom_call_target="lapack_sgelqf_ffi"',
    "an array that other devices make longer": "ROOT r = f32[8] all-gather(x), dimensions={0}, replica_groups={}",
}
"""Forms of the opcodes above that have no native code: they are refused, never computed in another way."""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", UNSUPPORTED)
def test_what_has_no_native_code_is_refused(form, backend):
    with pytest.raises(compiler.UnsupportedError):
        compiler.compile(compiler.parse(around(UNSUPPORTED[form])), backend, OPTIONS)


NUMBERS = {name: row for name, row in TYPES.items() if row.kind is not Kind.OPAQUE}
DIMS = [(), (0,), (2, 3)]
MORE_DIMS = [(3,), (2, 0), (2, 1, 3)]
TOGETHER = ("pred", "s4", "u8", "s64", "f8e8m0fnu", "bf16", "f16", "c64")
"""Types of each kind and width, and those that are unlike all others."""
ENGINES = {name: (name, {}) for name in BACKENDS} | {"cpu, unfused": ("cpu", {"fusion": False})}


def operand_types(row: ElementType) -> list[list[ElementType]]:
    """What goes before a type, or after it, in ops of several types."""
    bits = [TYPES[name] for name in [f"u{row.bits}"] if name in TYPES and row.is_float]
    return [[row], [PRED, row], *([row, random] for random in bits)]


def ranged(*quick: tuple[int, ...]) -> list[object]:
    """All dimensions, of which those are tried in a quick run."""
    return [
        pytest.param(dims, marks=[] if dims in quick else pytest.mark.sweep, id=str(dims)) for dims in DIMS + MORE_DIMS
    ]


@pytest.mark.parametrize("dims", ranged(*DIMS))
@pytest.mark.parametrize("name", NUMBERS)
def test_the_reference_and_the_wide_mode_run_what_is_taken(name: str, dims: tuple[int, ...]) -> None:
    for types in operand_types(NUMBERS[name]):
        module = packed(types, dims)
        compiler.verify(module)
        given = inputs.draw(module, 0)
        results = compiler.interpret(module, *given)
        assert [result.shape for result in results] == [dims] * len(module.entry.root.operands)
        for result, wide in zip(results, compiler.interpret(module, *given, wide=True), strict=True):
            assert wide.allows(result).all(), (wide, result)


@pytest.mark.slow
@pytest.mark.parametrize("dims", ranged((2, 3)))
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in TOGETHER else pytest.mark.sweep) for name in NUMBERS]
)
def test_engines_run_what_is_taken(name: str, engine: str, dims: tuple[int, ...]) -> None:
    backend, options = ENGINES[engine]
    for types in operand_types(NUMBERS[name])[::2]:
        module = packed(types, dims)
        given = inputs.draw(module, 0)
        executable = compiler.compile(module, backend, compiler.CompileOptions(device="sim", threads=1, **options))
        actual = executable(*given)
        comparison = compare(compiler.interpret(module, *given), actual)
        assert comparison.agreement in (Agreement.BITWISE, Agreement.WITHIN), comparison.describe()
        for result, wide in zip(actual, compiler.interpret(module, *given, wide=True), strict=True):
            assert wide.allows(result).all(), (wide, result)


@pytest.mark.parametrize("opaque", ["token", "opaque"])
@pytest.mark.parametrize("opcode", ["bitcast", "bitcast-convert", "convert", "stochastic-convert"])
@pytest.mark.parametrize("dims", ["", "0", "2,3"])
def test_what_carries_no_number_is_refused(opcode: str, opaque: str, dims: str) -> None:
    one = f"ENTRY e {{{{ x = {{}}[{dims}] parameter(0) y = u32[{dims}] parameter(1)"
    one += f" ROOT r = {{}}[{dims}] {opcode}(x{{}}) }}}}"
    second = ", y" if opcode == "stochastic-convert" else ""
    for source, target in ((opaque, "f32"), ("f32", opaque), (opaque, "pred"), ("pred", opaque)):
        with pytest.raises(compiler.CompilerError):
            compiler.verify(compiler.parse(one.format(source, target, second)))


@pytest.mark.parametrize("source", NUMBERS)
def test_bits_of_a_scalar_are_read_as_those_of_an_array(source: str) -> None:
    """A bitcast to a type of other bits is refused for a scalar as for an array, by reference and wide mode."""
    for target in NUMBERS:
        outcomes = {
            runs(f"ENTRY e {{ x = {source}[{dims}] parameter(0) ROOT r = {target}[{dims}] bitcast(x) }}", wide=wide)
            for dims in ("", "2")
            for wide in (False, True)
        }
        assert len(outcomes) == 1, target


def runs(text: str, *, wide: bool) -> bool:
    """Whether the reference has a meaning for a program."""
    module = compiler.parse(text)
    try:
        compiler.interpret(module, *inputs.draw(module, 0), wide=wide)
    except compiler.UnsupportedError:
        return False
    return True


FORMS = {
    "more bits": "f32[2] bitcast(f32[3] x)",
    "packed bits": "s8[2] bitcast(s4[4] x)",
    "another state": "(f32[4], u32[4]) rng-bit-generator(f32[4] x), algorithm=rng_philox",
    "complex bits": "(u64[2], c64[4]) rng-bit-generator(u64[2] x), algorithm=rng_three_fry",
    "bits of truth": "(u64[2], pred[4]) rng-bit-generator(u64[2] x), algorithm=rng_three_fry",
    "six bits": "(u64[2], f6e2m3fn[4]) rng-bit-generator(u64[2] x), algorithm=rng_philox",
    "whole normal numbers": "s8[4] rng(s8[] x, s8[] y), distribution=rng_normal",
    "complex random numbers": "c64[4] rng(c64[] x, c64[] y), distribution=rng_uniform",
    "no order": "(c64[2], s32[2]) topk(c64[4] x), k=2, largest=true",
    "no order for XLA's call": '(c64[2], s32[2]) custom-call(c64[4] x), custom_call_target="TopK"',
    "gathered from others": "f32[8] all-gather(f32[4] x), dimensions={0}",
    "another length": "c64[4] fft(c64[4] x), fft_type=FFT, fft_length={8}",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_reference_refuses_it(form):
    module = compiler.parse(FORMS[form])
    compiler.verify(module)
    with pytest.raises(compiler.UnsupportedError):
        compiler.interpret(module, *compiler.inputs.draw(module, 0))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", FORMS)
def test_back_ends_refuse_it(form, backend):
    with pytest.raises(compiler.UnsupportedError):
        compiler.compile(FORMS[form], backend, OPTIONS)


_WITHOUT_MEANING = {
    "infeed",
    "outfeed",
    "parameter",
    "recv",
    "recv-done",
    "rng-get-and-update-state",
    "send",
    "send-done",
}


def test_every_opcode_of_the_language_has_a_record() -> None:
    assert len(OPS) == 133
    assert OPS.keys() == SIGNATURES.keys()


@pytest.mark.parametrize("opcode", OPS)
def test_a_record_is_complete(opcode: str) -> None:
    op = OPS[opcode]
    assert op.opcode == opcode
    assert op.doc.endswith(".")
    assert (op.evaluate is None) == (opcode in _WITHOUT_MEANING)
    least, most = op.operands
    assert least >= 0
    assert most is None or most >= least
    assert {*op.required, *op.optional} - {"parameter_number"} <= ATTRIBUTES.keys() - COMMON


@pytest.mark.parametrize("opcode", sorted(OPS.keys() - {"parameter", "constant", "async-update", "async-done"}))
def test_a_record_takes_the_attributes_that_its_text_may_have(opcode: str) -> None:
    assert {*OPS[opcode].required, *OPS[opcode].optional} == SIGNATURES[opcode].allowed - COMMON
