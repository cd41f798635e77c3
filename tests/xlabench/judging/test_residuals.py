"""Results of LAPACK's routines: right ones are right, whichever they are, and planted wrong ones are wrong."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.ir.types import of_dtype
from xlabench import jobs
from xlabench.bundles import bundle, saving
from xlabench.bundles.failure import Failure
from xlabench.engines import engine
from xlabench.judging.bounds import basis_of
from xlabench.judging.judge import judge
from xlabench.judging.relations import RELATIONS
from xlabench.judging.residuals import found, residuals_of
from xlabench.worker import Outcome

Array = np.ndarray
LETTERS = {np.float32: "s", np.float64: "d", np.complex64: "c", np.complex128: "z"}
TYPES = list(LETTERS)
SHAPES = {"square": (5, 5), "tall": (7, 3), "wide": (3, 6), "one": (1, 1), "long": (40, 1)}
SQUARE = {"square": (5, 5), "two": (2, 2), "one": (1, 1)}


def draw(dtype: Any, shape: Sequence[int], seed: Any = 0) -> Array:
    rng = np.random.default_rng(zlib.crc32(repr((shape, seed)).encode()))
    value = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else 0)
    return value.astype(dtype)


def kind(dtype: Any) -> str:
    return of_dtype(np.dtype(dtype)).name


@dataclass(frozen=True)
class Routine:
    """A routine: its operands and the shapes of its results from a matrix, its options, and what is open in the end."""

    results: Callable[[str, str, int, int], str]
    given: Callable[[Array], list[Array]] = lambda a: [a]
    options: str = ""
    shapes: Any = None
    open: tuple[int, ...] = ()


def hermitian(a: Array) -> Array:
    return a + np.conj(np.swapaxes(a, -1, -2))


def definite(a: Array) -> Array:
    return (a @ np.conj(np.swapaxes(a, -1, -2)) + 3 * np.eye(a.shape[-1])).astype(a.dtype)


def reflections(a: Array) -> list[Array]:
    packed, factors = compiler.interpret(program("geqrf", [a]), a)
    return [np.ascontiguousarray(packed[..., : factors.shape[-1]]), factors]


def bands(a: Array) -> list[Array]:
    return [a[..., 0].copy(), a[..., 0] + 6, a[..., -1].copy(), a[..., :2].copy()]


def pairs(real: str, own: str, n: int) -> str:
    return f"{own}[{n}]" if own[0] == "c" else f"{real}[{n}], {real}[{n}]"


def _geev(real: str, own: str, n: int, _: int) -> str:
    wide = {"f32": "c64", "f64": "c128"}.get(own, own)
    return f"{pairs(real, own, n)}, {wide}[{n},{n}], {wide}[{n},{n}], s32[]"


def _svd(real: str, own: str, m: int, n: int) -> str:
    k = min(m, n)
    return f"{own}[{m},{n}], {real}[{k}], {own}[{m},{k}], {own}[{k},{n}], s32[]"


ROUTINES = {
    "geqrf": Routine(lambda r, t, m, n: f"{t}[{m},{n}], {t}[{min(m, n)}]"),
    "geqp3": Routine(
        lambda r, t, m, n: f"{t}[{m},{n}], s32[{n}], {t}[{min(m, n)}]",
        lambda a: [a, np.zeros(a.shape[-1], np.int32)],
    ),
    "orgqr": Routine(lambda r, t, m, n: f"{t}[{m},{min(m, n)}]", reflections),
    "ormqr": Routine(
        lambda r, t, m, n: f"{t}[{m},{m}]",
        lambda a: [*reflections(a), draw(a.dtype, (len(a), len(a)), 1)],
        "left = true, transpose = true",
    ),
    "gehrd": Routine(lambda r, t, m, n: f"{t}[{n},{n}], {t}[{n - 1}], s32[]", options="low = 1 : i32, high = N : i32"),
    "sytrd": Routine(
        lambda r, t, m, n: f"{t}[{n},{n}], {r}[{n}], {r}[{n - 1}], {t}[{n - 1}], s32[]",
        lambda a: [np.triu(hermitian(a))],
        "uplo = 85 : ui8",
    ),
    "hetrd": Routine(
        lambda r, t, m, n: f"{t}[{n},{n}], {r}[{n}], {r}[{n - 1}], {t}[{n - 1}], s32[]",
        lambda a: [np.tril(hermitian(a))],
        "uplo = 76 : ui8",
    ),
    "geev": Routine(_geev, options="compute_left = 86 : ui8, compute_right = 86 : ui8"),
    "gees": Routine(
        lambda r, t, m, n: f"{t}[{n},{n}], {t}[{n},{n}], {pairs(r, t, n)}, s32[], s32[]",
        options="mode = 86 : ui8, sort = 78 : ui8",
    ),
    "syevd": Routine(lambda r, t, m, n: f"{t}[{n},{n}], {r}[{n}], s32[]", options="uplo = 76 : ui8, mode = 86 : ui8"),
    "heevd": Routine(lambda r, t, m, n: f"{t}[{n},{n}], {r}[{n}], s32[]", options="uplo = 85 : ui8, mode = 86 : ui8"),
    "gesdd": Routine(_svd, options="mode = 83 : ui8", open=(0,)),
    "gesvd": Routine(_svd, options="mode = 83 : ui8", open=(0,)),
    "gtsv": Routine(
        lambda r, t, m, n: f"{t}[{n}], {t}[{n}], {t}[{n}], {t}[{n},2], s32[]",
        bands,
        shapes={"square": (5, 5), "two": (2, 2)},
        open=(0, 1, 2),
    ),
    "getrf": Routine(lambda r, t, m, n: f"{t}[{m},{n}], s32[{min(m, n)}], s32[]"),
    "potrf": Routine(lambda r, t, m, n: f"{t}[{n},{n}], s32[]", lambda a: [np.tril(definite(a))], "uplo = 76 : ui8"),
    "trsm": Routine(
        lambda r, t, m, n: f"{t}[{n},{n}]",
        lambda a: [a + 3 * np.eye(len(a), dtype=a.dtype), draw(a.dtype, a.shape, 2)],
        "uplo = 85 : ui8, side = 82 : ui8, trans_x = 67 : ui8, diag = 78 : ui8",
    ),
}
ROUTINES |= {"ungqr": ROUTINES["orgqr"], "unmqr": ROUTINES["ormqr"]}
NOT_RECTANGULAR = ("gehrd", "sytrd", "hetrd", "geev", "gees", "syevd", "heevd", "potrf", "trsm")


def program(name: str, values: Sequence[Array], shape: tuple[int, int] | None = None) -> Any:
    dtype = values[0].dtype
    m, n = shape or values[0].shape
    real = {"c64": "f32", "c128": "f64"}.get(kind(dtype), kind(dtype))
    stated, routine = ROUTINES[name].results(real, kind(dtype), m, n), ROUTINES[name]
    stated = f"({stated})" if ", " in stated else stated
    given = " ".join(
        f"p{i} = {kind(v.dtype)}[{','.join(map(str, v.shape))}] parameter({i})" for i, v in enumerate(values)
    )
    config = f", backend_config={{{routine.options.replace('N :', f'{n} :')}}}" if routine.options else ""
    operands = ", ".join(f"p{i}" for i in range(len(values)))
    target = f"lapack_{LETTERS[dtype.type]}{name}_ffi"
    text = f'ENTRY e {{ {given} ROOT r = {stated} custom-call({operands}), custom_call_target="{target}"{config} }}'
    return compiler.parse(text)


CASES = [
    (name, dtype, form)
    for name, routine in ROUTINES.items()
    for dtype in TYPES
    for form in routine.shapes or (SQUARE if name in NOT_RECTANGULAR else SHAPES)
]


def made(name: str, dtype: Any, form: str) -> tuple[Any, list[Array]]:
    shape = {**SHAPES, **SQUARE}[form]
    values = ROUTINES[name].given(draw(dtype, shape))
    return program(name, values, shape), values


def slightly_off(values: Sequence[Array]) -> list[Array]:
    """The same operands by a last place: what comes of them is as right as what the reference gives."""
    rng = np.random.default_rng(1)
    return [
        v * (1 + rng.uniform(-1, 1, v.shape) * np.finfo(v.dtype).eps / 2).astype(v.dtype) if v.dtype.kind in "fc" else v
        for v in values
    ]


def verdict(module: Any, values: Sequence[Array], actual: Sequence[Array]) -> str:
    return judge(module, values, compiler.interpret(module, *values), actual).verdict


def test_every_relation_is_tried() -> None:
    assert set(RELATIONS) == {*ROUTINES, "qr"}


@pytest.mark.parametrize(("name", "dtype", "form"), CASES, ids=str)
def test_what_a_neighbouring_matrix_gives_is_right(name: str, dtype: Any, form: str) -> None:
    module, values = made(name, dtype, form)
    expected = compiler.interpret(module, *values)
    assert residuals_of(module, values, expected)
    actual = compiler.interpret(module, *slightly_off(values))
    actual = [e if n in ROUTINES[name].open else a for n, (a, e) in enumerate(zip(actual, expected, strict=True))]
    assert verdict(module, values, actual) in ("bitwise", "within")


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in ROUTINES for dtype in TYPES], ids=str)
def test_every_result_is_wrong_with_one_element_changed(name: str, dtype: Any) -> None:
    module, values = made(name, dtype, "square")
    expected = compiler.interpret(module, *values)
    basis = basis_of(module, values, expected)
    told = {number for residual in basis.residuals for number, _ in residual.results} - set(ROUTINES[name].open)
    for number in told:
        for at in range(expected[number].size):
            changed = [np.array(result) for result in expected]
            one = changed[number].reshape(-1)
            one[at] = one[at] + 1 if one.dtype.kind == "i" else one[at] + one.dtype.type(0.01) * np.abs(one).max()
            found = judge(module, values, expected, changed, basis=basis)
            assert found.verdict == "wrong", (number, at)
            one[at] = np.nan if one.dtype.kind in "fc" else -7
            assert judge(module, values, expected, changed, basis=basis).verdict == "wrong", (number, at)


def ranks(dtype: Any) -> dict[str, Array]:
    ones = draw(dtype, (6, 1)) @ draw(dtype, (1, 6))
    twice = draw(dtype, (6, 6))
    twice[:, 3] = twice[:, 1]
    small = np.finfo(dtype).tiny * 4
    scaled = (draw(dtype, (6, 6)) * np.logspace(-8, 8, 6)).astype(dtype)
    return {
        "of rank one": ones.astype(dtype),
        "a column twice": twice,
        "zero": np.zeros((6, 6), dtype),
        "the identity": np.eye(6, dtype=dtype),
        "all alike": np.full((6, 6), 3, dtype),
        "near the least numbers": (draw(dtype, (6, 6)) * small).astype(dtype),
        "columns of all sizes": scaled,
        "triangular": np.triu(draw(dtype, (6, 6))),
    }


@pytest.mark.parametrize("case", ranks(np.float32))
@pytest.mark.parametrize("dtype", [np.float32, np.complex128], ids=str)
@pytest.mark.parametrize("name", [name for name in ROUTINES if name not in ("gtsv", "trsm", "potrf")])
def test_matrices_that_hang_by_a_rounding_are_no_false_alarm(name: str, dtype: Any, case: str) -> None:
    values = ROUTINES[name].given(ranks(dtype)[case])
    module = program(name, values, (6, 6))
    expected = compiler.interpret(module, *values)
    assert "the reference's own" not in basis_of(module, values, expected).reason
    actual = compiler.interpret(module, *slightly_off(values))
    assert verdict(module, values, actual) in ("bitwise", "within", "undecided")


@pytest.mark.parametrize("name", ROUTINES)
@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_of_matrices_without_an_answer_nothing_is_said(name: str, value: float) -> None:
    module, values = made(name, np.float32, "square")
    values[0][..., 1] = value
    expected = compiler.interpret(module, *values)
    basis = basis_of(module, values, expected)
    assert "the reference's own" not in basis.reason
    assert judge(module, values, expected, expected, basis=basis).verdict == "bitwise"


def test_a_batch_is_decided_matrix_by_matrix() -> None:
    """The second matrix holds a NaN, of which nothing is known; the third is wrong."""
    text = "ENTRY e { x = f32[3,4,4] parameter(0) ROOT r = (f32[3,4,4], f32[3,4]) custom-call(x), "
    module, matrix = compiler.parse(text + 'custom_call_target="lapack_sgeqrf_ffi" }'), draw(np.float32, (3, 4, 4))
    matrix[1, 2, 2] = np.nan
    expected = compiler.interpret(module, matrix)
    changed = [np.array(result) for result in expected]
    changed[0][1] += 1
    assert verdict(module, [matrix], changed) == "undecided"
    changed[1][2, 0] = 1.9
    judgement = judge(module, [matrix], expected, changed)
    assert (judgement.verdict, judgement.wrong_results) == ("wrong", (1,))


@pytest.mark.parametrize("shape", ["0,4,4", "2,0,3", "2,3,0"])
def test_where_there_are_no_elements_it_went_well(shape: str) -> None:
    batch, rows, columns = map(int, shape.split(","))
    text = f"""ENTRY e {{ x = f32[{shape}] parameter(0) ROOT r = (f32[{shape}], s32[{batch},{min(rows, columns)}],
      s32[{batch}]) custom-call(x), custom_call_target="lapack_sgetrf_ffi" }}"""
    module, matrix = compiler.parse(text), np.zeros((batch, rows, columns), np.float32)
    expected = compiler.interpret(module, matrix)
    assert verdict(module, [matrix], expected) == "bitwise"
    assert verdict(module, [matrix], [*expected[:2], expected[2] + 1]) == ("wrong" if batch else "bitwise")


QR = """ENTRY e {{ x = f32[{m},{n}] parameter(0) s = f32[{m},{n}] negate(x)
  f = (f32[{m},{n}], f32[{k}]) custom-call(s), custom_call_target="lapack_sgeqrf_ffi"
  p = f32[{m},{n}] get-tuple-element(f), index=0 t = f32[{k}] get-tuple-element(f), index=1
  v = f32[{m},{k}] slice(p), slice={{[0:{m}],[0:{k}]}}
  q = f32[{m},{k}] custom-call(v, t), custom_call_target="lapack_sorgqr_ffi"
  u = f32[{k},{n}] slice(p), slice={{[0:{k}],[0:{n}]}}
  i = s32[{k},{n}] iota(), iota_dimension=0 j = s32[{k},{n}] iota(), iota_dimension=1
  c = pred[{k},{n}] compare(i, j), direction=LE zero = f32[] constant(0)
  z = f32[{k},{n}] broadcast(zero), dimensions={{}}
  r = f32[{k},{n}] select(c, u, z)
  ROOT out = ({results}) tuple({names}) }}"""
FACTORS = {"both": ("q", "r"), "the triangle first": ("r", "q"), "the orthogonal factor": ("q",)}


@pytest.mark.parametrize(("m", "n"), [(5, 5), (7, 3), (3, 6)])
@pytest.mark.parametrize("names", FACTORS.values(), ids=FACTORS)
def test_factors_made_of_reflections_that_nobody_sees_are_held_to_the_matrix(
    m: int, n: int, names: tuple[str, ...]
) -> None:
    k, matrix = min(m, n), draw(np.float32, (m, n))
    shapes = {"q": f"f32[{m},{k}]", "r": f"f32[{k},{n}]"}
    results = ", ".join(shapes[name] for name in names)
    module = compiler.parse(QR.format(m=m, n=n, k=k, results=results, names=", ".join(names)))
    expected = compiler.interpret(module, matrix)
    signs = np.where(np.arange(k) % 2, -1, 1).astype(np.float32)
    turned = {"q": lambda a: a * signs, "r": lambda a: a * signs[:, None]}
    other = [turned[name](a) for name, a in zip(names, expected, strict=True)]
    assert verdict(module, [matrix], other) == "within"
    for number, name in enumerate(names):
        one = list(expected)
        one[number] = other[number] if len(names) > 1 else expected[number][:, ::-1]
        assert verdict(module, [matrix], one) == "wrong", name


def test_of_reflections_without_their_factors_nothing_is_known() -> None:
    text = """ENTRY e { x = f32[3,3] parameter(0)
      f = (f32[3,3], f32[3]) custom-call(x), custom_call_target="lapack_sgeqrf_ffi"
      ROOT packed = f32[3,3] get-tuple-element(f), index=0 }"""
    module, matrix = compiler.parse(text), draw(np.float32, (3, 3))
    (packed,) = compiler.interpret(module, matrix)
    assert verdict(module, [matrix], [packed * 2]) == "undecided"


EIG = """eig { x = f32[5,5] parameter(0)
  ROOT g = (f32[5], f32[5], c64[5,5], c64[5,5], s32[]) custom-call(x), custom_call_target="lapack_sgeev_ffi",
    backend_config={compute_left = 78 : ui8, compute_right = 86 : ui8} }
