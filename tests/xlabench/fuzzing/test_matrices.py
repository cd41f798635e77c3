"""Matrices of a form are of that form, of any size and type, and routines that iterate agree about all of them."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest

import compiler
from xlabench.engines import build, engine, execute
from xlabench.fuzzing.asking import FINE
from xlabench.fuzzing.generate import PROFILES, draw_case
from xlabench.fuzzing.matrices import FORMS, batch, or_else
from xlabench.fuzzing.seed_order import calls_routines
from xlabench.fuzzing.values import MATRICES, make_inputs, tame
from xlabench.judging.judge import judge

SIZES = ((0, 0), (1, 1), (3, 5), (5, 3), (9, 9))


def drawn(name, rows, columns):
    return [FORMS[name](np.random.default_rng(seed), rows, columns) for seed in range(8)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", FORMS)
def test_forms_have_any_size_and_finite_numbers(name, sizes):
    for matrix in drawn(name, *sizes):
        assert matrix.shape == sizes
        assert np.isfinite(matrix).all()


@pytest.mark.parametrize("sizes", [(1 << 16, 2), (2, 1 << 16)], ids=str)
@pytest.mark.parametrize("name", FORMS)
def test_a_long_line_takes_no_more_memory_than_it_needs(name, sizes):
    tracemalloc.start()
    try:
        assert FORMS[name](np.random.default_rng(0), *sizes).shape == sizes
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 16 * 8 * sizes[0] * sizes[1]


def test_they_are_what_numbers_drawn_one_by_one_never_are():
    assert all(np.array_equal(np.linalg.matrix_power(m, 20 * 7 * 9 * 8), np.eye(9)) for m in drawn("ring", 9, 9))
    assert all(np.allclose(m @ m, np.eye(9)) for m in drawn("reflecting", 9, 9))
    assert all(np.linalg.matrix_rank(m) <= 1 for m in drawn("of rank one", 9, 9))
    assert any(not np.linalg.matrix_power(m, 9).any() for m in drawn("above", 9, 9))
    assert all(np.array_equal(m, -m.T) for m in drawn("turning", 9, 9))


def test_eigenvalues_are_pairs_repeated_close_and_defective_and_mostly_hidden():
    """A share of the matrices each, most of which are neither triangular nor fall apart as they stand."""
    forms, matrices = Counter(), [FORMS["of eigenvalues"](np.random.default_rng(seed), 6, 6) for seed in range(200)]
    for matrix in matrices:
        values, size = np.linalg.eigvals(matrix), max(1.0, np.linalg.norm(matrix))
        apart = np.abs(values[:, None] - values)[np.triu_indices(6, 1)]
        forms["pairs"] += bool((np.abs(values.imag) > 0.1).any())
        forms["repeated"] += bool((apart < 1e-12 * size).any())
        forms["close"] += bool(((apart > 1e-8 * size) & (apart < 0.02)).any())
        ranks = [np.linalg.matrix_rank(np.linalg.matrix_power(matrix - v * np.eye(6), k), tol=1e-4) for v in (-1, 1, 2)
                 for k in (1, 2)]  # fmt: skip
        forms["defective"] += any(one > other for one, other in zip(ranks[::2], ranks[1::2], strict=True))
        forms["below the blocks"] += bool(np.tril(matrix, -2).any())
    assert all(forms[form] >= 20 for form in ("pairs", "repeated", "close", "defective", "below the blocks")), forms


def test_ranks_are_any_and_zeros_stand_in_rows_and_columns():
    ranks = {int(np.linalg.matrix_rank(matrix)) for matrix in (
        FORMS["of less rank"](np.random.default_rng(seed), 5, 7) for seed in range(60))}  # fmt: skip
    assert ranks == set(range(6))
    made = [FORMS["with zeros"](np.random.default_rng(seed), 5, 7) for seed in range(60)]
    assert sum(not matrix.any(axis=1).all() for matrix in made) > 20
    assert sum(not matrix.any(axis=0).all() for matrix in made) > 20


def test_a_good_share_of_a_batch_has_given_eigenvalues(monkeypatch):
    drawn = Counter()
    for name, form in FORMS.items():
        monkeypatch.setitem(FORMS, name, lambda *given, form=form, name=name: drawn.update([name]) or form(*given))
    batch(np.random.default_rng(0), (1000, 3, 3), is_complex=False)
    assert drawn["of eigenvalues"] > 150
    assert min(drawn.values()) > 30


def test_each_of_a_batch_has_its_own_form_and_complex_ones_are_turned():
    made = batch(np.random.default_rng(0), (40, 4, 4), is_complex=True)
    assert len({matrix.tobytes() for matrix in made}) > 20
    assert made.imag.any()


def test_what_is_no_matrix_of_floats_is_drawn_otherwise():
    draw = or_else(tame)
    for dims, dtype, limit in (
        ((9,), np.dtype("f4"), None),
        ((3, 3), np.dtype("i4"), None),
        ((3, 3), np.dtype("i4"), 2),
    ):
        one, other = (f(np.random.default_rng(1), dims, dtype, limit) for f in (draw, tame))
        assert np.array_equal(one, other)


def test_whatever_calls_lapack_is_called_with_them():
    cases = [draw_case(PROFILES["ratchet"], 3, number) for number in range(0, 24 * 12, 24)]
    cases = [case for case in cases if calls_routines(case.module) and case.module.entry.parameters]
    assert cases
    assert all(MATRICES in [kind for kind, _ in case.calls] for case in cases)


RING = """
ENTRY main {
  a = f64[5,5]{0,1} parameter(0)
  ROOT s = (f64[5,5]{0,1}, f64[5,5]{0,1}, f64[5], f64[5], s32[], s32[]) custom-call(a),
    custom_call_target="lapack_dgees_ffi", operand_layout_constraints={f64[5,5]{0,1}},
    backend_config={mode = 86 : ui8, sort = 78 : ui8}
}
"""


@pytest.mark.parametrize("seed", range(6))
def test_iterations_end_on_them(seed):
    module = compiler.parse(RING)
    given = make_inputs(module, np.random.default_rng(seed), MATRICES)
    subject = engine("cpu:opt=0")
    actual = execute(subject, build(subject, module), given).results
    assert judge(module, given, compiler.interpret(module, *given), actual).verdict in FINE
