"""Convolutions and pools are valid, of one to three spatial dimensions, groups and windows of all kinds."""

import math

import compiler
from compiler.generate import images
from compiler.generate.choices import RandomChoices
from compiler.generate.exhaustive import Packing, space_of
from compiler.generate.recipe import Recipe
from compiler.ir.attributes import WindowDimension
from compiler.ir.types import F32

DRAWN = 120


def drawn(make, opcodes):
    recipe = Recipe((F32,), lambda scope, _, kind: make(scope, kind))
    for seed in range(DRAWN):
        packing = Packing("m", space_of(("f32", "s32", "pred"), frozenset()))
        packing.kernel(recipe, F32, RandomChoices(seed))
        module = packing.finish()
        compiler.verify(module)
        yield next(i for i in module.entry.instructions if i.opcode in opcodes)


def test_convolutions_are_of_all_kinds_and_small_enough_for_the_reference():
    found = list(drawn(images.convolved, {"convolution"}))
    assert {len(i.attributes["window"]) for i in found} == {1, 2, 3}
    assert any(i.attributes.get("batch_group_count", 1) > 1 for i in found)
    assert any(i.attributes.get("feature_group_count", 1) > 1 for i in found)
    assert any(piece.reversal and piece.lhs_dilate > 1 for i in found for piece in i.attributes["window"])
    assert any(len(set(i.attributes["window"])) > 1 for i in found)
    assert any(len({i.operands[0].array.dims[d] for d in i.attributes["dim_labels"].input_spatial}) > 1 for i in found)
    for convolution in found:
        labels, weights = convolution.attributes["dim_labels"], convolution.operands[1].array
        of_each = weights.size // weights.dims[labels.kernel_output_feature]
        assert convolution.array.size * of_each <= images._MOST_PRODUCTS or all(
            piece.size == 1 for piece in convolution.attributes["window"]
        )


def test_some_windows_are_as_long_as_the_image():
    found = drawn(images.convolved, {"convolution"})
    assert any(
        piece.size == i.operands[0].array.dims[d] > 3
        for i in found
        for piece, d in zip(i.attributes["window"], i.attributes["dim_labels"].input_spatial, strict=True)
    )


def test_pools_look_at_windows_of_images_that_lie_in_any_order():
    found = list(drawn(images.pooled, {"reduce-window", "select-and-scatter"}))
    assert {i.opcode for i in found} == {"reduce-window", "select-and-scatter"}
    looked_at = {
        tuple(d for d, piece in enumerate(i.attributes["window"]) if piece != WindowDimension(1)) for i in found
    }
    assert {(1, 2), (2, 3)} <= looked_at
    assert all(len(dims) <= 2 for dims in looked_at)
    assert all(math.prod(i.array.dims) for i in found)
