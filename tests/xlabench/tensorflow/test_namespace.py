import inspect
import re
import subprocess
import sys

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow import names, namespace, ops
from xlabench.tensorflow.ops import generated, rows


@pytest.mark.parametrize("name", [*names.modules_of_names(), *names.values(), *names.NAMESPACES, *names.MODULES])
def test_every_name_is_there(name):
    namespace.resolve(name)


@pytest.mark.parametrize("name", names.modules_of_names())
def test_functions_say_what_they_take(name):
    """Those that are made while a module is loaded, too (`tests/repo/test_docstrings.py` reads the others)."""
    function = namespace.resolve(name)
    if not inspect.isfunction(function) or len(inspect.signature(function).parameters) < 3:
        return
    said = f"{function.__doc__} {sys.modules[function.__module__].__doc__} {ops.__doc__}"
    assert not [word for word in inspect.signature(function).parameters if not re.search(rf"\b{word}\b", said)]


@pytest.mark.parametrize("name", rows.names())
def test_every_row_is_a_function_of_an_op(name):
    function = namespace.resolve(name)
    assert function.__doc__
    assert generated.function(name) is function


def test_a_name_that_is_misspelled_gets_a_hint():
    with pytest.raises(AttributeError, match=r"did you mean tf\.placeholder"):
        _ = tf.placehodler


def test_every_op_has_a_raw_function(graph):
    assert tf.raw_ops.AddV2(x=1.0, y=2.0).name == "AddV2:0"
    with pytest.raises(AttributeError, match="no record has this op; did you mean AddV2"):
        _ = tf.raw_ops.AddV3


def test_arguments_are_checked_by_the_row(graph):
    with pytest.raises(TypeError, match="missing required argument: 'y'"):
        tf.maximum(1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        tf.maximum(1.0, z=2.0)
    assert tf.expand_dims([1.0], dim=0).shape == (1, 1)


def test_names_are_listed():
    assert {"placeholder", "nn", "float32", "reduce_sum", "exp"} <= set(dir(tf))
    assert {"softmax", "relu"} <= set(dir(tf.nn))


@pytest.mark.slow
def test_importing_loads_neither_numpy_nor_the_compiler():
    code = "import sys, xlabench.tensorflow as t; print(sorted({'numpy', 'compiler', 'llvmlite'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_names_of_version_one_are_the_same():
    from xlabench.tensorflow.compat import v1  # noqa: PLC0415 - as programs import it

    assert v1.Session is tf.Session
    assert "placeholder" in dir(v1)
    assert tf.compat.as_text(tf.compat.as_bytes("é")) == tf.compat.as_str("é") == tf.compat.as_str_any("é")