ENTRY e { x = f32[5,5] parameter(0) g = (f32[5], f32[5], c64[5,5], c64[5,5], s32[]) call(x), to_apply=eig
  re = f32[5] get-tuple-element(g), index=0 im = f32[5] get-tuple-element(g), index=1
  w = c64[5] complex(re, im) v = c64[5,5] get-tuple-element(g), index=3 info = s32[] get-tuple-element(g), index=4
  zero = s32[] constant(0) good = pred[] compare(info, zero), direction=EQ
  all = pred[5,5] broadcast(good), dimensions={}
  none = c64[] constant((nan, nan)) nones = c64[5,5] broadcast(none), dimensions={}
  vectors = c64[5,5] select(all, v, nones) ROOT r = (c64[5], c64[5,5]) tuple(w, vectors) }"""


BARRIER = f"{EIG.replace('ROOT r =', 't =').removesuffix('}')} ROOT r = (c64[5], c64[5,5]) opt-barrier(t) }}"


@pytest.mark.parametrize("text", [EIG, BARRIER], ids=["eig", "barrier"])
def test_results_are_known_behind_calls_choices_and_parts(text: str) -> None:
    """As JAX calls eigenvalues: any order of them is right, as long as the vectors stand in it."""
    module, matrix = compiler.parse(text), draw(np.float32, (5, 5))
    values, vectors = compiler.interpret(module, matrix)
    order = [3, 0, 4, 1, 2]
    turned = (vectors[:, order] * np.exp(1j * np.arange(5))).astype(np.complex64)
    assert verdict(module, [matrix], [values[order], turned]) == "within"
    assert verdict(module, [matrix], [values[order], vectors]) == "wrong"
    assert verdict(module, [matrix], [np.conj(values) + np.float32(0.1), vectors]) == "wrong"
    assert verdict(module, [matrix], [values, np.full_like(vectors, np.nan)]) == "wrong"


@pytest.mark.parametrize("name", ["geqrf", "geev", "gtsv"])
def test_residuals_reach_who_judges_in_another_process(name: str, tmp_path: Path) -> None:
    module, values = made(name, np.complex64, "square")
    expected = compiler.interpret(module, *values)
    files = {what: tmp_path / what for what in ("program", "inputs", "expected", "results")}
    files["program"].write_text(compiler.to_text(module))
    jobs.write_arrays(files["inputs"], values)
    jobs.write_arrays(files["expected"], expected)
    answer = jobs.bound({what: str(file) for what, file in files.items()}, lambda _: None)
    basis = jobs.basis_of(Outcome("answered", value=json.loads(json.dumps(answer))), files["results"])
    assert [one.routine for one in basis.residuals] == [name]
    changed = [np.array(result) for result in expected]
    place = -2  # before info: what the routine is called for
    changed[place][..., 0] *= 2
    assert judge(module, values, expected, changed, basis=basis).verdict == "wrong"
    assert judge(module, values, expected, compiler.interpret(module, *slightly_off(values)), basis=basis).verdict in (
        "within",
        "undecided",
    )


@pytest.mark.slow
def test_a_bundle_is_replayed_by_them(tmp_path: Path) -> None:
    """The factor of a matrix, found wrong, is right in the engine that is asked now."""
    module, values = made("geqrf", np.float32, "square")
    expected = compiler.interpret(module, *values)
    wrong = [expected[0] * np.float32(1.5), expected[1]]
    text = compiler.to_text(module)
    failure = Failure(text, values, expected, wrong, "cpu", "reference", None, "wrong", "25 of 30 elements")
    saved = saving.save(failure, tmp_path / "kept")
    answer = bundle.replay_job({"folder": str(saved.path)}, lambda _: None)
    assert answer["verdict"] in ("bitwise", "within")


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["cpu", "nvptx:sim"])
@pytest.mark.parametrize("name", ["geqrf", "geqp3", "gehrd", "sytrd"])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64], ids=str)
def test_where_only_roundings_of_roundings_are_left_our_reflections_keep_lengths(
    name: str, dtype: Any, spec: str
) -> None:
    values = ROUTINES[name].given(np.ones((14, 14), dtype))  # columns become smaller by a last place each, down to 0
    module = program(name, values, (14, 14))
    assert verdict(module, values, engine(spec).compile(module)(*values)) in ("bitwise", "within")


@pytest.mark.parametrize(("dtype", "large"), [(np.float32, 1e30), (np.float64, 1e300), (np.complex128, 1e200 + 1e200j)])
def test_of_a_solution_that_overflows_nothing_is_said(dtype: Any, large: complex) -> None:
    module, (_, right) = made("trsm", dtype, "square")
    values = [np.where(np.eye(len(right)), 1, dtype(large)).astype(dtype), right]
    expected = compiler.interpret(module, *values)
    (residual,) = residuals_of(module, values, expected)
    known = [*found(residual, expected).values(), *found(residual, [np.full_like(expected[0], np.nan)]).values()]
    assert (np.isfinite(expected[0]).all(), any(one.wrong.any() for one in known)) == (False, False)
