"""Routines of LAPACK are drawn with every option that they have, on parts of matrices as well, and are accepted."""

from __future__ import annotations

from collections import Counter

import pytest

import compiler
from compiler.expansion.lapack import call_of
from compiler.generate.choices import RandomChoices
from compiler.generate.exhaustive import Packing, space_of
from compiler.generate.lapack import BY_ROUTINE
from compiler.ir.types import C64, F32
from compiler.ops.custom_call import options_of, routine_of

SEEDS = 60
HERMITIAN = {"heevd": "syevd", "hetrd": "sytrd", "ungqr": "orgqr", "unmqr": "ormqr"}
LETTERS = {
    "potrf": {"uplo": "LU"},
    "trsm": {"uplo": "LU", "diag": "NU", "side": "LR", "trans_x": "NTC"},
    "ormqr": {"left": ("true", "false"), "transpose": ("true", "false")},
    "gesdd": {"mode": "ASN"},
    "gesvd": {"mode": "ASN"},
    "syevd": {"mode": "VN", "uplo": "LU"},
    "sytrd": {"uplo": "LU"},
    "gees": {"mode": "VN", "sort": "N"},
    "geev": {"compute_left": "VN", "compute_right": "VN"},
}
"""The values that each option may have; of the other routines none has any but gehrd's bounds."""


def drawn(name, kind=F32):
    """The calls of a routine by sixty seeds, in their modules."""
    for seed in range(SEEDS):
        packing = Packing("m", space_of((kind.name, "pred", "s32"), frozenset()))
        packing.kernel(BY_ROUTINE[name], kind, RandomChoices(seed))
        module = packing.finish()
        if module is None:
            continue
        compiler.verify(module)
        yield from (i for i in module.instructions() if HERMITIAN.get(routine_of(i), routine_of(i)) == name)


@pytest.mark.parametrize("name", BY_ROUTINE)
def test_every_value_of_every_option_is_drawn_and_the_call_is_one_of_the_routine(name):
    seen = Counter()
    for call in [*drawn(name), *drawn(name, C64)]:
        assert call_of(call) is not None, call
        seen.update(options_of(call).items())
    for option, values in LETTERS.get(name, {}).items():
        assert {value for key, value in seen if key == option} == {*values}


def test_reduced_rows_are_all_or_some_between_triangular_ones():
    places = Counter()
    for call in drawn("gehrd"):
        options, rows = options_of(call), call.operands[0].array.dims[-1]
        low, high = int(options["low"]), int(options["high"])
        places.update(whole=(low, high) == (1, rows), later=low > 1, earlier=high < rows, inner=1 < low < high < rows)
        if (low, high) != (1, rows):
            assert call.operands[0].opcode == "select"
    assert all(places[place] > 3 for place in ("whole", "later", "earlier", "inner")), places


@pytest.mark.parametrize("name", ["orgqr", "ormqr"])
def test_there_are_as_many_reflections_as_columns_or_fewer(name):
    fewer = Counter(call.operands[1].array.dims[-1] < call.operands[0].array.dims[-1] for call in drawn(name))
    assert min(fewer[True], fewer[False]) > 5, fewer


@pytest.mark.parametrize("name", ["gesdd", "gesvd"])
def test_vectors_that_nobody_asks_for_have_shapes_of_both_kinds(name):
    thin = Counter()
    for call in drawn(name):
        _, values, left, right, _ = call.shape.elements
        if options_of(call)["mode"] == "N" and left.dims[-1] != right.dims[-2]:
            thin["full"] += 1
        elif options_of(call)["mode"] == "N" and values.dims[-1] < max(left.dims[-2], right.dims[-1]):
            thin["thin"] += 1
    assert min(thin["full"], thin["thin"]) > 1, thin
