"""Checks hold where they should, fail at a run with TensorFlow's words, and at once where all is known."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")

PAIRS = {
    "equal": ([1.0, 2.0], [1.0, 3.0], "=="),
    "none_equal": ([3.0, 4.0], [1.0, 4.0], "!="),
    "less": ([0.0, 1.0], [1.0, 1.0], "<"),
    "less_equal": ([1.0, 2.0], [1.0, 3.0], "<="),
    "greater": ([2.0, 3.0], [1.0, 3.0], ">"),
    "greater_equal": ([1.0, 2.0], [0.0, 2.0], ">="),
}
"""What a check of x with [1, 2] takes, what it does not take, and its symbol."""
SIGNS = {
    "positive": ([1.0, 2.0], [0.0, 2.0], ">"),
    "negative": ([-1.0, -2.0], [0.0, -2.0], "<"),
    "non_negative": ([0.0, 2.0], [-1.0, 2.0], ">="),
    "non_positive": ([0.0, -2.0], [1.0, -2.0], "<="),
}


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [None], name="x")


@pytest.mark.parametrize("word", PAIRS)
def test_pairs_are_compared(word, x):
    good, bad, symbol = PAIRS[word]
    check = getattr(tf, f"assert_{word}")(x, [1.0, 2.0], message="said before")
    with tf.Session() as session:
        assert session.run(check, {x: good}) is None
        said = (
            rf"assertion failed: \[said before\] \[Condition x {symbol} y did not hold element-wise:\] \[x \(x:0\) = \]"
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match=said):
            session.run(check, {x: bad})
    getattr(tf, f"assert_{word}")(tf.constant(good), [1.0, 2.0])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"Condition x {symbol} y did not hold element-wise:\nx \("
    ):
        getattr(tf, f"assert_{word}")(tf.constant(bad), [1.0, 2.0])


@pytest.mark.parametrize("word", SIGNS)
def test_signs_are_looked_at(word, x):
    good, bad, symbol = SIGNS[word]
    check = getattr(tf.debugging, f"assert_{word}")(x)
    with tf.Session() as session:
        assert session.run(check, {x: good}) is None
        said = rf"assertion failed: \[\] \[Condition x {symbol} 0 did not hold element-wise:\] \[x \(x:0\) = \]"
        with pytest.raises(tf.errors.InvalidArgumentError, match=said):
            session.run(check, {x: bad})
    getattr(tf, f"assert_{word}")(good)
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"\nCondition x {symbol} 0 did not hold"):
        getattr(tf, f"assert_{word}")(bad)


def test_data_are_said_in_the_conditions_stead(x):
    check = tf.assert_less(x, 1.0, data=["it is", x], summarize=1)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=r": \[it is\] \[5\.\.\.\]"):
        session.run(check, {x: [5.0, 6.0]})


def test_the_same_tensor_is_equal_to_itself(x):
    assert tf.assert_equal(x, x).type == "NoOp"


@pytest.mark.parametrize(
    ("dtype", "apart", "options", "holds"),
    [
        (tf.float32, 1e-6, {}, True),
        (tf.float32, 4e-6, {}, False),
        (tf.float64, 1e-6, {}, False),
        (tf.float32, 0.5, {"rtol": 0.0, "atol": 0.75}, True),
        (tf.float32, 0.5, {"rtol": 0.25, "atol": 0.0}, False),
        (tf.float32, np.nan, {"rtol": 1.0, "atol": 1.0}, False),
    ],
)
def test_values_that_are_near_hold(dtype, apart, options, holds):
    x = tf.placeholder(dtype, [1])
    check = tf.assert_near(x, [1.0], **options)
    with tf.Session() as session:
        if holds:
            session.run(check, {x: [1.0 + apart]})
            return
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"x and y not equal to tolerance rtol = "):
            session.run(check, {x: [1.0 + apart]})


RANKS = [
    (tf.assert_rank, 1, 2, r"must have rank 2\.  Received rank 1, shape \(\?,\)", "must have rank"),
    (tf.assert_rank_at_least, 0, 2, r"must have rank at least 2\.  Received rank 1, shape", "must have rank at least"),
    (tf.assert_rank_in, [0, 1], [0, 2], r"must have rank in \(0, 2\)\.  Received rank 1, shape", "must have rank in"),
]


@pytest.mark.parametrize(("check", "good", "bad", "at_once", "later"), RANKS)
def test_ranks_are_seen_at_once_or_at_a_run(x, check, good, bad, at_once, later):
    assert check(x, good).type == "NoOp"
    with pytest.raises(ValueError, match=f"^Oh.  Tensor x:0 {at_once}"):
        check(x, bad, message="Oh")
    unknown = tf.placeholder(tf.float32)
    with tf.Session() as session:
        session.run(check(unknown, good), {unknown: [1.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"{later}\] .*\[Received shape: \] \[1\]"):
            session.run(check(unknown, bad), {unknown: [1.0]})


@pytest.mark.parametrize(
    ("check", "error", "said"),
    [
        (lambda x: tf.assert_type(x, tf.int32, "Oh"), TypeError, "Oh.  x:0 must be of type tf.int32; got tf.float32"),
        (lambda x: tf.assert_integer(x, "Oh"), TypeError, 'Oh.  Expected "x" to be integer type.  Found: tf.float32'),
        (lambda x: tf.assert_scalar(x), ValueError, r"Expected scalar shape for x:0, saw shape: \(\?,\)."),
        (lambda x: tf.assert_same_float_dtype([x], tf.float64), ValueError, "Tensor x:0 has type tf.float32, expected"),
        (lambda x: tf.assert_same_float_dtype([tf.constant(1)]), ValueError, "Expected floating point type, got"),
        (lambda x: tf.assert_proper_iterable(x), TypeError, "to be a .proper. iterable"),
        (lambda x: tf.assert_proper_iterable(3), TypeError, "to be iterable"),
    ],
)
def test_types_and_forms_are_seen_at_once(x, check, error, said):
    with pytest.raises(error, match=said):
        check(x)


def test_types_and_forms_that_are_right_pass(x):
    assert tf.assert_type(x, tf.float32).type == tf.assert_integer([1]).type == "NoOp"
    assert tf.assert_scalar(3).shape.rank == 0
    assert tf.assert_same_float_dtype([x, None], tf.float32) == tf.assert_same_float_dtype() == tf.float32
    assert tf.assert_proper_iterable([x]) is None


def test_infinities_and_nans_fail_with_the_text(x):
    for finite in (tf.verify_tensor_all_finite(x, "bad"), tf.debugging.assert_all_finite(x=x, message="bad")):
        with tf.Session() as session:
            assert session.run(finite, {x: [1.0]}).tolist() == [1.0]
            with pytest.raises(tf.errors.InvalidArgumentError, match="bad : Tensor had NaN"):
                session.run(finite, {x: [np.nan]})
