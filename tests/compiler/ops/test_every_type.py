"""What a record takes of a type runs everywhere with one result, and what it does not take is refused by name.

Over all opcodes that need nothing but operands, all types of operands and results, ranks from 0 to 3 and empty
dimensions.
"""

from __future__ import annotations

import pytest
from every_type import packed

import compiler
from compiler import inputs
from compiler.backends import BACKENDS
from compiler.ir.types import PRED, TYPES, ElementType, Kind
from xlabench.judging.differ import Agreement, compare

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
