"""Functions by their tokens."""

import gc

import xlabench.tensorflow as tf
from xlabench.tensorflow.framework.host_functions import function_of, token_of


def test_each_has_a_token_of_its_own_and_goes_with_its_graph():
    graph = tf.Graph()
    tokens = [token_of(one, graph) for one in (abs, max, abs)]
    assert len(set(tokens)) == 3
    assert [function_of(one) for one in tokens] == [abs, max, abs]
    del graph
    gc.collect()
    assert [function_of(one) for one in tokens] == [None] * 3


def test_another_process_may_have_made_a_token():
    assert function_of("pyfunc_of_another") is None
