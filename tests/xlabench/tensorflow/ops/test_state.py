"""Variables of a graph together, and what writes to one."""

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_all_variables_get_their_first_values_at_once():
    one, other = tf.Variable(1.0), tf.Variable([2, 3], trainable=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [found.tolist() for found in session.run([one, other])] == [1, [2, 3]]


def test_a_graph_without_variables_has_nothing_to_begin_with():
    assert (tf.global_variables(), tf.trainable_variables(), tf.local_variables()) == ([], [], [])
    with tf.Session() as session:
        assert session.run(tf.global_variables_initializer()) is None


def test_some_variables_alone_get_theirs():
    one, other = tf.Variable(1.0), tf.Variable(2.0)
    with tf.Session() as session:
        session.run(tf.variables_initializer([one]))
        assert session.run([tf.is_variable_initialized(v) for v in (one, other)]) == [True, False]


@pytest.mark.parametrize("indices", [[], [1], [2, 0, 2]])
def test_rows_that_come_several_times_are_added_each_time(indices):
    v = tf.Variable(tf.zeros([3]))
    with tf.Session() as session:
        session.run(v.initializer)
        found = session.run(tf.scatter_add(v, tf.constant(indices, "int32"), tf.ones([len(indices)])))
    assert found.tolist() == [indices.count(place) for place in range(3)]


def test_writes_give_what_the_variable_holds_then():
    v = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(tf.assign(v, 5.0)) == 5
        assert session.run(tf.assign_add(v, 2.0)) == 7
        assert session.run(tf.assign_sub(v, 3.0)) == 4


def test_collections_keep_what_they_are_given_in_order():
    tf.add_to_collection("kept", 1)
    tf.add_to_collections(["kept", "other"], 2)
    assert (tf.get_collection("kept"), tf.get_collection("other"), tf.get_collection("none")) == ([1, 2], [2], [])
    tf.get_collection_ref("kept").append(3)
    assert tf.get_collection("kept") == [1, 2, 3]


def test_variables_without_values_are_named():
    first, second = tf.Variable(1.0, name="first"), tf.Variable(2.0, name="second", collections=["local_variables"])
    missing, checked = tf.report_uninitialized_variables(), tf.assert_variables_initialized()
    of_one = tf.report_uninitialized_variables([first])
    assert (missing.dtype, missing.shape.as_list()) == (tf.string, [None])
    with tf.Session() as session:
        assert session.run(missing).tolist() == [b"first", b"second"]
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(checked)
        session.run(first.initializer)
        assert session.run([missing, of_one])[0].tolist() == [b"second"]
        assert session.run(of_one).tolist() == []
        session.run(second.initializer)
        assert session.run(missing).tolist() == []
        assert session.run(checked).tolist() == [0, 0]
        assert session.run(tf.report_uninitialized_variables([])).tolist() == []
    assert tf.assert_variables_initialized([]) is None


SCATTERED = {
    "add": [1, 12, 3],
    "sub": [1, -8, 3],
    "mul": [1, 20, 3],
    "div": [1, 0.2, 3],
    "min": [1, 2, 3],
    "max": [1, 10, 3],
    "update": [1, 10, 3],
}


@pytest.mark.parametrize("word", SCATTERED)
def test_rows_of_a_variable_are_changed(word):
    variable = tf.Variable([1.0, 2.0, 3.0])
    with tf.Session() as session:
        session.run(variable.initializer)
        changed = getattr(tf, f"scatter_{word}")(variable, [1], [10])
        assert session.run(changed).tolist() == pytest.approx(SCATTERED[word])


@pytest.mark.parametrize(("word", "then"), [("add", [1, 12, 13]), ("sub", [1, -8, -7]), ("update", [1, 10, 10])])
def test_elements_of_a_variable_are_changed(word, then):
    variable = tf.Variable([1.0, 2.0, 3.0])
    with tf.Session() as session:
        session.run(variable.initializer)
        changed = getattr(tf, f"scatter_nd_{word}")(variable, [[1], [2]], [10, 10])
        assert session.run(changed).tolist() == then
