"""The reference: what it accepts, what it yields, what it shows on the way, what it refuses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import golden
import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.diagnostics import InputError, UnsupportedError, VerifyError
from compiler.interpreter import evaluate_instruction, interpret, prepare
from compiler.ir.module import Instruction, Module
from compiler.text.parser import parse
from compiler.verifier import findings


def _module(*lines: str, computations: str = "") -> Module:
    return parse("\n".join(["HloModule m", computations, "ENTRY e {", *lines, "}"]))


def _sum_of_rows() -> Module:
    return _module(
        "x = f32[2,3] parameter(0)",
        "z = f32[] constant(0)",
        "ROOT r = f32[2] reduce(x, z), dimensions={1}, to_apply=add",
        computations="add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }",
    )


def test_a_text_is_read_and_verified() -> None:
    text = "ENTRY e { x = f32[2] parameter(0) ROOT y = f32[{size}] negate(x) }"
    [result] = compiler.interpret(text.replace("{size}", "2"), np.array([1, 2], np.float32))
    assert result.tolist() == [-1, -2]
    with pytest.raises(VerifyError, match="V10"):
        compiler.interpret(text.replace("{size}", "3"), np.array([1, 2], np.float32))


def test_results_are_the_leaves_of_the_root_in_order() -> None:
    module = _module(
        "x = s32[2] parameter(0)",
        "n = s32[2] negate(x)",
        "inner = (s32[2], s32[2]) tuple(n, x)",
        "k = token[] after-all()",
        "ROOT r = ((s32[2], s32[2]), token[], s32[2]) tuple(inner, k, n)",
    )
    results = interpret(module, np.array([1, 2], np.int32))
    assert [result.tolist() for result in results] == [[-1, -2], [1, 2], [-1, -2]]


def test_results_share_no_memory_with_inputs_or_constants() -> None:
    module = _module("x = f32[2] parameter(0)", "c = f32[2] constant({1, 2})", "ROOT r = (f32[2], f32[2]) tuple(x, c)")
    x = np.zeros(2, np.float32)
    first, second = interpret(module, x)
    first[:] = 7
    second[:] = 7
    assert x.tolist() == [0, 0]
    assert interpret(module, x)[1].tolist() == [1, 2]


def test_results_are_contiguous() -> None:
    module = _module("x = f32[2,3] parameter(0)", "ROOT r = f32[3,2] transpose(x), dimensions={1,0}")
    (result,) = interpret(module, np.zeros((2, 3), np.float32))
    assert result.flags.c_contiguous


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((), "m takes 1 inputs, 0 given"),
        ((np.zeros((2, 3)),), r"parameter 0 \(x\) takes float32 for f32\[2,3\].*, float64 given: convert the input"),
        ((np.zeros((3, 2), np.float32),), r"parameter 0 \(x\) has shape \[2, 3\], \[3, 2\] given"),
        ((np.zeros((2, 3), np.float32),) * 2, "m takes 1 inputs, 2 given"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        interpret(_sum_of_rows(), *inputs)


def test_a_tuple_parameter_takes_one_input_per_leaf() -> None:
    module = _module("x = (f32[], s32[]) parameter(0)", "ROOT r = s32[] get-tuple-element(x), index=1")
    assert interpret(module, np.float32(1), np.int32(2)) == [2]


def test_a_trace_sees_every_instruction_once_per_run() -> None:
    seen: list[str] = []
    module = _sum_of_rows()
    interpret(module, np.ones((2, 3), np.float32), trace=lambda instruction, value: seen.append(instruction.name))
    assert seen == ["x", "z", "r"]


def test_elided_constants_are_refused() -> None:
    module = _module("c = f32[20] constant({...})", "ROOT r = f32[20] negate(c)")
    with pytest.raises(UnsupportedError, match=r"constant c .*left out of the text"):
        interpret(module)


def test_an_op_without_meaning_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"rng-get-and-update-state \(r\)"):
        interpret(_module("ROOT r = u64[2] rng-get-and-update-state(), delta=1"))


def test_a_routine_called_as_old_jaxlib_did_is_refused_with_its_present_name() -> None:
    call = 'ROOT r = f32[2,2] custom-call(x), custom_call_target="lapack_sgetrf"'
    with pytest.raises(UnsupportedError, match=r"'lapack_sgetrf' .* calls lapack_sgetrf_ffi"):
        interpret(_module("x = f32[2,2] parameter(0)", call), np.eye(2, dtype=np.float32))


@pytest.mark.parametrize(
    ("routine", "results", "flags", "info"),
    [
        ("gesdd", "(f32[2,3,3], f32[2,3], f32[2,3,3], f32[2,3,3], s32[2])", "mode = 83 : ui8", -4),
        ("syevd", "(f32[2,3,3], f32[2,3], s32[2])", "mode = 86 : ui8, uplo = 76 : ui8", 3),
    ],
)
def test_a_matrix_with_a_nan_has_nan_for_factors_and_its_batch_has_its_own(
    routine: str, results: str, flags: str, info: int
) -> None:
    call = f'custom-call(x), custom_call_target="lapack_s{routine}_ffi", backend_config="{{{flags}}}"'
    matrices = np.stack([np.diag([3, 1, 2]), np.full((3, 3), np.nan)]).astype(np.float32)
    text = f"ENTRY e {{ x = f32[2,3,3] parameter(0) ROOT r = {results} {call} }}"
    *factors, failed = interpret(parse(text), matrices)
    assert failed.tolist() == [0, info]
    assert all(np.isfinite(value[0]).all() and np.isnan(value[1]).all() for value in factors)


def test_an_unknown_custom_call_is_refused_by_name() -> None:
    module = _module("x = f32[] parameter(0)", 'ROOT r = f32[] custom-call(x), custom_call_target="mystery"')
    with pytest.raises(UnsupportedError, match="custom-call to 'mystery'"):
        interpret(module, np.float32(1))


def test_a_loop_runs_until_its_condition_fails() -> None:
    computations = """
    less { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(10)
      ROOT r = pred[] compare(i, n), direction=LT }
    twice { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0
      x = f32[] get-tuple-element(s), index=1 o = s32[] constant(1) j = s32[] add(i, o) y = f32[] add(x, x)
      ROOT r = (s32[], f32[]) tuple(j, y) }"""
    module = _module(
        "i = s32[] constant(0)",
        "x = f32[] parameter(0)",
        "s = (s32[], f32[]) tuple(i, x)",
        "ROOT r = (s32[], f32[]) while(s), condition=less, body=twice",
        computations=computations,
    )
    assert interpret(module, np.float32(1)) == [10, 1024]


def test_a_combiner_that_cannot_run_on_whole_arrays_runs_element_by_element() -> None:
    # The reduction inside the combiner looks at dimensions.
    computations = """
    add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
    odd { a = f32[] parameter(0) b = f32[] parameter(1) v = f32[2] broadcast(a), dimensions={}
      ROOT r = f32[] reduce(v, b), dimensions={0}, to_apply=add }"""
    module = _module(
        "x = f32[3] parameter(0)",
        "ROOT r = f32[3] map(x, x), dimensions={0}, to_apply=odd",
        computations=computations,
    )
    assert interpret(module, np.arange(3, dtype=np.float32))[0].tolist() == [0, 3, 6]


def test_scalars_that_are_moved_to_scalars_do_not_hinder_mapping() -> None:
    computations = """
    less { a = f32[] parameter(0) b = f32[] parameter(1) v = s32[] bitcast(a) w = s32[] bitcast(b)
      x = s32[] reshape(v) y = s32[] broadcast(w), dimensions={} ROOT r = pred[] compare(x, y), direction=GT }"""
    module = _module(
        "a = f32[4] parameter(0)",
        "ROOT r = f32[4] sort(a), dimensions={0}, to_apply=less",
        computations=computations,
    )
    calls: list[str] = []
    (result,) = interpret(module, np.array([1, 3, 2, 4], np.float32), trace=lambda i, _: calls.append(i.name))
    assert result.tolist() == [4, 3, 2, 1]
    assert calls.count("v") <= 4


def test_xla_s_own_name_for_topk_is_known() -> None:
    module = _module(
        "x = f32[5] parameter(0)",
        'ROOT r = (f32[2], s32[2]) custom-call(x), custom_call_target="TopK"',
    )
    values, places = interpret(module, np.array([1, 5, 3, 5, 2], np.float32))
    assert (values.tolist(), places.tolist()) == ([5, 5], [1, 3])


@pytest.mark.parametrize("length", [5, 128, 129, 1000])
def test_a_combiner_that_is_not_recognised_keeps_the_order_of_elements(length: int) -> None:
    # Composition of affine maps x -> a x + b modulo 2^32: associative, not commutative.
    computations = """
    compose { a = u32[] parameter(0) b = u32[] parameter(1) c = u32[] parameter(2) d = u32[] parameter(3)
      ac = u32[] multiply(a, c) cb = u32[] multiply(c, b) s = u32[] add(cb, d) ROOT r = (u32[], u32[]) tuple(ac, s) }"""
    module = _module(
        f"a = u32[{length}] parameter(0)",
        f"b = u32[{length}] parameter(1)",
        "one = u32[] constant(1)",
        "zero = u32[] constant(0)",
        "ROOT r = (u32[], u32[]) reduce(a, b, one, zero), dimensions={0}, to_apply=compose",
        computations=computations,
    )
    rng = np.random.default_rng(length)
    a, b = (rng.integers(0, 1 << 32, length, dtype=np.uint32) for _ in range(2))
    factor, offset = 1, 0
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        factor, offset = factor * x % (1 << 32), (offset * x + y) % (1 << 32)
    assert interpret(module, a, b) == [factor, offset]


def test_a_comparator_of_several_keys_sorts_stably() -> None:
    computations = """
    less { a = s32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3)
      eq = pred[] compare(a, b), direction=EQ lt = pred[] compare(a, b), direction=LT
      l2 = pred[] compare(c, d), direction=LT ROOT r = pred[] select(eq, l2, lt) }"""
    module = _module(
        "a = s32[2,100] parameter(0)",
        "c = f32[2,100] parameter(1)",
        "ROOT r = (s32[2,100], f32[2,100]) sort(a, c), dimensions={1}, is_stable=true, to_apply=less",
        computations=computations,
    )
    rng = np.random.default_rng(0)
    a, c = rng.integers(0, 5, (2, 100)).astype(np.int32), rng.standard_normal((2, 100)).astype(np.float32)
    keys, values = interpret(module, a, c)
    for row in range(2):
        order = np.lexsort((c[row], a[row]))
        assert keys[row].tolist() == a[row][order].tolist()
        assert values[row].tolist() == c[row][order].tolist()


def test_an_async_pair_yields_what_its_computation_does() -> None:
    module = _module(
        "x = f32[2] parameter(0)",
        "s = ((f32[2]), f32[2], u32[]) async-start(x), calls=neg",
        "ROOT d = f32[2] async-done(s)",
        computations="neg { a = f32[2] parameter(0) ROOT r = f32[2] negate(a) }",
    )
    assert interpret(module, np.ones(2, np.float32))[0].tolist() == [-1, -1]


def test_a_dynamic_dimension_takes_what_lies_within_its_bound() -> None:
    module = _module(
        "x = f32[4] parameter(0)",
        "n = s32[] parameter(1)",
        "d = f32[<=4] set-dimension-size(x, n), dimensions={0}",
        "y = f32[<=4] negate(d)",
        "k = s32[] get-dimension-size(y), dimensions={0}",
        "ROOT r = (f32[<=4], s32[]) tuple(y, k)",
    )
    values, size = interpret(module, np.arange(4, dtype=np.float32), np.int32(3))
    assert (values.tolist(), size) == ([0, -1, -2], 3)


SIZED = {
    "all of a dimension": "r = f32[<=4,1] gather(d, i), offset_dims={0}, collapsed_slice_dims={}, start_index_map={0},"
    " index_vector_dim=1, slice_sizes={4}",
    "a part": "r = f32[2] dynamic-slice(d, i), dynamic_slice_sizes={2}",
    "another size": "r = f32[<=4] add(d, e)",
    "no partner": "r = f32[<=4] map(d, e), dimensions={0}, to_apply=sum",
}


@pytest.mark.parametrize(
    ("form", "size", "expected"),
    [
        ("all of a dimension", 1, [[0]]),
        ("a part", 3, [1, 2]),
        ("a part", 1, "a part of [2] is taken of [1]"),
        ("another size", 3, "the sizes that it meets: operands of [2] and [3]"),
        ("another size", 1, "the sizes that it meets: operands of [1] and [2]"),
        ("no partner", 1, "the sizes that it meets: operands of [1] and [2]"),
        ("another size", 2, [0, 2]),
    ],
)
def test_sizes_that_do_not_go_together_are_refused(form: str, size: int, expected: object) -> None:
    module = _module(
        "x = f32[4] parameter(0)",
        "n = s32[] parameter(1)",
        "d = f32[<=4] set-dimension-size(x, n), dimensions={0}",
        "two = s32[] constant(2)",
        "e = f32[<=4] set-dimension-size(x, two), dimensions={0}",
        "i = s32[1] constant({3})",
        f"ROOT {SIZED[form]}",
        computations="sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }",
    )
    inputs = (np.arange(4, dtype=np.float32), np.int32(size))
    if isinstance(expected, str):
        with pytest.raises(UnsupportedError, match=re.escape(expected)):
            interpret(module, *inputs)
    else:
        assert interpret(module, *inputs)[0].tolist() == expected


def test_an_op_rounds_once_at_its_end() -> None:
    # 1 + 2^-8 + 2^-20 is above the midpoint of 1 and 1 + 2^-7, which a detour by f32 cannot see after log and exp.
    module = _module("x = f64[1] parameter(0)", "ROOT r = bf16[1] convert(x)")
    above = np.array([1 + 2.0**-8 + 2.0**-40])
    assert interpret(module, above)[0][0] == ml_dtypes.bfloat16(1 + 2.0**-7)


def test_scan_stacks_outputs_and_carries_on() -> None:
    computations = """
    step { x = f32[2] parameter(0) c = f32[2] parameter(1) s = f32[2] add(x, c)
      ROOT r = (f32[2], f32[2]) tuple(s, s) }"""
    for reverse, expected in (("false", [0, 2, 6]), ("true", [6, 6, 4])):
        module = _module(
            "x = f32[3,2] parameter(0)",
            "c = f32[2] constant({0, 0})",
            "ROOT r = (f32[3,2], f32[2]) scan(x, c), dimensions={0}, num_carries=1, "
            f"is_reverse={reverse}, to_apply=step",
            computations=computations,
        )
        stacked, last = interpret(module, np.arange(6, dtype=np.float32).reshape(3, 2))
        assert stacked[:, 0].tolist() == expected
        assert last.tolist() == [6, 9]


def test_ragged_dot_multiplies_each_group_of_rows_by_its_matrix() -> None:
    module = _module(
        "l = f32[5,2] parameter(0)",
        "r = f32[3,2,4] parameter(1)",
        "g = s32[3] parameter(2)",
        "ROOT d = f32[5,4] ragged-dot(l, r, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
        "lhs_ragged_dims={0}, rhs_group_dims={0}",
    )
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((5, 2)).astype(np.float32), rng.standard_normal((3, 2, 4)).astype(np.float32)
    (result,) = interpret(module, left, right, np.array([2, 0, 2], np.int32))
    expected = np.concatenate([left[:2] @ right[0], left[2:4] @ right[2], np.zeros((1, 4))])
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_one_instruction_can_be_evaluated_alone() -> None:
    module = _sum_of_rows()
    root = module.entry.root
    value = evaluate_instruction(root, [np.ones((2, 3), np.float32), np.zeros((), np.float32)])
    assert np.asarray(value).tolist() == [3, 3]


def test_what_is_prepared_gives_what_interpret_gives() -> None:
    module = _sum_of_rows()
    run = prepare(module)
    for fill in (1.0, 2.0):
        array = np.full((2, 3), fill, np.float32)
        assert run(array)[0].tolist() == interpret(module, array)[0].tolist() == [3 * fill] * 2
    with pytest.raises(InputError, match="takes f"):
        run(np.ones((2, 3), np.int32))


@pytest.mark.parametrize("devices", [1, 2])
def test_each_call_of_what_is_prepared_has_meanings_of_its_own(devices: int) -> None:
    text = f"""HloModule m, replica_count={devices}
        ENTRY e {{ x = f32[2] parameter(0)  s = f32[2] collective-permute(x), source_target_pairs={{{{0,0}}}}
                   ROOT y = f32[2] add(s, s) }}"""
    run, seen = compiler.prepare(parse(text)), list[str]()

    def around(instruction: Instruction, operands: Sequence[Any], evaluate: Any) -> Any:
        seen.append(instruction.opcode)
        value = evaluate(operands)
        return value + 1 if instruction.opcode == "add" else value

    arrays = [np.ones(2, np.float32)] * devices
    plain = [array.tolist() for array in run(*arrays)]
    assert plain[0] == [2, 2]
    first, *_ = run(*arrays, around=around)
    assert first.tolist() == [3, 3]
    assert "add" in seen
    seen.clear()
    assert [array.tolist() for array in run(*arrays)] == plain
    assert not seen


_CASES = [*golden.cases("xla_cpu"), *golden.cases("jax_cpu")]
_FAMILIES = sorted({golden.family(case) for case in _CASES})


@pytest.mark.parametrize("family", _FAMILIES)
def test_the_reference_agrees_with_xla(family: str) -> None:
    wrong = {}
    for case in _CASES:
        if golden.family(case) == family:
            module = parse(case.text)
            assert findings(module) == []
            wrong[case.name] = golden.difference(case, interpret(module, *case.inputs))
    assert {name: text for name, text in wrong.items() if text} == {}
