import collections

import numpy as np
import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.errors import NotHereError

Point = collections.namedtuple("Point", "x y")

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [None, 2], name="x")


def test_fetches_have_the_structure_in_which_they_were_asked_for(x):
    total, op = tf.reduce_sum(x), tf.no_op()
    with tf.Session() as session:
        found = session.run({"a": total, "b": [total, (op, "x:0")], "c": Point(total, [])}, {x: [[1, 2]]})
    assert found["a"] == 3
    assert found["b"][0] == 3
    assert found["b"][1][0] is None
    assert found["b"][1][1].tolist() == [[1, 2]]
    assert found["c"] == Point(3, [])


def test_any_tensor_may_be_fed(x):
    doubled = x * 2.0
    with tf.Session() as session:
        assert session.run(doubled + 1.0, {doubled: [[5, 5]]}).tolist() == [[6, 6]]
        assert session.run("add:0", {"mul:0": [[5, 5]]}).tolist() == [[6, 6]]


def test_variables_live_as_long_as_their_session():
    count = tf.Variable(0, name="count")
    step = count.assign_add(1)
    with tf.Session() as first, tf.Session() as second:
        for session in (first, second):
            session.run(tf.global_variables_initializer())
        assert [first.run(step), first.run(step), second.run(step)] == [1, 2, 1]
        count.load(7, first)
        assert count.eval(first) == 7


def test_what_is_fetched_is_the_callers_own(x):
    weights = tf.Variable(tf.zeros([2]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(weights)[:] = 5
        assert session.run(weights).tolist() == [0, 0]


def test_branches_and_loops_run_op_by_op(x):
    condition = tf.placeholder(tf.bool, [])
    sign = tf.cond(condition, lambda: x + 1.0, lambda: -x)
    count, total = tf.while_loop(
        lambda i, _: i < 4, lambda i, s: (i + 1, s + tf.cast(i, tf.float32)), [tf.constant(0), tf.constant(0.0)]
    )
    limited = tf.while_loop(lambda _: True, lambda i: i * 2, [1], maximum_iterations=5)
    chosen = tf.case([(condition, lambda: tf.constant(1))], default=lambda: tf.constant(2))
    with tf.Session() as session:
        assert session.run([sign, chosen], {x: [[1, 2]], condition: True})[0].tolist() == [[2, 3]]
        assert session.run(chosen, {condition: False}) == 2
        assert session.run([count, total, limited]) == [4, 6, 32]


def test_effects_in_branches_happen_once():
    count = tf.Variable(1.0)
    condition = tf.placeholder(tf.bool, [])
    change = tf.cond(condition, lambda: tf.group(tf.assign_add(count, 2.0)), tf.no_op)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        change.run({condition: True})
        change.run({condition: False})
        assert count.eval() == 3


def test_an_interactive_session_is_the_default_one():
    session = tf.InteractiveSession()
    assert tf.constant(3.0).eval() == 3
    assert tf.get_default_session() is session
    session.close()
    with pytest.raises(ValueError, match="No default session is registered"):
        tf.constant(3.0).eval()


def test_texts_and_defaults_pass_through():
    given = tf.placeholder_with_default(tf.constant("no"), [])
    with tf.Session() as session:
        assert session.run([tf.constant(["a", "b"]), given])[0].tolist() == [b"a", b"b"]
        assert session.run(given, {given: "yes"}) == b"yes"


def test_rows_are_fetched_as_rows():
    table = tf.Variable(tf.ones([3, 2]))
    [rows] = tf.gradients(tf.gather(table, [1, 1]), [table])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        dense = session.run(tf.convert_to_tensor(rows))
    assert dense.tolist() == [[0, 0], [2, 2], [0, 0]]


def _uninitialised():
    return tf.Variable(1.0, name="v") + 1.0, {}


ERRORS = {
    "unfed": (
        lambda x: (x, {}),
        tf.errors.InvalidArgumentError,
        r"placeholder tensor 'x' with dtype float and shape \[\?,2\]",
    ),
    "uninitialised": (lambda _: _uninitialised(), tf.errors.FailedPreconditionError, "Could not find variable v"),
    "sizes": (lambda x: (x, {x: [1, 2]}), ValueError, r"Cannot feed value of shape \(2,\) for Tensor x:0"),
    "no number": (lambda x: (x, {x: [["a", "b"]]}), ValueError, "could not convert string to float"),
    "a tensor": (lambda x: (x, {x: x}), TypeError, r"The value of a feed cannot be a tf\.Tensor"),
    "no tensor": (lambda x: (x, {3: 4}), TypeError, "Cannot interpret feed_dict key as Tensor"),
    "none": (lambda _: (None, {}), TypeError, "Cannot be None"),
    "a number": (lambda _: (3, {}), TypeError, 'has invalid type "int" must be a string or Tensor'),
    "unknown": (lambda _: ("nope:0", {}), ValueError, "The operation, 'nope', does not exist in the graph"),
    "unknown op": (lambda _: ("nope", {}), ValueError, "refers to an Operation not in the graph"),
    "no output": (lambda _: ("x:1", {}), ValueError, "exists but only has 1 outputs"),
    "apart": (
        lambda x: (x + tf.placeholder_with_default(np.zeros((3, 2), np.float32), [None, 2]), {x: np.zeros((2, 2))}),
        tf.errors.InvalidArgumentError,
        r"Incompatible shapes: \[2,2\] vs\. \[3,2\]",
    ),
    "nowhere": (
        lambda _: (_on("/device:GPU:3"), {}),
        tf.errors.InvalidArgumentError,
        "Cannot assign a device for operation",
    ),
}


def _on(device):
    with tf.device(device):
        return tf.constant(1.0)


@pytest.mark.parametrize("what", ERRORS)
def test_errors_are_those_of_tensorflow(x, what):
    make, kind, said = ERRORS[what]
    fetch, feeds = make(x)
    with tf.Session() as session, pytest.raises(kind, match=said):
        session.run(fetch, feeds)


def test_a_closed_session_runs_nothing(x):
    session = tf.Session()
    session.close()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.run(x)


def test_what_is_soft_runs_on_the_host():
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(config=config) as session:
        assert session.run(_on("/device:GPU:0")) == 1


@pytest.mark.slow
def test_values_are_copied_to_devices_of_their_own_and_counted(x):
    with tf.device("/job:localhost/replica:0/task:0/device:XLA_GPU:0"):
        total = x + 1.0
    with tf.Session() as session:
        assert session.run(total * 2.0, {x: [[1, 2]]}).tolist() == [[4, 6]]
        assert sorted(session.copies.values()) == [1, 1]
        assert [one.device_type for one in session.list_devices()] == ["CPU", "XLA_CPU", "XLA_GPU"]


def test_a_callable_takes_values_in_order(x):
    with tf.Session() as session:
        call = session.make_callable(x * 2.0, [x])
        assert call([[1, 2]]).tolist() == [[2, 4]]


def test_runs_in_parts_are_refused():
    x = tf.constant(1.0)
    with tf.Session() as session:
        for run in (lambda: session.partial_run_setup([x]), lambda: session.partial_run("handle", x)):
            with pytest.raises(NotHereError, match="a run is whole here; use Session"):
                run()
        assert session.run(tf.tables_initializer()) is None
