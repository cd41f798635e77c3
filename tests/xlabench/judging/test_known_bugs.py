"""Each bug of XLA's that is known is told by its row, and by no other; what holds more is not known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import compiler
from xlabench.bundles import bundle
from xlabench.judging.known_bugs import VALUES, Bug, Failure, bugs, known_bug

FOLDER = Path(__file__).resolve().parents[3] / "suites" / "regressions" / "xla"
REPORTS = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "README")


def failure_in(name):
    kept = bundle.load(FOLDER / name)
    return Failure(kept.engine, kept.verdict, kept.message, kept.module_text, kept.inputs)


def test_every_report_has_its_row():
    assert sorted(bug.name for bug in bugs("xla")) == REPORTS


@pytest.mark.parametrize("name", REPORTS)
def test_a_bug_is_told_by_its_row(name):
    assert known_bug(failure_in(name)) == name


@pytest.mark.parametrize("bug", bugs("xla"), ids=lambda bug: bug.name)
def test_kinds_of_values_have_names(bug):
    assert bug.values in ("", *VALUES)


ATAN2 = "ENTRY main { x = f32[2] parameter(0) y = f32[2] reverse(x), dimensions={0} ROOT r = f32[2] atan2(x, y) }"
DENORMAL = Failure("xla", "wrong", "1 of 2 elements are wrong (special)", ATAN2, [np.full(2, 9e-41, np.float32)])
OTHERWISE = {
    "another engine": replace(DENORMAL, engine="cpu"),
    "another verdict": replace(DENORMAL, verdict="crash"),
    "other values": replace(DENORMAL, inputs=[np.ones(2, np.float32)]),
    "another opcode": replace(DENORMAL, module_text=ATAN2.replace("atan2(x, y)", "subtract(x, y)")),
    "one more opcode": replace(DENORMAL, module_text=ATAN2.replace("reverse(x), dimensions={0}", "tanh(x)")),
}


def test_what_moves_numbers_makes_no_other_bug():
    assert known_bug(DENORMAL) == known_bug(replace(DENORMAL, engine="xla:fusion=off")) == "angle_of_denormals"


@pytest.mark.parametrize("other", OTHERWISE.values(), ids=OTHERWISE)
def test_what_differs_is_another_bug(other):
    assert not known_bug(other)


BOTH = """ENTRY main { x = f32[2] parameter(0) a = f32[2] atan2(x, x) c = f32[2] cbrt(x) t = f32[2] tanh(x)
  ROOT r = (f32[2], f32[2], f32[2]) tuple(a, t, c) }"""


def test_wrong_results_may_be_one_known_bug_each():
    both = replace(DENORMAL, module_text=BOTH)
    assert not known_bug(both)
    assert known_bug(replace(both, wrong=(0, 2))) == "angle_of_denormals"
    assert not known_bug(replace(both, wrong=(0, 1)))


def test_a_wrong_result_may_stand_behind_several_of_one_instruction():
    text = BOTH.replace("t = f32[2] tanh(x)", "t = (f32[2], f32[2]) tuple(x, x)").replace(
        "(f32[2], f32[2], ", "(f32[2], (f32[2], f32[2]), "
    )
    nested = replace(DENORMAL, module_text=text)
    assert known_bug(replace(nested, wrong=(3,))) == "cube_root_of_a_denormal"
    assert not known_bug(replace(nested, wrong=(2,)))


CHAIN = "ENTRY main { x = f32[2] parameter(0) t = f32[2] tanh(x) ROOT r = f32[2] tanh(t) }"
ROWS = {
    "types": ({"types": ("f32",)}, {"types": ("f16",)}),
    "twice": ({"twice": "tanh|sine"}, {"twice": "sine"}),
    "text": ({"text": r"tanh\(t\)"}, {"text": r"tanh\(u\)"}),
    "said": ({"said": "are wrong"}, {"said": "overflow"}),
    "kinds": ({"kinds": ("special", "value")}, {"kinds": ("rounding",)}),
    "constant": ({"constant": False}, {"constant": True}),
    "beside": ({"opcodes": ("sine|tanh",)}, {"opcodes": ("tanh", "sine")}),
}


@pytest.mark.parametrize("key", ROWS)
def test_each_key_of_a_row_is_heard(key):
    failure, module = replace(DENORMAL, module_text=CHAIN), compiler.parse(CHAIN)
    fits, does_not = (Bug("bug", **{"opcodes": ("tanh",), **keys}).shows_in(failure, module) for keys in ROWS[key])
    assert (fits, does_not) == (True, False)


COUNTED = """up { s = (s8[]) parameter(0)  i = s8[] get-tuple-element(s), index=0  d = s8[] constant(5)
  j = s8[] add(i, d)  ROOT t = (s8[]) tuple(j) }
