"""Scopes whose ops are compiled: what they write on nodes, inside each other and one after another."""

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.contrib.compiler.jit import experimental_jit_scope

KEYS = ("_XlaCompile", "_XlaScope", "_XlaSeparateCompiledGradients")


def said(tensor):
    """What a node says of how it is to be compiled."""
    attributes = tensor.op.built.node.attributes
    return tuple(attributes.get(key) for key in KEYS)


@pytest.mark.usefixtures("graph")
def test_scopes_are_numbered_and_an_inner_one_is_part_of_the_outer():
    x = tf.constant(1.0)
    with experimental_jit_scope():
        first = -x
        with experimental_jit_scope(compile_ops=False, separate_compiled_gradients=True):
            inner = -x
    outside = -x
    with experimental_jit_scope():
        second = -x
    assert said(first) == (True, b"jit_scope_0", False)
    assert said(inner) == (False, b"jit_scope_0", True)
    assert said(outside) == (None, None, None)
    assert said(second) == (True, b"jit_scope_1", False)


@pytest.mark.usefixtures("graph")
def test_a_function_says_it_of_each_node():
    x = tf.constant(1.0)
    with experimental_jit_scope(lambda node: node.op == "Neg"):
        nodes = [-x, tf.exp(x)]
    assert [said(one)[0] for one in nodes] == [True, False]


@pytest.mark.usefixtures("graph")
def test_an_error_inside_closes_the_scope():
    x = tf.constant(1.0)
    with pytest.raises(KeyError), experimental_jit_scope():
        raise KeyError
    assert said(-x) == (None, None, None)
