"""A Fourier transform is one pass along each dimension; of a real one half is not stored, and comes by symmetry."""

import numpy as np
import pytest
from emitted_kernels import kernel, run

from compiler.codegen.fourier import Transform, between_bytes, convolution_length, is_inverse, passes, roots_of_unity
from compiler.codegen.llvm_ir import Value, integer

BETWEEN = Value("ptr", "%workspace")


def transform(given, result, kind, length):
    return kernel(
        f"ENTRY e {{ x = {given} parameter(0)  ROOT r = {result} fft(x), fft_type={kind}, fft_length={length} }}"
    )


def walked(found):
    """Of each pass dimension, length and number of lines, and whether it reads an argument and writes one."""
    return [(p.dimension, p.length, p.lines, p.source is not None, p.target is not None) for p in passes(found)]


def test_the_last_dimension_comes_first_and_all_passes_end_in_the_result():
    found = transform("c64[5,2,4]", "c64[5,2,4]", "FFT", "{2,4}")
    assert walked(found) == [(2, 4, 10, True, True), (1, 2, 20, True, True)]
    assert between_bytes(found) == 0
    assert [p.inner for p in passes(found)] == [1, 4]


def test_a_real_transform_begins_with_its_real_lines():
    assert walked(transform("f32[2,6]", "c64[2,4]", "RFFT", "{2,6}")) == [(1, 6, 2, True, True), (0, 2, 4, True, True)]


def test_an_inverse_real_one_ends_with_them_and_has_a_workspace_between():
    found = transform("c64[2,4]", "f32[2,6]", "IRFFT", "{2,6}")
    assert walked(found) == [(0, 2, 4, True, False), (1, 6, 2, False, True)]
    assert between_bytes(found) == 2 * 4 * 8
    assert between_bytes(transform("c64[2,4]", "f32[2,6]", "IRFFT", "{6}")) == 0


def test_nothing_is_done_for_no_element():
    assert passes(transform("c64[0,4]", "c64[0,4]", "FFT", "{4}")) == []
    assert passes(transform("c64[4,0]", "c64[4,1]", "FFT", "{0}")) == []


@pytest.mark.parametrize(
    ("given", "result", "kind", "expected"),
    [
        # A transform of length 1 is what is read: of a line of half a spectrum, conjugates fill the rest.
        ("c64[3]", "f32[4]", "IRFFT", [1, 2, 3, 2]),
        ("c64[3]", "f32[5]", "IRFFT", [1, 2, 3, 3, 2]),
        ("c64[4]", "c64[4]", "FFT", [1 + 1j, 2 + 2j, 3 + 3j, 4 + 4j]),
        ("c64[4]", "c64[4]", "IFFT", [0.25 + 0.25j, 0.5 + 0.5j, 0.75 + 0.75j, 1 + 1j]),
    ],
)
def test_lines_are_read_with_their_mirrored_half_and_an_inverse_is_divided_by_the_length(given, result, kind, expected):
    length = len(expected)
    found = transform(given, result, kind, f"{{{length}}}")
    (one,) = passes(found)
    line = Transform(found, one, BETWEEN)
    assert line.inverse == is_inverse(found) == kind.startswith("I")

    def emit(builder):
        for number in range(length):
            value = line._given(builder, integer(0), integer(number))
            line._deliver(builder, integer(0), integer(number), value)

    x = np.array([n + 1 + (n + 1) * 1j for n in range(length)], np.complex64)
    got = run(found, emit, [x])
    wanted = np.array(expected) / (length if kind == "IRFFT" else 1)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("length", [1, 2, 7, 17, 100, 127, 1000])
def test_a_convolution_is_long_enough_and_no_longer_than_the_next_such_length(length):
    found = convolution_length(length)
    odd = found // (found & -found)
    assert odd in (1, 3, 5)
    assert 2 * length - 1 <= found < 1.5 * (2 * length - 1) or length == 1


@pytest.mark.parametrize("length", [1, 2, 3, 8, 12, 1000])
@pytest.mark.parametrize("inverse", [False, True])
def test_roots_are_powers_of_the_first_and_their_quarters_exact(length, inverse):
    roots = roots_of_unity(length, inverse=inverse)
    sign = 1 if inverse else -1
    angles = np.arange(length) / length
    exact = np.cos(2 * np.pi * angles) + sign * 1j * np.sin(2 * np.pi * angles)
    np.testing.assert_allclose(roots, exact, atol=1e-15 * 10)
    if length % 4 == 0:
        assert roots[:: length // 4].tolist() == [1, sign * 1j, -1, -sign * 1j]
    np.testing.assert_allclose(roots[1:], roots[:0:-1].conj(), rtol=2**-52)


def test_there_are_no_roots_of_order_0():
    assert roots_of_unity(0, inverse=False).tolist() == []
