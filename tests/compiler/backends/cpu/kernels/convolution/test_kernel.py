"""Convolutions against the reference, in small integers, on which every order of summation agrees to the last bit."""

import ml_dtypes
import numpy as np
import pytest

import compiler

NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "s8": np.int8}
NUMPY |= {"u8": np.uint8, "s16": np.int16}

# Input, weights, result, and the attributes of a convolution.
CASES = {
    "same padding": ("f32[2,9,9,5]", "f32[3,3,5,17]", "f32[2,9,9,17]", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"),
    "features before places": (
        "f32[2,5,9,20]",
        "f32[9,5,3,3]",
        "f32[2,9,9,20]",
        "size=3x3 pad=1_1x1_1",
        "bf01_oi01->bf01",
    ),
    "valid": ("f32[2,40,7]", "f32[5,7,19]", "f32[2,36,19]", "size=5", "b0f_0io->b0f"),
    "wide": ("f32[1,4,64,3]", "f32[1,3,3,65]", "f32[1,4,64,65]", "size=1x3 pad=0_0x1_1", "b01f_01io->b01f"),
    "strided": ("f32[2,9,9,4]", "f32[3,3,4,8]", "f32[2,5,5,8]", "size=3x3 stride=2x2 pad=1_1x1_1", "b01f_01io->b01f"),
    "strided, features first": (
        *("f32[2,4,9,9]", "f32[8,4,3,3]", "f32[2,8,5,5]"),
        *("size=3x3 stride=2x2 pad=1_1x1_1", "bf01_oi01->bf01"),
    ),
    "stride beyond the window": ("f32[1,16,3]", "f32[2,3,4]", "f32[1,3,4]", "size=2 stride=7", "b0f_0io->b0f"),
    "holes in the input": (
        *("f32[2,5,5,3]", "f32[3,3,3,4]", "f32[2,11,11,4]"),
        *("size=3x3 pad=2_2x2_2 lhs_dilate=2x2", "b01f_01io->b01f"),
    ),
    "holes in the input, features first": (
        *("f32[2,5,4,5]", "f32[7,5,3,4]", "f32[2,7,8,11]"),
        *("size=3x4 pad=1_2x2_3 lhs_dilate=2x2 rhs_reversal=1x0", "bf01_oi01->bf01"),
    ),
    "holes wider than the window": (
        *("f32[2,4,5,3]", "f32[2,1,3,4]", "f32[2,9,9,4]"),
        *("size=2x1 pad=0_0x0_0 lhs_dilate=3x2", "b01f_01io->b01f"),
    ),
    "holes in the input and the window": (
        *("f32[2,9,3]", "f32[5,3,4]", "f32[2,20,4]"),
        *("size=5 pad=-1_4 lhs_dilate=3 rhs_dilate=2", "b0f_0io->b0f"),
    ),
    "holes and strides": (
        *("f32[2,5,5,3]", "f32[3,3,3,4]", "f32[2,5,10,4]"),
        *("size=3x3 stride=2x1 pad=1_1x1_2 lhs_dilate=2x2", "b01f_01io->b01f"),
    ),
    "holes, depthwise": (
        *("f32[2,5,4,20]", "f32[4,3,1,20]", "f32[2,10,7,20]"),
        *("size=4x3 pad=2_2x1_1 lhs_dilate=2x2", "b01f_01io->b01f, feature_group_count=20"),
    ),
    "holes, groups of bf16": (
        *("bf16[2,7,3,6]", "bf16[4,2,2,9]", "bf16[2,15,3,9]"),
        *("size=4x2 pad=2_3x1_0 lhs_dilate=2x1", "b01f_01io->b01f, feature_group_count=3"),
    ),
    "holes in three dimensions of integers": (
        *("s8[1,2,3,3,3]", "s8[3,3,3,3,5]", "s32[1,3,5,5,5]"),
        *("size=3x3x3 pad=1_1x1_1x1_1 lhs_dilate=2x2x2", "b012f_012io->b012f"),
    ),
    "many holes": ("f32[1,3,3]", "f32[9,3,20]", "f32[1,35,20]", "size=9 pad=9_5 lhs_dilate=14", "b0f_0io->b0f"),
    "holes, long sums": (
        *("f32[1,4,5,512]", "f32[3,3,512,8]", "f32[1,7,9,8]"),
        *("size=3x3 pad=1_1x1_1 lhs_dilate=2x2", "b01f_01io->b01f"),
    ),
    "holes in the window": (
        *("f32[2,9,9,3]", "f32[3,3,3,4]", "f32[2,7,7,4]"),
        *("size=3x3 pad=1_1x1_1 rhs_dilate=2x2", "b01f_01io->b01f"),
    ),
    "reversed": ("f32[2,9,9,3]", "f32[3,2,3,4]", "f32[2,7,8,4]", "size=3x2 rhs_reversal=1x1", "b01f_01io->b01f"),
    "negative padding": ("f32[2,9,9,3]", "f32[3,3,3,4]", "f32[2,4,6,4]", "size=3x3 pad=-2_-1x-1_0", "b01f_01io->b01f"),
    "nothing but padding": ("f32[1,2,2]", "f32[1,2,3]", "f32[1,9,3]", "size=1 pad=5_2", "b0f_0io->b0f"),
    "one element": ("f32[2,5,5,18]", "f32[1,1,18,33]", "f32[2,5,5,33]", "size=1x1", "b01f_01io->b01f"),
    "one element, features first": ("f32[2,18,5,5]", "f32[33,18,1,1]", "f32[2,33,5,5]", "size=1x1", "bf01_oi01->bf01"),
    "no places": ("f32[7,18]", "f32[18,5]", "f32[7,5]", "", "bf_io->bf"),
    "three dimensions": (
        *("f32[2,4,5,6,3]", "f32[2,3,3,3,5]", "f32[2,3,5,6,5]"),
        *("size=2x3x3 pad=0_0x1_1x1_1", "b012f_012io->b012f"),
    ),
    "three dimensions, features first": (
        *("f32[2,3,4,5,6]", "f32[5,3,2,3,3]", "f32[2,5,3,5,6]"),
        *("size=2x3x3 pad=0_0x1_1x1_1", "bf012_oi012->bf012"),
    ),
    "gradient of weights": (
        "f32[8,7,7,20]",
        "f32[8,7,7,33]",
        "f32[3,3,20,33]",
        "size=7x7 pad=1_1x1_1",
        "f01b_i01o->01bf",
    ),
    "gradient of weights, features first": (
        *("f32[4,20,7,7]", "f32[4,33,7,7]", "f32[20,33,3,3]"),
        *("size=7x7 pad=1_1x1_1", "fb01_io01->bf01"),
    ),
    "gradient of a stride": (
        *("f32[4,9,9,6]", "f32[4,4,4,5]", "f32[3,3,6,5]"),
        *("size=4x4 rhs_dilate=2x2", "f01b_i01o->01bf"),
    ),
    "groups": ("f32[2,7,7,6]", "f32[3,3,2,15]", "f32[2,5,5,15]", "size=3x3", "b01f_01io->b01f, feature_group_count=3"),
    "depthwise": (
        *("f32[2,7,9,70]", "f32[3,3,1,70]", "f32[2,7,9,70]"),
        *("size=3x3 pad=1_1x1_1", "b01f_01io->b01f, feature_group_count=70"),
    ),
    "depthwise, two from each": (
        *("f32[2,7,9,9]", "f32[3,3,1,18]", "f32[2,7,9,18]"),
        *("size=3x3 pad=1_1x1_1", "b01f_01io->b01f, feature_group_count=9"),
    ),
    "depthwise, features first": (
        *("f32[2,9,7,20]", "f32[9,1,3,3]", "f32[2,9,7,20]"),
        *("size=3x3 pad=1_1x1_1", "bf01_oi01->bf01, feature_group_count=9"),
    ),
    "gradient of depthwise": (
        *("f32[3,6,6,18]", "f32[3,6,6,18]", "f32[3,3,1,18]"),
        *("size=6x6 pad=1_1x1_1", "f01b_i01o->01bf, batch_group_count=18"),
    ),
    "groups of the batch": ("f32[6,7,3]", "f32[3,3,4]", "f32[3,5,4]", "size=3", "b0f_0io->b0f, batch_group_count=2"),
    "long sums": ("f32[1,8,8,512]", "f32[3,3,512,8]", "f32[1,8,8,8]", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"),
    "doubles": ("f64[2,9,9,5]", "f64[3,3,5,9]", "f64[2,9,9,9]", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"),
    "bf16": ("bf16[2,9,9,5]", "bf16[3,3,5,9]", "bf16[2,9,9,9]", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"),
    "halves": ("f16[2,5,9,9]", "f16[9,5,3,3]", "f16[2,9,9,9]", "size=3x3 pad=1_1x1_1", "bf01_oi01->bf01"),
    "integers": ("s8[2,9,9,5]", "s8[3,3,5,9]", "s32[2,9,9,9]", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"),
    "deep": ("f32[1,9,10,64]", "f32[3,3,64,64]", "f32[1,7,8,64]", "size=3x3", "b01f_01io->b01f"),
    "deep and strided": (
        *("f32[2,9,17,64]", "f32[3,3,64,96]", "f32[2,4,8,96]"),
        *("size=3x3 stride=2x2", "b01f_01io->b01f"),
    ),
    "deep, of one dimension": ("f32[2,21,64]", "f32[5,64,64]", "f32[2,17,64]", "size=5", "b0f_0io->b0f"),
    "deep, holes in the window": (
        *("f32[1,11,12,64]", "f32[3,3,64,64]", "f32[1,7,8,64]"),
        *("size=3x3 rhs_dilate=2x2", "b01f_01io->b01f"),
    ),
    "deep, holes in the input": (
        *("f32[1,5,5,64]", "f32[3,3,64,64]", "f32[1,11,11,64]"),
        *("size=3x3 pad=2_2x2_2 lhs_dilate=2x2", "b01f_01io->b01f"),
    ),
    "deep, doubles": ("f64[2,13,64]", "f64[5,64,64]", "f64[2,9,64]", "size=5", "b0f_0io->b0f"),
    "deep, integers": ("s8[2,13,64]", "s8[5,64,64]", "s32[2,9,64]", "size=5", "b0f_0io->b0f"),
    "deep, bf16": ("bf16[2,13,64]", "bf16[5,64,64]", "f32[2,9,64]", "size=5", "b0f_0io->b0f"),
    "deep groups": ("f32[1,12,128]", "f32[5,64,128]", "f32[1,8,128]", "size=5", "b0f_0io->b0f, feature_group_count=2"),
    "no batch": ("f32[0,9,5]", "f32[3,5,9]", "f32[0,7,9]", "size=3", "b0f_0io->b0f"),
    "no features": ("f32[2,9,0]", "f32[3,0,9]", "f32[2,7,9]", "size=3", "b0f_0io->b0f"),
    "empty result": ("f32[2,2,3]", "f32[3,3,9]", "f32[2,0,9]", "size=3", "b0f_0io->b0f"),
}


def text(case, *, epilogue=False):
    lhs, rhs, out, window, labels = case
    window = f"window={{{window}}}, " if window else ""
    body = f"x = {lhs} parameter(0)\n  w = {rhs} parameter(1)\n  "
    convolution = f"c = {out} convolution(x, w), {window}dim_labels={labels}"
    if not epilogue:
        return f"HloModule m\n\nENTRY e {{\n  {body}ROOT {convolution}\n}}\n"
    feature = labels.partition("->")[2].partition(",")[0].index("f")
    type_, dims = out[:-1].split("[")
    bias = f"b = {type_}[{dims.split(',')[feature]}] parameter(2)\n  "
    spread = f"s = {out} broadcast(b), dimensions={{{feature}}}\n  "
    return f"HloModule m\n\nENTRY e {{\n  {body}{bias}{convolution}\n  {spread}ROOT r = {out} subtract(c, s)\n}}\n"


def inputs(module):
    generator = np.random.default_rng(7)
    arrays = [parameter.array for parameter in module.entry.parameters]
    return [generator.integers(-4, 5, array.dims).astype(NUMPY[array.element_type.name]) for array in arrays]


def run(source, arguments, threads):
    return np.asarray(compiler.compile(source, options=compiler.CompileOptions(threads=threads))(*arguments)[0])


@pytest.mark.parametrize("name", CASES)
def test_a_convolution_is_exact_on_small_integers(name):
    source = text(CASES[name])
    module = compiler.parse(source)
    arguments = inputs(module)
    expected = np.asarray(compiler.interpret(module, *arguments)[0])
    for threads in (1, 2):
        np.testing.assert_array_equal(run(source, arguments, threads), expected)


@pytest.mark.parametrize(
    "name", ["same padding", "features before places", "strided", "one element", "depthwise", "holes in the input"]
)
def test_an_elementwise_epilogue_joins_the_convolution(name):
    source = text(CASES[name], epilogue=True)
    module = compiler.parse(source)
    arguments = inputs(module)
    expected = np.asarray(compiler.interpret(module, *arguments)[0])
    np.testing.assert_array_equal(run(source, arguments, 2), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["same padding", "gradient of weights", "gradient of depthwise", "holes, long sums"])
def test_bits_do_not_depend_on_the_number_of_threads(name):
    source = text(CASES[name])
    arguments = [array / np.float32(3) for array in inputs(compiler.parse(source))]
    np.testing.assert_array_equal(run(source, arguments, 1), run(source, arguments, 3))


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if "lhs_dilate" in case[3] and "s8" not in case[0]]
)
def test_weights_that_are_not_finite_make_nan_of_zeros_between_elements(name):
    source = text(CASES[name])
    module = compiler.parse(source)
    x, w = inputs(module)
    w = w.copy()
    w.ravel()[[1, w.size // 2, w.size - 1]] = np.nan, np.inf, -np.inf
    expected = np.asarray(compiler.interpret(module, x, w)[0]).astype(np.float64)
    assert np.isnan(expected).any()
    assert np.isfinite(expected).any()
    np.testing.assert_array_equal(run(source, [x, w], 2).astype(np.float64), expected)


def test_infinities_beside_the_edge_do_not_leak_into_padding():
    source = text(("f32[1,4,1]", "f32[3,1,1]", "f32[1,4,1]", "size=3 pad=1_1", "b0f_0io->b0f"))
    x = np.array([np.inf, 1, 2, 3], np.float32).reshape(1, 4, 1)
    w = np.array([1, 1, 1], np.float32).reshape(3, 1, 1)
    np.testing.assert_array_equal(run(source, [x, w], 1).ravel(), [np.inf, np.inf, 6, 5])


# Types of the input and the weights, and a shape: words whose last one is not full, of places, of groups, of blocks.
INTEGERS = [
    ("s8", "s8", ("[2,9,9,5]", "[3,3,5,17]", "[2,9,9,17]", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f")),
    ("u8", "u8", ("[2,9,9,8]", "[3,2,8,4]", "[2,7,8,4]", "size=3x2 rhs_reversal=1x1", "b01f_01io->b01f")),
    ("u8", "u8", ("[2,5,9,20]", "[40,5,3,3]", "[2,40,9,20]", "size=3x3 pad=1_1x1_1", "bf01_oi01->bf01")),
    ("u8", "s8", ("[2,8,9,20]", "[9,8,3,3]", "[2,9,9,20]", "size=3x3 pad=1_1x1_1", "bf01_oi01->bf01")),
    ("s8", "u8", ("[2,7,7,12]", "[3,3,4,15]", "[2,5,5,15]", "size=3x3", "b01f_01io->b01f, feature_group_count=3")),
    ("s8", "s8", ("[2,7,7,12]", "[3,3,4,30]", "[2,5,5,30]", "size=3x3", "b01f_01io->b01f, feature_group_count=3")),
    ("s8", "s8", ("[2,7,7,6]", "[3,3,2,15]", "[2,5,5,15]", "size=3x3", "b01f_01io->b01f, feature_group_count=3")),
    ("u8", "u8", ("[1,5,5,2048]", "[3,3,2048,70]", "[1,5,5,70]", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f")),
    ("s8", "s8", ("[6,7,8]", "[3,8,4]", "[3,5,4]", "size=3", "b0f_0io->b0f, batch_group_count=2")),
    ("s16", "s8", ("[1,8,8,7]", "[3,3,7,20]", "[1,4,4,20]", "size=3x3 stride=2x2 pad=1_1x1_1", "b01f_01io->b01f")),
    ("s8", "s8", ("[3,5,5,3]", "[3,3,3,4]", "[3,11,11,4]", "size=3x3 pad=2_2x2_2 lhs_dilate=2x2", "b01f_01io->b01f")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("left", "right", "case"), INTEGERS)
def test_integers_of_any_size_are_exact(left, right, case):
    source = text((left + case[0], right + case[1], "s32" + case[2], *case[3:]))
    generator = np.random.default_rng(7)
    arguments = []
    for parameter in compiler.parse(source).entry.parameters:
        type_ = NUMPY[parameter.array.element_type.name]
        limits = np.iinfo(type_)
        drawn = generator.integers(limits.min, limits.max, parameter.array.dims, endpoint=True)
        arguments.append(drawn.astype(type_))
    expected = np.asarray(compiler.interpret(compiler.parse(source), *arguments)[0])
    for threads in (1, 2):
        np.testing.assert_array_equal(run(source, arguments, threads), expected)


def test_converted_integers_are_multiplied_as_they_were():
    labels = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"
    source = f"""HloModule m
ENTRY e {{
  a = u8[2,6,6,8] parameter(0)
  b = s8[3,3,8,20] parameter(1)
  c = u8[] constant(3)
  d = u8[2,6,6,8] broadcast(c), dimensions={{}}
  x = u8[2,6,6,8] add(a, d)
  p = s32[2,6,6,8] convert(x)
  q = s32[3,3,8,20] convert(b)
  r = s32[2,6,6,20] convolution(p, q), {labels}
  z = s32[] constant(0)
  zs = s32[2,6,6,20] broadcast(z), dimensions={{}}
  ROOT m = s32[2,6,6,20] maximum(r, zs)
}}
"""
    generator = np.random.default_rng(7)
    arguments = [
        generator.integers(0, 256, (2, 6, 6, 8)).astype(np.uint8),
        generator.integers(-128, 128, (3, 3, 8, 20)).astype(np.int8),
    ]
    expected = np.asarray(compiler.interpret(compiler.parse(source), *arguments)[0])
    np.testing.assert_array_equal(run(source, arguments, 2), expected)


def test_a_convolution_without_dimensions_to_go_along_says_why_only_a_product_computes_it():
    text = """ENTRY e { x = f32[3,4] parameter(0) w = f32[5,4] parameter(1)
      ROOT y = f32[3,5] convolution(x, w), dim_labels=bf_oi->bf }"""
    (kernel,) = compiler.decide(text).kernels
    assert kernel.strategy.startswith("matrix product")
    reasons = {name: reason for name, reason in kernel.others if name.startswith("vectors of")}
    assert set(reasons.values()) == {"there is no dimension to go along with windows"}


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("labels", ["f0b_i0o->bf0", "0fb_0io->fb0", "f0b_0io->b0f", "0bf_i0o->fb0", "b0f_i0o->0fb"])
def test_a_batch_longer_than_places_is_shared_whatever_is_left_of_tiles_in_either(labels, threads):
    options = compiler.CompileOptions(check_bounds=True, threads=threads)
    names, out = labels.replace("_", " ").replace("->", " ").split()[:2], labels.partition("->")[2]
    generator = np.random.default_rng(threads)
    for batch, extent in [(9, 8), (8, 6), (11, 10), (13, 5), (17, 9), (10, 7)]:
        sizes = {"b": batch, "f": 1, "0": extent}, {"i": 1, "o": 2, "0": 2}, {"b": batch, "f": 2, "0": extent - 1}
        shapes = [[of[label] for label in name] for of, name in zip(sizes, [*names, out], strict=True)]
        x, w, y = (f"f32[{','.join(map(str, shape))}]" for shape in shapes)
        text = f"ENTRY e {{ x = {x} parameter(0) w = {w} parameter(1)\n"
        text += f"ROOT y = {y} convolution(x, w), window={{size=2}}, dim_labels={labels} }}"
        given = [generator.integers(-4, 5, shape).astype(np.float32) for shape in shapes[:2]]
        (expected,) = compiler.interpret(compiler.parse(text), *given)
        np.testing.assert_array_equal(compiler.compile(text, options=options)(*given)[0], expected)
