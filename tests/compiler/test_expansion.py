"""Expanders mean what they expand: element types, layouts of words and forms that a file test would be too long for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import compiler
from compiler.expansion.lapack import ROUTINES
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32, TYPES
from compiler.ops.custom_call import SPECTRAL, nothing_found
from compiler.pipeline import PASSES
from xlabench.judging.differ import compare

EXPANDERS = [name for name in PASSES if name.endswith("-expander") or name == "marker-removal"]
OPTIONS = compiler.CompileOptions(verify_each=True)


def expanded(text):
    """The module before and after every expander."""
    module = compiler.parse(f"HloModule m\n{text}")
    after = module.clone()
    for name in EXPANDERS:
        PASSES[name](after, Fuel(None, name))
        compiler.verify(after)
    return module, after


def opcodes(module):
    return {instruction.opcode for instruction in module.instructions()}


def bits(results):
    return [(array.dtype, array.shape, array.tobytes()) for array in results]


def everywhere(text, *inputs):
    """Before and after agree bit for bit, and the CPU agrees with them."""
    module, after = expanded(text)
    expected = compiler.interpret(module, *inputs)
    assert bits(compiler.interpret(after, *inputs)) == bits(expected)
    assert bits(compiler.compile(module, "cpu", OPTIONS)(*inputs)) == bits(expected)


STATES = {"rng_three_fry": (2,), "rng_philox": (2, 3), "rng_default": (2, 3)}


@pytest.mark.slow
@pytest.mark.parametrize("result", ["u32[]", "u32[7]", "s32[3,4,5]", "f32[3,5]", "u64[5]", "f64[2,3]", "u8[9]", "s4[6]",
                                    "bf16[3]", "f16[2,2]", "f4e2m1fn[40]", "u32[0]", "u64[0,3]",
                                    "u32[1,1]"])  # fmt: skip
@pytest.mark.parametrize(("algorithm", "size"), [(a, n) for a, sizes in STATES.items() for n in sizes])
def test_random_bits_are_those_of_the_reference(algorithm, size, result):
    state = np.array([0x0123456789ABCDEF, 2**64 - 3, 2**64 - 1][:size], np.uint64)
    everywhere(
        f"""ENTRY e {{
          s = u64[{size}] parameter(0)
          ROOT r = (u64[{size}], {result}) rng-bit-generator(s), algorithm={algorithm}
        }}""",
        state,
    )


@pytest.mark.slow
@pytest.mark.parametrize("result", ["f32[1000]", "s32[10,3]", "pred[100]", "bf16[7]", "f64[]", "u8[0]", "f64[1000]"])
@pytest.mark.parametrize("distribution", ["rng_uniform", "rng_normal"])
def test_random_numbers_are_those_of_the_reference(distribution, result):
    if distribution == "rng_normal" and not result.startswith(("f", "b")):
        return  # which is refused
    element_type = result.partition("[")[0]
    low, high = ("false", "true") if element_type == "pred" else ("1", "9")
    module, after = expanded(
        f"""ENTRY e {{
          a = {element_type}[] constant({low})
          b = {element_type}[] constant({high})
          ROOT r = {result} rng(a, b), distribution={distribution}
        }}"""
    )
    expected = compiler.interpret(module)
    assert bits(compiler.interpret(after)) == bits(expected)
    comparison = compare(expected, compiler.compile(module, "cpu", OPTIONS)())
    assert comparison.agreement in ("bitwise", "within"), comparison.describe()


@pytest.mark.slow
def test_a_random_number_may_round_to_one_beyond_its_type():
    low, high = 2**63 - 256, 2**63 - 1  # of which an f64 has the first and 2^63, where every other number rounds to
    everywhere(
        f"""ENTRY e {{
          a = s64[] constant({low}) b = s64[] constant({high})
          drawn = s64[50] rng(a, b), distribution=rng_uniform
          zero = s64[] constant(0) z = s64[50] broadcast(zero), dimensions={{}}
          ROOT r = pred[50] compare(drawn, z), direction=GT
        }}"""
    )


def test_normal_numbers_are_normal():
    module = compiler.parse("""HloModule m
      ENTRY e {
        m = f64[] constant(3)
        s = f64[] constant(2)
        ROOT r = f64[100000] rng(m, s), distribution=rng_normal
      }""")
    (drawn,) = compiler.interpret(module)
    assert abs(drawn.mean() - 3) < 0.03
    assert abs(drawn.std() - 2) < 0.03
    assert abs(((drawn - 3) / 2 > 1).mean() - 0.1587) < 0.005


def complex_matrix(size, batch=2):
    generator = np.random.default_rng(size)
    parts = generator.standard_normal((2, batch, size, size))
    return parts[0] + 1j * parts[1]


def near(text, *inputs, tolerance=1e-5):
    module, after = expanded(text)
    assert not any(i.array.element_type.is_complex for i in after.instructions() if i.opcode in ("cholesky",))
    for expected, found, native in zip(
        compiler.interpret(module, *inputs),
        compiler.interpret(after, *inputs),
        compiler.compile(module, "cpu", OPTIONS)(*inputs),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(native, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("lower", ["true", "false"])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_a_complex_cholesky_is_that_of_the_reference(size, lower):
    matrix = complex_matrix(size)
    definite = (matrix @ np.conj(np.swapaxes(matrix, -1, -2)) + np.eye(size)).astype(np.complex64)
    if size > 1:
        definite[1, 0, 0] = -1  # of which there is no factor
    near(
        f"""ENTRY e {{
          x = c64[2,{size},{size}] parameter(0)
          ROOT c = c64[2,{size},{size}] cholesky(x), lower={lower}
        }}""",
        definite,
    )


@pytest.mark.slow
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize("flags", [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)])
def test_a_complex_triangular_solve_is_that_of_the_reference(flags, transpose):
    left, lower, unit = ("true" if flag else "false" for flag in flags)
    matrix = (complex_matrix(4) / 4 + 2j * np.eye(4)).astype(np.complex128)
    dims = "2,4,3" if flags[0] else "2,3,4"
    right = complex_matrix(4)[:, :4, :3] if flags[0] else complex_matrix(4)[:, :3, :4]
    near(
        f"""ENTRY e {{
          a = c128[2,4,4] parameter(0)
          b = c128[{dims}] parameter(1)
          ROOT x = c128[{dims}] triangular-solve(a, b), left_side={left}, lower={lower}, unit_diagonal={unit},
            transpose_a={transpose}
        }}""",
        matrix,
        np.ascontiguousarray(right),
        tolerance=1e-10,
    )


def test_groups_of_each_batch_are_their_own():
    generator = np.random.default_rng(0)
    lhs, rhs = (generator.integers(-5, 5, dims).astype(np.int32) for dims in ((2, 6, 3), (2, 4, 3, 5)))
    everywhere(
        """ENTRY e {
          x = s32[2,6,3] parameter(0)
          y = s32[2,4,3,5] parameter(1)
          g = s32[2,4] parameter(2)
          ROOT d = s32[2,6,5] ragged-dot(x, y, g), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
            rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={1}
        }""",
        lhs,
        rhs,
        np.array([[1, 0, 3, 2], [2, 2, 0, 1]], np.int32),
    )


@pytest.mark.slow
def test_groups_that_are_summed_over_stand_first():
    generator = np.random.default_rng(0)
    lhs, rhs = (generator.integers(-5, 5, dims).astype(np.int32) for dims in ((2, 6, 3), (2, 6, 5)))
    everywhere(
        """ENTRY e {
          x = s32[2,6,3] parameter(0)
          y = s32[2,6,5] parameter(1)
          g = s64[2,2] parameter(2)
          ROOT d = s32[2,2,3,5] ragged-dot(x, y, g), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1},
            rhs_contracting_dims={1}, lhs_ragged_dims={1}
        }""",
        lhs,
        rhs,
        np.array([[1, 4], [6, 0]], np.int64),
    )


def test_a_scan_of_no_steps_yields_what_was_carried():
    everywhere(
        """step {
          x = f32[] parameter(0)
          s = f32[] parameter(1)
          n = f32[] add(x, s)
          ROOT t = (f32[], f32[]) tuple(n, n)
        }
        ENTRY e {
          x = f32[0] parameter(0)
          s = f32[] parameter(1)
          ROOT r = (f32[0], f32[]) scan(x, s), dimensions={0}, num_carries=1, to_apply=step
        }""",
        np.zeros(0, np.float32),
        np.float32(3),
    )


def test_programs_for_several_devices_keep_their_collectives():
    module, after = expanded("ENTRY e { ROOT r = u32[] replica-id() }")
    assert "replica-id" not in opcodes(after)
    module.attributes["replica_count"] = 2
    assert not PASSES["collective-expander"](module, Fuel())
    assert "replica-id" in opcodes(module)


def test_an_array_that_others_make_longer_stays():
    _, after = expanded("""ENTRY e {
      x = f32[2] parameter(0)
      ROOT r = f32[4] all-gather(x), dimensions={0}, replica_groups={}
    }""")
    assert "all-gather" in opcodes(after)


@pytest.mark.parametrize("target", ["elsewhere", "lapack_sgetrf_ffi"])
def test_custom_calls_of_unknown_meaning_stay(target):
    _, after = expanded(f"""ENTRY e {{
      x = f32[2] parameter(0)
      ROOT r = f32[2] custom-call(x), custom_call_target="{target}"
    }}""")
    assert "custom-call" in opcodes(after)


def test_the_custom_call_for_topk_is_topk():
    everywhere(
        """ENTRY e {
          x = f32[2,5] parameter(0)
          ROOT r = (f32[2,3], s32[2,3]) custom-call(x), custom_call_target="TopK"
        }""",
        np.array([[1, np.nan, 3, -0.0, 0], [5, 2, -np.inf, 5, 7]], np.float32),
    )


Array = NDArray[Any]
LETTERS = {"f32": "s", "c64": "c"}
SIZES = (4, 24)
"""In loops, and in kernels."""
SPOILS = [(np.nan, 2, 1), (np.nan, 0, 0), (np.nan, -1, 0), (np.inf, 3, 1), (-np.inf, -1, -1), (np.nan, 1, 2)]
"""What stands where in the matrices of the batch but the first; the last is above the diagonal."""
OF_REAL, OF_COMPLEX = ("orgqr", "ormqr", "syevd", "sytrd"), ("ungqr", "unmqr", "heevd", "hetrd")
STATED: dict[str, dict[str, str]] = {
    "potrf": {"uplo": "L"},
    "trsm": {"side": "L", "uplo": "L", "trans_x": "N", "diag": "N"},
    "ormqr": {"left": "true", "transpose": "false"},
    "syevd": {"mode": "V", "uplo": "L"},
    "gesdd": {"mode": "S"},
    "gees": {"mode": "V", "sort": "N"},
    "geev": {"compute_left": "V", "compute_right": "V"},
    "gehrd": {"low": "1", "high": "SIZE"},
    "sytrd": {"uplo": "L"},
}
ALIKE = {"gesvd": "gesdd", "unmqr": "ormqr", "heevd": "syevd", "hetrd": "sytrd"}
HERMITIAN = ("potrf", "syevd", "heevd", "sytrd", "hetrd")
IN_PLACE = ("geqrf", "orgqr", "ungqr")
"""Routines whose loops leave alone what LAPACK's steps do, where it is multiplied by nothing."""
CASES = [
    (name, element_type, size)
    for name in ROUTINES
    for element_type in LETTERS
    for size in SIZES
    if name not in (OF_REAL if element_type == "c64" else OF_COMPLEX)
    # The longest programs, of which the last step is the same for every type.
    if not (name in ("gesdd", "gesvd", "gees", "geev") and (element_type, size) == ("c64", SIZES[0]))
    if name != "gesvd" or element_type == "f32"
]