below { s = (s8[]) parameter(0)  i = s8[] get-tuple-element(s), index=0  n = s8[] constant(127)
  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY main { i = s8[] constant(FIRST)  t = (s8[]) tuple(i)  ROOT w = (s8[]) while(t), condition=below, body=up }"""


@pytest.mark.parametrize(("first", "bug"), [("123", "loop_whose_counter_wraps"), ("122", "")])
def test_a_loop_is_known_by_a_counter_that_wraps(first, bug):
    failure = Failure("xla", "wrong", "1 of 1 elements are wrong (value)", COUNTED.replace("FIRST", first), [])
    assert known_bug(failure) == bug


FORMS = {
    "sort": (
        "gather_and_sort_of_two_bit_integers",
        "crash",
        """less { a = u2[] parameter(0) b = u2[] parameter(1) l = pred[] compare(a, b), direction=LT
           e = pred[] compare(a, b), direction=EQ n = pred[] and(e, l) ROOT c = pred[] or(l, n) }
           ENTRY main { x = u2[3,3,3] parameter(0) ROOT s = u2[3,3,3] sort(x), dimensions={2}, to_apply=less }""",
    ),
    "a constant that is converted first": (
        "count_leading_zeros_of_negative_constant",
        "wrong",
        """ENTRY main { c = f32[2] constant({0.5, -1}) b = u32[2] constant({1, 2})
           s = s32[2] stochastic-convert(c, b) ROOT r = s32[2] count-leading-zeros(s) }""",
    ),
    "powers in f64": (
        "power_of_complex_numbers",
        "wrong",
        "ENTRY main { x = c128[2] parameter(0) y = c128[2] parameter(1) ROOT r = c128[2] power(x, y) }",
    ),
    "what a scatter subtracts": (
        "narrow_index_into_a_long_array",
        "wrong",
        """less { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] subtract(a, b) }
           ENTRY main { x = s32[129] parameter(0) i = s8[1] parameter(1) u = s32[] parameter(2)
           ROOT r = s32[129] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
             scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=less }""",
    ),
    "what is read behind the end, now this and now that": (
        "slice_of_a_size_known_at_run_time",
        "flaky",
        """ENTRY main { x = f32[1,1] parameter(0) n = s32[] parameter(1)
           d = f32[<=1,1] set-dimension-size(x, n), dimensions={0} s = f32[<=1,0] slice(d), slice={[0:1], [0:0]}
           ROOT r = s32[] get-dimension-size(s), dimensions={0} }""",
    ),
    "a fusion that takes one operand twice beside another": (
        "fusion_of_one_twice",
        "crash",
        """less { a = f32[2] parameter(0) b = f32[2] parameter(1) c = f32[2] parameter(2) ROOT r = f32[2] add(a, c) }
           ENTRY main { x = f32[2] parameter(0) s = f32[2] sine(x) t = f32[2] tanh(x)
           ROOT r = f32[2] fusion(s, t, s), kind=kLoop, calls=less }""",
    ),
    "batches in groups, which are converted in every type": (
        "convolution_of_groups",
        "wrong",
        """ENTRY main { x = f32[2,1,1] parameter(0) k = f32[1,1,2] constant({{{inf, 1}}})
           ROOT c = f32[1,1,2] convolution(x, k), dim_labels=b0f_0io->b0f, window={size=1}, batch_group_count=2 }""",
    ),
    "windows of what was sorted": (
        "windows_of_a_size_known_at_run_time",
        "wrong",
        """less { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
           most { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] maximum(a, b) }
           ENTRY main { x = s32[2] parameter(0) n = s32[] parameter(1)
           d = s32[<=2] set-dimension-size(x, n), dimensions={0} s = s32[<=2] sort(d), dimensions={0}, to_apply=less
           w = s32[<=2] reduce-window(s, n), to_apply=most, window={size=2 pad=0_1}
           ROOT r = s32[] get-dimension-size(w), dimensions={0} }""",
    ),
    "a complex constant of one element": (
        "integer_of_a_complex_constant",
        "crash",
        "ENTRY main { c = c64[1] constant({(1.25, 0.5)}) ROOT r = s32[1] convert(c) }",
    ),
    "scales that are converted by chance": (
        "stochastic_convert_of_narrow_floats",
        "wrong",
        """ENTRY main { x = f8e8m0fnu[2] parameter(0) b = u8[2] parameter(1)
           ROOT r = s32[2] stochastic-convert(x, b) }""",
    ),
    "a quotient by a constant": (
        "division_by_a_broadcast",
        "wrong",
        "ENTRY main { x = f32[2] parameter(0) c = f32[2] constant({1.5, 7}) ROOT r = f32[2] divide(x, c) }",
    ),
    "a counter of u8 that falls by what is added": (
        "loop_that_counts_down_without_a_sign",
        "wrong",
        """last { s = (u8[], s32[2]) parameter(0) i = u8[] get-tuple-element(s), index=0 n = u8[] constant(15)
             ROOT c = pred[] compare(i, n), direction=GE }
           less { l = s32[] parameter(0) r = s32[] parameter(1) ROOT c = pred[] compare(l, r), direction=LT }
           next { s = (u8[], s32[2]) parameter(0) i = u8[] get-tuple-element(s), index=0
             d = u8[] constant(251) j = u8[] add(i, d) x = s32[2] get-tuple-element(s), index=1
             y = s32[2] sort(x), dimensions={0}, to_apply=less ROOT t = (u8[], s32[2]) tuple(j, y) }
           ENTRY main { i = u8[] constant(30) x = s32[2] parameter(0) t = (u8[], s32[2]) tuple(i, x)
             w = (u8[], s32[2]) while(t), condition=last, body=next ROOT r = u8[] get-tuple-element(w), index=0 }""",
    ),
    "a counter that falls by what is added, beside a product": (
        "loop_that_counts_down_in_u64",
        "crash",
        """last { s = (u64[]) parameter(0) i = u64[] get-tuple-element(s), index=0 n = u64[] constant(2)
             ROOT c = pred[] compare(n, i), direction=LE }
           next { s = (u64[]) parameter(0) i = u64[] get-tuple-element(s), index=0
             d = u64[] constant(18446744073709551614) j = u64[] add(d, i) ROOT t = (u64[]) tuple(j) }
           ENTRY main { i = u64[] constant(8) t = (u64[]) tuple(i) w = (u64[]) while(t), condition=last, body=next
             j = u64[] get-tuple-element(w), index=0 p = pred[] parameter(0) k = u64[] convert(p)
             ROOT r = u64[] multiply(k, j) }""",
    ),
    **{
        f"random numbers of {name}": (
            "random_small_integers",
            "crash",
            f"ENTRY main {{ p = {name}[] parameter(0) ROOT r = {name}[1] rng(p, p), distribution=rng_uniform }}",
        )
        for name in ("pred", "s4", "u4", "u8", "s16", "u16")
    },
}


def test_a_crash_beside_a_fusion_of_different_operands_is_not_known():
    text = FORMS["a fusion that takes one operand twice beside another"][2].replace("(s, t, s)", "(s, t, x)")
    assert not known_bug(Failure("xla", "crash", "the process was killed by SIGABRT", text, [np.ones(2, np.float32)]))


@pytest.mark.parametrize("form", FORMS)
def test_a_bug_is_known_in_the_other_forms_that_campaigns_found(form):
    name, verdict, text = FORMS[form]
    module = compiler.parse(text)
    inputs = [np.ones(one.array.dims, one.array.element_type.dtype) for one in module.entry.parameters]
    kind = "value" if name in ("division_by_a_broadcast", "loop_that_counts_down_without_a_sign") else "special"
    message = "the process was killed by SIGABRT" if verdict == "crash" else f"1 of 2 elements are wrong ({kind})"
    assert known_bug(Failure("xla:opt=0", verdict, message, text, inputs)) == name


def test_a_maximum_that_loses_nan_may_look_like_another_element():
    text = """most { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }
      ENTRY main { x = f32[2] parameter(0) i = f32[] parameter(1)
      ROOT r = f32[] reduce(x, i), dimensions={0}, to_apply=most }"""
    given = [np.full(2, np.nan, np.float32), np.float32(-np.inf)]
    lost = Failure("xla", "wrong", "1 of 1 elements are wrong (index)", text, given)
    assert known_bug(lost) == "maximum_of_large_rows"
    assert not known_bug(replace(lost, inputs=[np.ones(2, np.float32), np.float32(0)]))


@pytest.mark.parametrize("limit", [-2, 0, 1, 2, 5])
@pytest.mark.parametrize("direction", ["LT", "LE"])
def test_a_loop_that_steps_over_its_limit_is_known_by_the_limit_and_the_comparison(limit, direction):
    text = bundle.load(FOLDER / "loop_that_steps_over_its_limit").module_text
    text = text.replace("limit = s32[] constant(1)", f"limit = s32[] constant({limit})")
    text = text.replace("zero = s32[] constant(0)", "zero = s32[] constant(-4)").replace(
        "direction=LT", f"direction={direction}"
    )
    failure = Failure("xla", "wrong", "1 of 1 elements are wrong (value)", text, [np.int32(0)])
    known = "loop_that_steps_over_its_limit" if direction == "LT" and limit < 2 else ""
    assert known_bug(failure) == known


def test_a_convolution_in_groups_of_features_that_is_not_converted_is_not_known():
    text = FORMS["batches in groups, which are converted in every type"][2]
    text = text.replace("f32[2,1,1] parameter", "f32[1,1,2] parameter").replace("batch_group", "feature_group")
    said = "1 of 2 elements are wrong (special)"
    assert not known_bug(Failure("xla", "wrong", said, text, [np.ones((1, 1, 2), np.float32)]))


@pytest.mark.parametrize(
    ("name", "changed", "into"),
    [
        ("ties_of_a_topk", "is_stable=true, ", ""),
        ("fusion_of_several_results", "(f32[4], f32[4])", "(f32[4])"),
        ("fusion_of_several_results", "kLoop", "kInput"),
        ("loop_that_counts_down_in_u64", "subtract", "add"),
        ("loop_that_counts_down_without_a_sign", "u32", "s32"),
        ("loop_that_counts_down_without_a_sign", "GT", "NE"),
        ("update_of_a_gather_by_itself", "reverse(part), dimensions={0}", "copy(part)"),
        ("bitcast_of_a_bitcast", "ROOT bytes = s8[2,4] bitcast-convert(whole)", "ROOT bytes = s32[2] copy(whole)"),
        ("sparse_convolution_of_integers", "s32", "f32"),
        ("factors_of_large_numbers", "sgetrf", "sgetrg"),
        ("factorization_of_nothing", "[0,0]", "[1,1]"),
        ("reduction_of_two_bit_integers", "u2[", "u4["),
        ("narrow_indices_of_a_size_known_at_run_time", "[256]", "[64]"),
        ("windows_larger_than_a_size", "size=3", "size=3 pad=1_1"),
        ("less_the_maximum_of_bytes", "u8[", "s8["),
    ],
)
def test_what_lacks_what_a_bug_is_told_by_is_not_that_bug(name, changed, into):
    failure = failure_in(name)
    other = replace(failure, module_text=failure.module_text.replace(changed, into))
    if name == "fusion_of_several_results" and changed != "kLoop":
        other = replace(other, module_text=other.module_text.replace("tuple(sine, cosine)", "tuple(sine)"))
    if name == "windows_larger_than_a_size":
        other = replace(other, module_text=other.module_text.replace("f32[<=3]", "f32[<=5]"))
    if name == "less_the_maximum_of_bytes":
        other = replace(other, inputs=[array.view(np.int8) for array in other.inputs])
    assert known_bug(other) != name
