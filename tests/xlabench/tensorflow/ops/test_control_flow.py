"""Branches and loops become functions; what they give must go together."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def p():
    return tf.placeholder(tf.bool, [])


def test_a_branch_gives_what_both_functions_know_of_sizes(p):
    x = tf.placeholder(tf.float32, [None, 3])
    assert tf.cond(p, lambda: x, lambda: x * 2.0).shape.as_list() == [None, 3]
    apart = tf.cond(p, lambda: tf.zeros([2, 3]), lambda: tf.zeros([2, 4]))
    assert apart.shape.as_list() == [2, None]
    with tf.Session() as session:
        assert [session.run(apart, {p: chosen}).shape for chosen in (True, False)] == [(2, 3), (2, 4)]
    pair = tf.cond(p, lambda: (tf.zeros([]), [tf.zeros([1])]), lambda: (tf.ones([]), [tf.ones([1])]))
    assert isinstance(pair, tuple)
    assert isinstance(pair[1], list)


def test_a_branch_with_effects_is_another_op(graph, p):
    variable = tf.Variable(1.0, use_resource=True)
    tf.cond(p, lambda: tf.zeros([]), lambda: tf.ones([]))
    tf.cond(p, lambda: variable.assign(2.0), lambda: tf.ones([]))
    kinds = [one.type for one in graph.get_operations() if one.type in ("If", "StatelessIf")]
    assert kinds == ["StatelessIf", "If"]


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("has_default", [False, True])
def test_a_case_checks_how_many_conditions_hold(p, has_default, exclusive):
    q, x = tf.placeholder(tf.bool, []), tf.constant(3.0)
    pairs = [(p, lambda: x + 1.0), (q, lambda: x * 2.0)]
    y = tf.case(pairs, (lambda: -x) if has_default else None, exclusive)
    [gradient] = tf.gradients(y, x)
    with tf.Session() as session:
        assert session.run([y, gradient], {p: True, q: False}) == [4, 1]
        assert session.run([y, gradient], {p: False, q: True}) == [6, 2]
        for held, is_right, right in ((True, not exclusive, 4), (False, has_default, -3)):
            if is_right:
                assert session.run(y, {p: held, q: held}) == right
                continue
            message = r"More than one condition.*\[1 1\]" if held else r"None of conditions.*\[0 0\]"
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(y, {p: held, q: held})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda p: tf.cond(pred=True, true_fn=lambda: 1, false_fn=lambda: 2),
            TypeError,
            "pred must not be a Python bool",
        ),
        (lambda p: tf.cond(p, 1, lambda: 2), TypeError, "must be callable"),
        (lambda p: tf.cond(p, lambda: 1, lambda: 2.0), TypeError, "must have the same types"),
        (lambda p: tf.cond(p, lambda: 1, lambda: [1, 2]), ValueError, "same number of tensors"),
        (lambda p: tf.cond(p, lambda: 1, lambda: 2, what=1), TypeError, "unexpected keyword argument 'what'"),
        (lambda p: tf.case([]), ValueError, "must not be empty"),
        (lambda p: tf.while_loop(1, lambda i: i, [0]), TypeError, "must be callable"),
        (lambda p: tf.while_loop(lambda: p, lambda: (), []), ValueError, "No loop variables"),
        (lambda p: tf.while_loop(lambda i: i < 3, lambda i: (i, i), [0]), ValueError, "same number of elements"),
        (lambda p: tf.while_loop(lambda i: i < 3, lambda i: i * 1.0, [0]), TypeError, "type|float"),
    ],
    ids=range(10),
)
def test_what_does_not_go_together_is_refused(p, call, error, message):
    with pytest.raises(error, match=message):
        call(p)


def test_a_loop_gives_its_variables_in_their_structure():
    i, rest = tf.while_loop(lambda i, _: i < 3, lambda i, r: (i + 1, {"a": r["a"] * 2.0}), (0, {"a": tf.zeros([2])}))
    assert (i.dtype, rest["a"].shape.as_list()) == (tf.int32, [2])
    assert tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]).shape.as_list() == []


def test_sizes_may_change_where_that_is_said():
    def grow(x):
        return tf.concat([x, x], 0)

    with pytest.raises(ValueError, match="shape_invariants"):
        tf.while_loop(lambda x: tf.shape(x)[0] < 9, grow, [tf.zeros([1])])
    found = tf.while_loop(lambda x: tf.shape(x)[0] < 9, grow, [tf.zeros([1])], [tf.TensorShape([None])])
    assert found.shape.as_list() == [None]
    assert tf.shape(found).op.type == "Shape"


@pytest.mark.slow
def test_gradients_go_through_what_is_drawn_and_what_nobody_counts():
    x, is_training = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.bool, [])
    dropped = tf.cond(is_training, lambda: tf.nn.dropout(x, 0.5), lambda: x * 2.0)
    grown = tf.while_loop(lambda a: tf.reduce_sum(a) < 100.0, lambda a: a * 1.5, [x])
    mixed = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * tf.random_uniform([2, 3], seed=4)), [0, x])[1]
    at = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    with tf.Session() as session:
        for y in (dropped, grown, mixed):
            fetches = [y, tf.gradients(y, x)[0]]
            for choice in (True, False):
                result, gradient = session.run(fetches, {x: at, is_training: choice})
                np.testing.assert_allclose(gradient, result / at, rtol=1e-5)
