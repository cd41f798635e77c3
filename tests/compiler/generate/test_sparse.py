"""Sparse products are drawn with every pattern of rows and columns, which nothing but the inputs says."""

from itertools import pairwise

import numpy as np
import pytest

import compiler
from compiler.generate.choices import RandomChoices
from compiler.generate.exhaustive import Packing, space_of
from compiler.generate.kernels import KERNELS
from compiler.generate.table import step
from compiler.ir import csr
from compiler.ir.types import TYPES
from xlabench.cases.index_ranges import unchecked_indices
from xlabench.fuzzing.values import KINDS, make_inputs
from xlabench.judging.judge import judge


def drawn(seed, kind="f32"):
    packing = Packing("sparse", space_of([kind, "s32"], frozenset()), step)
    packing.kernel(KERNELS["sparse product"], TYPES[kind], RandomChoices(seed))
    return packing.finish()


def product_of(module):
    return next(i for i in module.instructions() if i.opcode == "custom-call" and csr.is_product(i))


def given(module, inputs):
    _, starts, columns, _ = product_of(module).operands
    return inputs[starts.parameter_number], inputs[columns.parameter_number]


def test_rows_are_empty_and_full_and_columns_come_again_in_any_order():
    seen = set()
    for seed in range(30):
        module = drawn(seed)
        starts, columns = given(module, make_inputs(module, np.random.default_rng(seed)))
        lengths = np.diff(starts)
        seen |= {"empty"} if (lengths == 0).any() else set()
        seen |= {"several"} if (lengths > 1).any() else set()
        seen |= {"before"} if starts[0] else set()
        seen |= {"behind"} if starts[-1] < len(columns) else set()
        for start, stop in pairwise(starts):
            row = columns[start:stop]
            seen |= {"again"} if len(set(row.tolist())) < len(row) else set()
            seen |= {"unsorted"} if (np.diff(row) < 0).any() else set()
    assert seen == {"empty", "several", "before", "behind", "again", "unsorted"}


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_the_values_nothing_lies_outside(kind):
    for seed in range(10):
        module = drawn(seed)
        starts, columns = given(module, make_inputs(module, np.random.default_rng(seed), kind))
        assert (np.diff(starts) >= 0).all()
        assert starts[0] >= 0
        assert starts[-1] <= len(columns)
        assert ((columns >= 0) & (columns < product_of(module).operands[3].array.dims[0])).all()


@pytest.mark.parametrize("element_type", csr.TYPES, ids=str)
def test_they_are_right_on_every_type(element_type):
    for seed in range(3):
        module = drawn(seed, element_type.name)
        assert len(unchecked_indices(module)) == 2
        inputs = make_inputs(module, np.random.default_rng(seed))
        actual = compiler.compile(module)(*inputs)
        results = actual if isinstance(actual, (list, tuple)) else [actual]
        found = judge(module, inputs, compiler.interpret(module, *inputs), [np.asarray(one) for one in results])
        assert found.verdict in ("bitwise", "within")