def draw(element_type: str, *dims: int) -> Array:
    """For each matrix of the batch the same."""
    drawn = np.random.default_rng(11).standard_normal((2, *dims))
    one = (drawn[0] + (1j * drawn[1] if element_type == "c64" else 0)).astype(TYPES[element_type].dtype)
    return np.stack([one] * (1 + len(SPOILS)))


def operands(name: str, element_type: str, size: int) -> list[Array]:
    """What a routine is given; the first is to be spoilt."""
    matrix, vector = draw(element_type, size, size), draw(element_type, size)
    if name in HERMITIAN:
        matrix = matrix + np.conj(np.swapaxes(matrix, 1, 2)) + 8 * size * np.eye(size, dtype=matrix.dtype)
    beside = {
        "trsm": [draw(element_type, size, 3)],
        "orgqr": [vector],
        "ungqr": [vector],
        "ormqr": [vector, matrix],
        "unmqr": [vector, matrix],
        "geqp3": [np.zeros(vector.shape, np.int32)],
        "gtsv": [vector + 4, vector, draw(element_type, size, 3)],
    }.get(name, [])
    return [vector if name == "gtsv" else matrix, *beside]


def written(options: dict[str, str]) -> str:
    """As typed FFI has options: truth values, numbers, letters."""
    kinds = {
        key: value if value in ("true", "false") else f"{value} : i32" if value.isdigit() else f"{ord(value)} : ui8"
        for key, value in options.items()
    }
    return ", ".join(f"{key} = {value}" for key, value in kinds.items())


