"""Spectra as NumPy has them; windows of signals and what they are put together to; see `tests/session_arrays.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
SIGNALS = np.random.RandomState(0).randn(2, 3, 8)


def run(tensor):
    with tf.Session() as session:
        return session.run(tensor)


@pytest.mark.parametrize("length", [None, 5, 8, 11])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spectra_have_half_of_all_and_come_back(length, dtype):
    signals = tf.constant(SIGNALS.astype(dtype))
    lengths = None if length is None else [length]
    found = run(tf.signal.rfft(signals, lengths))
    assert found.dtype == (np.complex64 if dtype == np.float32 else np.complex128)
    np.testing.assert_allclose(found, np.fft.rfft(SIGNALS, length), atol=1e-5)
    back = run(tf.signal.irfft(tf.constant(found), lengths))
    np.testing.assert_allclose(back, np.fft.irfft(found, length), atol=1e-5)


def test_spectra_of_images():
    np.testing.assert_allclose(run(tf.signal.rfft2d(SIGNALS)), np.fft.rfft2(SIGNALS), atol=1e-5)
    np.testing.assert_allclose(run(tf.signal.rfft3d(SIGNALS)), np.fft.rfftn(SIGNALS), atol=1e-5)


@pytest.mark.parametrize(("length", "step"), [(4, 4), (2, 2), (8, 8)])
def test_windows_side_by_side_are_the_signal(length, step):
    pieces = tf.signal.frame(SIGNALS, length, step)
    np.testing.assert_array_equal(run(tf.signal.overlap_and_add(pieces, step)), SIGNALS)


def test_a_window_falls_to_its_edges():
    """Within half of what rounds an angle of a whole circle, as TensorFlow's own are."""
    np.testing.assert_allclose(run(tf.signal.hann_window(5)), np.hanning(5), atol=3e-7)
    np.testing.assert_allclose(run(tf.signal.hamming_window(6, periodic=False)), np.hamming(6), atol=3e-7)
    np.testing.assert_allclose(run(tf.signal.hann_window(6)), np.hanning(7)[:-1], atol=3e-7)


def test_cosines_of_equal_length_keep_lengths():
    found = run(tf.signal.dct(SIGNALS, norm="ortho"))
    np.testing.assert_allclose((found**2).sum(-1), (SIGNALS**2).sum(-1), rtol=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.signal.frame(x, 2, 1),
        lambda x: tf.signal.rfft(x),
        lambda x: tf.signal.overlap_and_add(x, 1),
        lambda x: tf.signal.dct(x, norm="other"),
    ],
    ids=["frame", "rfft", "overlap_and_add", "dct"],
)
def test_what_cannot_be_known_is_refused(call):
    with pytest.raises(ValueError, match=r".+"):
        call(tf.placeholder(tf.float32, [2, None]))
    with pytest.raises(NotImplementedError, match="type 2"):
        tf.signal.dct(SIGNALS, type=3)
