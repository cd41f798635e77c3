"""What one of two functions gives, with what is known of its shape."""

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.framework.branches import one_of
from xlabench.tensorflow.framework.functions import Traced

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(
    ("sizes", "known"), [(([2], [2]), [2]), (([2, 3], [2, 1]), [2, None]), (([2], [2, 1]), None)], ids=str
)
def test_a_shape_is_what_both_have(sizes, known):
    graph, condition = tf.get_default_graph(), tf.placeholder(tf.bool, [])
    branches = [
        Traced(lambda dims=dims, value=value: tf.fill(dims, value), [], graph) for value, dims in enumerate(sizes)
    ]
    (result,) = one_of(graph, condition, branches, "chosen/")
    assert result.op.name == "chosen"
    assert result.op.type == "StatelessIf"
    assert (result.shape.as_list() if result.shape.rank is not None else None) == known
    with tf.Session() as session:
        for value, fed in enumerate((True, False)):
            found = session.run(result, {condition: fed})
            assert found.shape == tuple(sizes[value])
            assert (found == value).all()


def test_what_reads_a_variable_is_no_stateless_branch():
    variable = tf.Variable([1.0])
    graph = tf.get_default_graph()
    branches = [Traced(one, [], graph) for one in (variable.value, lambda: variable.initial_value)]
    assert one_of(graph, variable.is_initialized(), branches, "chosen/")[0].op.type == "If"
