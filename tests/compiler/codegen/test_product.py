"""Products by the roles of their dimensions, and convolutions that amount to them."""

import math

import pytest

import compiler
from compiler.codegen.product import accumulation_type, factor, is_sum_of_products, pointwise


def root(text):
    return compiler.parse(text).entry.root


DOT = """ENTRY e { x = f32[2,3,5,7] parameter(0)  y = f32[5,2,4] parameter(1)
  ROOT d = f32[2,3,7,4] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={2},
    rhs_contracting_dims={0} }"""


def test_every_dimension_of_a_factor_has_one_role():
    left, right = factor(root(DOT), 0), factor(root(DOT), 1)
    assert (left.batch, left.free, left.depth) == ((0,), (1, 3), (2,))
    assert (right.batch, right.free, right.depth) == ((1,), (2,), (0,))
    assert (left.sizes(left.free), left.count(left.free), left.count(())) == ([3, 7], 21, 1)


@pytest.mark.parametrize(
    ("left", "right", "result", "expected"),
    [
        ("bf16", "bf16", "bf16", "f32"),
        ("bf16", "f64", "f32", "f64"),
        ("s8", "u8", "s16", "s32"),
        ("s8", "s8", "s64", "s64"),
        ("pred", "pred", "pred", "s32"),
        ("s8", "s8", "f32", "f32"),
        ("c64", "c64", "c64", "c64"),
        ("c128", "c128", "c128", "c128"),
    ],
)
def test_sums_are_kept_in_32_bits_or_more(left, right, result, expected):
    dot = root(f"""ENTRY e {{ x = {left}[2] parameter(0)  y = {right}[2] parameter(1)
      ROOT d = {result}[] dot(x, y), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}} }}""")
    assert accumulation_type(dot).name == expected


def convolution(window="size=1x1", *, image="2,4,4,3", weights="1,1,3,5", out="2,4,4,5", **other):
    labels, type_ = other.get("labels", "b01f_01io->b01f"), other.get("type_", "f32")
    return root(f"""ENTRY e {{ x = {type_}[{image}] parameter(0)  w = {type_}[{weights}] parameter(1)
      ROOT c = {type_}[{out}] convolution(x, w), window={{{window}}}, dim_labels={labels} }}""")


def test_a_window_of_one_element_is_a_product_of_matrices():
    lhs, rhs = pointwise(convolution())
    assert (lhs.free, lhs.depth, rhs.depth) == ((0, 1, 2), (3,), (2,))
    assert lhs.count(lhs.depth) == rhs.count(rhs.depth) == 3


def test_with_features_first_the_weights_are_the_left_factor_of_each_image():
    found = convolution(labels="bf01_oi01->bf01", image="2,3,4,4", weights="5,3,1,1", out="2,5,4,4")
    weights, images = pointwise(found)
    assert (weights.depth, images.batch, images.free, images.depth) == ((1,), (0,), (2, 3), (1,))


@pytest.mark.parametrize(("window", "out"), [("size=1x1 stride=2x2", "2,2,2,5"), ("size=1x1 pad=1_0x0_0", "2,5,4,5")])
def test_what_moves_otherwise_is_no_product(window, out):
    assert pointwise(convolution(window, out=out)) is None


@pytest.mark.parametrize(
    ("change", "is_sum"),
    [
        ({}, True),
        ({"type_": "c64"}, False),
        ({"image": "0,4,4,3", "out": "0,4,4,5"}, False),
        ({"image": "2,4,4,0", "weights": "1,1,0,5"}, False),
    ],
    ids=str,
)
def test_sums_of_products_of_real_numbers_are_told(change, is_sum):
    found = convolution(**change)
    assert is_sum_of_products(found) is is_sum
    assert math.prod(found.array.dims) >= 0
