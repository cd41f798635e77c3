"""Wide mode: no legal result lies outside of its bounds, and wrong ones do."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from op_programs import EVALUATED, FORMS, program
from wide_results import wide

import compiler
from compiler import WideResult
from compiler.diagnostics import BrokenBounds, InputError, UnsupportedError
from compiler.generate import Choices, RandomChoices, Space
from compiler.generate.table import PAIRS, RECIPES
from compiler.inputs import draw
from compiler.ir.types import TYPES
from compiler.ops import OPS
from compiler.wide import RULES

EVERYTHING = Space(frozenset(RECIPES), frozenset(kind for _, kind in PAIRS), empty_percent=1)
FLOATS = Space(
    frozenset({"add", "subtract", "multiply", "divide", "tanh", "exponential", "reduce", "dot", "transpose", "select"}),
    frozenset({"f32", "pred", "s32"}),
)
ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }"


def generated(seed: int, space: Space) -> tuple[compiler.Module, list[Any], list[WideResult]]:
    choices: Choices = RandomChoices(seed)
    module = compiler.generate.program(choices, space)
    inputs = draw(module, seed)
    return module, inputs, compiler.interpret(module, *inputs, wide=True)


def legal(results: list[WideResult], actual: list[Any]) -> bool:
    return all(result.allows(array).all() for result, array in zip(results, actual, strict=True))


def test_every_opcode_that_the_reference_evaluates_has_a_rule() -> None:
    assert [opcode for opcode in EVALUATED if opcode not in RULES] == []
    assert [opcode for opcode in RULES if OPS[opcode].evaluate is None] == []


SPECIAL = {"f": [0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40, 1.0, -2.5], "i": [0, 1, -1, 2, -(2**31)]}


def special(array: Any, generator: np.random.Generator) -> Any:
    values = SPECIAL.get(array.dtype.kind)
    return array if values is None else generator.choice(np.array(values, array.dtype), array.shape)


@pytest.mark.parametrize("name", [*EVALUATED, *FORMS])
def test_the_reference_and_the_cpu_keep_the_bounds_of_every_opcode(name: str) -> None:
    """On random and on special inputs; LAPACK's own failures to converge are the reference's, which then refuses."""
    module = compiler.parse(FORMS[name] if name in FORMS else program(name))
    try:
        executable = compiler.compile(module, "cpu")
    except UnsupportedError:
        executable = None
    for seed in range(6):
        inputs = draw(module, seed)
        if seed >= 3:
            inputs = [special(np.asarray(array), np.random.default_rng(seed)) for array in inputs]
        try:
            expected = compiler.interpret(module, *inputs)
        except UnsupportedError:
            continue
        results = compiler.interpret(module, *inputs, wide=True)
        assert legal(results, expected)
        assert executable is None or legal(results, executable(*inputs))
        assert [result.value.shape for result in results] == [array.shape for array in expected]


TELLING = ["cholesky", "potrf, lower", "trsm", "getrf", "gesdd", "syevd", "TopK", "reduce by a choice",
           "reduce to a tuple of one", "reduce of pairs", "reduce-window by an odd sum", "scatter by an odd sum",
           "select-and-scatter by an odd sum", "batch-norm-grad", "scaled-dot"]  # fmt: skip


@pytest.mark.parametrize("name", TELLING)
def test_bounds_say_something_where_numbers_are_tame(name: str) -> None:
    module = compiler.parse(FORMS[name] if name in FORMS else program(name))
    inputs = [generic(array) for array in draw(module, 0)]
    results = compiler.interpret(module, *inputs, wide=True)
    floats = [result for result in results if result.value.dtype.kind == "f"]
    assert any(np.isfinite(result.bound).any() for result in floats)
    for result, array in zip(results, compiler.interpret(module, *inputs), strict=True):
        sure = ~result.undecided & np.isfinite(result.value)
        assert not result.allows(array + (1 + np.abs(array)).astype(array.dtype))[sure].any()


def generic(array: Any) -> Any:
    """Numbers of no pattern, the matrices of which are well conditioned."""
    if array.dtype.kind != "f":
        return array
    return np.cos(np.arange(array.size) ** 2 + 1.0).reshape(array.shape).astype(array.dtype)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 120, 20))
def test_the_reference_never_leaves_its_bounds(seed: int) -> None:
    for number in range(seed, seed + 20):
        module, inputs, results = generated(number, EVERYTHING)
        assert legal(results, compiler.interpret(module, *inputs)), compiler.to_text(module)


@pytest.mark.slow
@pytest.mark.parametrize("options", [compiler.CompileOptions(), compiler.CompileOptions(fusion=False)])
def test_compiled_code_never_leaves_the_bounds(options: compiler.CompileOptions) -> None:
    for seed in range(6):
        module, inputs, results = generated(seed, FLOATS)
        assert legal(results, compiler.compile(module, "cpu", options)(*inputs)), compiler.to_text(module)


LONG = np.linspace(0.1, 2.0, 12, dtype=np.float32).reshape(3, 4)
PROGRAMS = {
    "a dot": (
        "x = f32[3,4] parameter(0)",
        "ROOT r = f32[3,3] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    ),
    "a sum": (
        "x = f32[3,4] parameter(0)",
        "z = f32[] constant(0)",
        "ROOT r = f32[3] reduce(x, z), dimensions={1}, to_apply=add",
    ),
    "a function": ("x = f32[3,4] parameter(0)", "ROOT r = f32[3,4] exponential(x)"),
    "a chain": (
        "x = f32[3,4] parameter(0)",
        "y = f32[3,4] tanh(x)",
        "z = f32[3,4] divide(y, x)",
        "ROOT r = f32[3,4] log(z)",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_thousandth_too_much_is_wrong(name: str) -> None:
    results = wide(*PROGRAMS[name], inputs=(LONG,), computations=ADD)
    text = "\n".join(["HloModule m", ADD, "ENTRY e {", *PROGRAMS[name], "}"])
    (right,) = compiler.interpret(compiler.parse(text), LONG)
    assert results[0].allows(right).all()
    assert not results[0].allows(right * np.float32(1 + 1e-3)).any()


def test_swapped_operands_are_wrong() -> None:
    lines = ("x = f32[2] parameter(0)", "y = f32[2] parameter(1)", "ROOT r = f32[2] subtract(x, y)")
    x, y = np.array([1, 2], np.float32), np.array([3, 7], np.float32)
    (result,) = wide(*lines, inputs=(x, y))
    assert result.allows(x - y).all()
    assert not result.allows(y - x).any()


def test_what_nothing_rounds_is_held_to_the_bit() -> None:
    x = np.array([0.5, 3.0], np.float32)
    (result,) = wide("x = f32[2] parameter(0)", "ROOT r = f32[2] add(x, x)", inputs=(x,))
    assert not result.bound.any()
    (total,) = wide(*PROGRAMS["a sum"], inputs=(np.ones((3, 4), np.float32),), computations=ADD)
    assert not total.bound.any()


def test_a_close_decision_is_undecided_and_a_clear_one_is_not() -> None:
    x = np.array([1.0, 2.0], np.float32)
    lines = ("x = f32[2] parameter(0)", "y = f32[2] sqrt(x)", "z = f32[2] multiply(y, y)")
    (result,) = wide(*lines, "ROOT r = pred[2] compare(z, x), direction=LT", inputs=(np.array([3.0, 2], np.float32),))
    assert result.undecided.tolist() == [True, True]
    (result,) = wide("x = f32[2] parameter(0)", "ROOT r = pred[2] compare(x, x), direction=LT", inputs=(x,))
    assert result.undecided.tolist() == [False, False]


def test_a_close_choice_between_near_values_is_known_nearly() -> None:
    lines = (
        "x = f32[] parameter(0)",
        "e = f32[] exponential(x)",
        "y = f32[] log(e)",
        "p = pred[] compare(y, x), direction=GT",
    )
    (result,) = wide(*lines, "ROOT r = f32[] select(p, x, y)", inputs=(np.float32(2.5),))  # fmt: skip
    assert not result.undecided
    assert 0 < result.bound < 1e-5


def test_overflow_is_infinite_where_it_is_sure_and_undecided_at_the_border() -> None:
    lines = ("x = f32[3] parameter(0)", "ROOT r = f32[3] multiply(x, x)")
    (result,) = wide(*lines, inputs=(np.array([1e30, 1.8446744e19, 1e10], np.float32),))
    assert result.value[0] == np.inf
    assert result.undecided.tolist() == [False, True, False]


def test_narrow_types_get_bounds_of_their_own_width() -> None:
    x = np.array([1.0, 1.5], ml_dtypes.bfloat16)
    (result,) = wide("x = bf16[2] parameter(0)", "ROOT r = bf16[2] exponential(x)", inputs=(x,))
    assert result.element_type == "bf16"
    assert np.all((result.bound > 1e-3) & (result.bound < 1.0))


def test_results_past_a_close_loop_condition_are_undecided() -> None:
    loop = """
    body { p = (f32[], f32[]) parameter(0)
      i = f32[] get-tuple-element(p), index=0 n = f32[] get-tuple-element(p), index=1
      d = f32[] constant(0.1) s = f32[] add(i, d) ROOT t = (f32[], f32[]) tuple(s, n) }
    cond { p = (f32[], f32[]) parameter(0)
      i = f32[] get-tuple-element(p), index=0 n = f32[] get-tuple-element(p), index=1
      ROOT c = pred[] compare(i, n), direction=LT }"""
    lines = ("z = f32[] constant(0)", "n = f32[] parameter(0)", "t = (f32[], f32[]) tuple(z, n)")
    ends = ("w = (f32[], f32[]) while(t), condition=cond, body=body", "ROOT r = f32[] get-tuple-element(w), index=0")
    (clear,) = wide(*lines, *ends, inputs=(np.float32(0.95),), computations=loop)
    (close,) = wide(*lines, *ends, inputs=(np.float32(1.0),), computations=loop)
    assert not clear.undecided
    assert close.undecided


def test_sorting_close_keys_leaves_open_what_goes_along() -> None:
    comparator = (
        "less { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3) "
        "ROOT r = pred[] compare(a, b), direction=LT }"
    )
    lines = ("x = f32[3] parameter(0)", "y = f32[3] exponential(x)", "i = s32[3] iota(), iota_dimension=0")
    end = "ROOT r = (f32[3], s32[3]) sort(y, i), dimensions={0}, to_apply=less, is_stable=true"
    keys, places = wide(*lines, end, inputs=(np.array([1, 0.5, 1.0000001], np.float32),), computations=comparator)
    assert not keys.undecided.any()
    assert places.undecided.tolist() == [False, True, True]


def test_a_computed_nan_has_either_end_of_the_total_order() -> None:
    comparator = (
        "less { a = f32[] parameter(0) b = f32[] parameter(1) "
        "ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }"
    )
    lines = (
        "x = f32[2,3] parameter(0)",
        "z = f32[] constant(0)",
        "b = f32[2,3] broadcast(z), dimensions={}",
        "y = f32[2,3] add(x, b)",
    )
    given = np.array([[1, np.nan, 0], [3, 2, 1]], np.float32)
    (computed,) = wide(
        *lines, "ROOT r = f32[2,3] sort(y), dimensions={1}, to_apply=less", inputs=(given,), computations=comparator
    )
    assert computed.undecided.tolist() == [[True] * 3, [False] * 3]
    for result in wide(*lines, "ROOT r = (f32[2,3], s32[2,3]) topk(y), k=3", inputs=(given,)):
        assert result.undecided.tolist() == [[True] * 3, [False] * 3]
    (kept,) = wide(
        lines[0], "ROOT r = f32[2,3] sort(x), dimensions={1}, to_apply=less", inputs=(given,), computations=comparator
    )
    assert not kept.undecided.any()


COMPARATORS = {
    "less": "ROOT r = pred[] compare(a, b), direction=LT",
    "less of an expression": "m = {t}[] negate(a) n = {t}[] negate(b) ROOT r = pred[] compare(m, n), direction=GT",
    "less or equal": "ROOT r = pred[] compare(a, b), direction=LE",
    "less, NaN last": "l = pred[] compare(a, b), direction=LT u = pred[] compare(a, a), direction=EQ"
    " v = pred[] compare(b, b), direction=NE w = pred[] and(u, v) ROOT r = pred[] or(l, w)",
    "total": "ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER",
    "by a key": "k = pred[] compare(c, d), direction=LT q = pred[] compare(c, d), direction=EQ"
    " l = pred[] compare(a, b), direction=LT m = pred[] and(q, l) ROOT r = pred[] or(k, m)",
}
ROWS = [[3, 1, 2, 0], [3, np.nan, 2, 0], [0, 2, 0, 1], [np.nan] * 4]


@pytest.mark.parametrize(
    ("comparator", "element_type", "stable", "keys", "along"),
    [
        ("less", "f32", True, "0100", "0100"),
        ("less", "f8e5m2", False, "0100", "0111"),
        ("less of an expression", "bf16", True, "0100", "0100"),
        ("less or equal", "f32", True, "0110", "0110"),
        ("less, NaN last", "f32", True, "0000", "0000"),
        ("less, NaN last", "f16", False, "0000", "0011"),
        ("total", "f32", True, "0000", "0000"),
        ("total", "f8e4m3fnuz", True, "0101", "0101"),
        ("by a key", "f64", True, "0000", "0000"),
    ],
)
def test_an_order_that_the_comparator_does_not_give_is_undecided(
    comparator: str, element_type: str, *, stable: bool, keys: str, along: str
) -> None:
    """Of rows with no NaN, with one, with equals, with NaN only: what is open of the keys and of what goes along."""
    body = COMPARATORS[comparator].replace("{t}", element_type)
    computation = (
        f"less {{ a = {element_type}[] parameter(0) b = {element_type}[] parameter(1)"
        f" c = s32[] parameter(2) d = s32[] parameter(3) {body} }}"
    )
    lines = (f"x = {element_type}[4,4] parameter(0)", "i = s32[4,4] iota(), iota_dimension=1")
    end = f"ROOT r = ({element_type}[4,4], s32[4,4]) sort(x, i), dimensions={{1}}, to_apply=less"
    end += ", is_stable=true" if stable else ""
    given = np.array(ROWS).astype(TYPES[element_type].dtype)
    results = wide(*lines, end, inputs=(given,), computations=computation)
    assert ["".join(str(int(row.any())) for row in result.undecided) for result in results] == [keys, along]


def test_wide_mode_goes_with_neither_trace_nor_around() -> None:
    module = compiler.parse("HloModule m\nENTRY e { ROOT c = f32[] constant(1) }")
    with pytest.raises(InputError, match="neither trace nor around"):
        compiler.interpret(module, trace=lambda *_: None, wide=True)  # type: ignore[call-overload]


@pytest.mark.parametrize("kind", [t.name for t in TYPES.values() if t.is_float])
def test_results_of_any_bits_can_be_asked_about(kind: str) -> None:
    own = TYPES[kind]
    bits = np.random.default_rng(0).integers(0, 256, 4096, np.uint8)
    actual = (bits & ((1 << own.bits) - 1)).astype(np.uint8).view(own.dtype) if own.bits <= 8 else bits.view(own.dtype)
    (result,) = wide(f"ROOT x = {kind}[{actual.size}] parameter(0)", inputs=(actual,))
    assert result.allows(actual).all()


@pytest.mark.parametrize("element_type", ["f8e5m2", "bf16", "f32", "f64", "u8", "s64"])
def test_random_bits_are_those_of_the_programs_own_type(element_type):
    module = compiler.parse(
        f"ENTRY e {{ s = u64[2] constant({{1, 2}}) ROOT r = (u64[2], {element_type}[3,4]) rng-bit-generator(s), "
        "algorithm=rng_three_fry }"
    )
    state, bits = compiler.interpret(module, wide=True)
    assert legal([state, bits], compiler.interpret(module))
    assert not bits.bound.any()


@pytest.mark.parametrize("element_type", ["f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz", "f8e5m2", "bf16"])
def test_zeros_have_a_sign_where_their_own_type_has_one(element_type):
    module = compiler.parse(
        f"ENTRY e {{ x = {element_type}[] parameter(0) z = {element_type}[] subtract(x, x) n = {element_type}[] "
        "negate(z) f = f32[] convert(n) m = f32[] constant(-1) ROOT r = f32[] atan2(f, m) }"
    )
    one = np.asarray(1).astype(TYPES[element_type].dtype)
    assert legal(compiler.interpret(module, one, wide=True), compiler.interpret(module, one))


@pytest.mark.parametrize("given", ["add", ("add",), (np.zeros(4), [None])])
@pytest.mark.parametrize("opcode", sorted(opcode for opcode in EVALUATED if opcode in RULES))
def test_a_rule_that_gives_no_bounds_is_told_of_by_its_opcode_before_anybody_takes_them(opcode, given, monkeypatch):
    module = compiler.parse(program(opcode))
    ones = [np.ones(p.array.dims, p.array.element_type.dtype) for p in module.entry.parameters]
    monkeypatch.setitem(RULES, opcode, lambda *_: given)
    with pytest.raises(BrokenBounds, match=rf"^about {opcode}: its rule of bounds gives none"):
        compiler.interpret(module, *ones, wide=True)
