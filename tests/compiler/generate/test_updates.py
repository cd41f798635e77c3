"""What scatters promise is kept: no two updates that are said to be unique go to one element, on any inputs."""

import numpy as np
import pytest

import compiler
from compiler.generate import updates
from compiler.generate.choices import RandomChoices
from compiler.generate.exhaustive import Packing, space_of
from compiler.generate.kernels import KERNELS
from compiler.ir.types import TYPES
from xlabench.fuzzing.values import KINDS, make_inputs

DRAWN = 120


def of_small(seed):
    """Scatters among small arrays."""
    packing = Packing("m", space_of(("s32", "pred"), frozenset()))
    packing.chain(["scatter"], TYPES["s32"], ((2, 3, 4), (5,), (9, 7))[seed % 3], RandomChoices(seed))
    return packing.finish()


def of_kernels(seed):
    """Scatters of many rows."""
    packing = Packing("m", space_of(("s32", "pred"), frozenset()))
    packing.kernel(KERNELS["scatter"], TYPES["s32"], RandomChoices(seed))
    return packing.finish()


def promising(drawn):
    for seed in range(DRAWN):
        module = drawn(seed)
        if module is not None:
            yield from ((module, i) for i in module.entry.instructions if i.attributes.get("unique_indices"))


def times_updated(module, scatter, inputs):
    """How often each element of a scatter's result meets an update."""
    edit = compiler.edit.keep_results(module, [compiler.edit.id_of(scatter.operands[1])])
    (indices,) = compiler.interpret(edit.module, *(inputs[source] for source in edit.sources))
    text = compiler.to_text(module)
    reducer = scatter.attributes["to_apply"].name
    counting = compiler.parse(
        f"add {{ a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }} ENTRY e {{"
        f" x = {scatter.operands[0].shape} parameter(0) i = {scatter.operands[1].shape} parameter(1)"
        f" u = {scatter.operands[2].shape} parameter(2) ROOT {described(text, scatter, reducer)} }}"
    )
    shapes = [operand.array.dims for operand in scatter.operands]
    return compiler.interpret(counting, np.zeros(shapes[0], np.int32), indices, np.ones(shapes[2], np.int32))[0]


def described(text, scatter, reducer):
    """The scatter's line with other operands and an addition."""
    line = next(line for line in text.splitlines() if f" {scatter.name} = " in f" {line.strip().removeprefix('ROOT ')}")
    head, _, tail = line.strip().removeprefix("ROOT ").partition("scatter(")
    return f"{head}scatter(x, i, u){tail.partition(')')[2]}".replace(f"to_apply={reducer}", "to_apply=add")


@pytest.mark.parametrize("drawn", [of_small, of_kernels])
def test_unique_updates_are_unique(drawn):
    seen = 0
    for number, (module, scatter) in enumerate(promising(drawn)):
        kind = list(KINDS)[number % len(KINDS)]
        inputs = make_inputs(module, np.random.default_rng(number), kind)
        assert times_updated(module, scatter, inputs).max(initial=0) <= 1
        seen += 1
    assert seen


def test_most_rows_of_many_are_still_met_by_several_updates():
    share = sum(1 for _ in promising(of_kernels)) / DRAWN
    assert share < 2 * updates._UNIQUE_PERCENT / 100