def program(name: str, element_type: str, size: int) -> compiler.Module:
    values = operands(name, element_type, size)
    given = STATED.get(ALIKE.get(name, name), {})
    options = {key: str(size) if value == "SIZE" else value for key, value in given.items()}
    shapes = [ArrayShape(S32 if v.dtype == np.int32 else TYPES[element_type], v.shape) for v in values]
    parameters = " ".join(f"p{n} = {shape} parameter({n})" for n, shape in enumerate(shapes))
    results = [str(shape) for shape in ROUTINES[name][0](shapes, options)]
    return compiler.parse(
        f"""ENTRY e {{ {parameters} ROOT r = {f"({', '.join(results)})" if results[1:] else results[0]}
          custom-call({", ".join(f"p{n}" for n in range(len(shapes)))}),
          custom_call_target="lapack_{LETTERS[element_type]}{name}_ffi", backend_config={{{written(options)}}} }}"""
    )


def spoilt(clean: Array) -> Array:
    """All matrices but the first with something in them that is not finite."""
    result = clean.copy()
    for number, (value, row, column) in enumerate(SPOILS, 1):
        result[(number, row, column) if clean.ndim > 2 else (number, row)] = value
    return result


@pytest.mark.slow
@pytest.mark.parametrize(("name", "element_type", "size"), CASES)
def test_what_is_not_finite_shows(name: str, element_type: str, size: int) -> None:
    module = program(name, element_type, size)
    clean, *rest = operands(name, element_type, size)
    given, native = (spoilt(clean), *rest), compiler.compile(module, "cpu")
    found, unspoilt, expected = native(*given), native(clean, *rest), compiler.interpret(module, *given)
    # Only the lower triangle is given, but a routine may hand on the other.
    unread = -1 if name in HERMITIAN else len(clean)
    for here, there, before in zip(found, expected, unspoilt, strict=True):
        np.testing.assert_array_equal(here[0], before[0])
        if here.dtype.kind not in "fc":
            continue
        assert np.isfinite(here[0]).all()
        if name in SPECTRAL:
            assert np.isnan(here[1:unread]).all()
            assert np.isnan(there[1:unread]).all()
            np.testing.assert_array_equal(here[unread:], before[unread:])
        elif name == "geqp3":
            # Columns with NaN come first in the library and last here: factors of the others are their own.
            assert here.ndim == 2 or not np.isfinite(here[1:]).all(axis=(1, 2)).any()
        else:
            of_nan = [0, *(number for number, (value, *_) in enumerate(SPOILS, 1) if np.isnan(value))]
            assert not (np.isfinite(here) & ~np.isfinite(there))[of_nan].any()
            if name in IN_PLACE and size == SIZES[0]:
                np.testing.assert_array_equal(np.isfinite(here)[of_nan], np.isfinite(there)[of_nan])
    if name in SPECTRAL:
        said = [0, *[nothing_found(name, size)] * len(SPOILS)]
        said[unread:] = [0] * len(said[unread:])
        assert found[-1].tolist() == expected[-1].tolist() == said
    if size == SIZES[0]:
        for wide, here in zip(compiler.interpret(module, *given, wide=True), found, strict=True):
            assert wide.allows(here).all()
