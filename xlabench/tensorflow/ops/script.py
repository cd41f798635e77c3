"""`tf.py_func`: functions of Python as operations, which no cluster holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.tf import AttributeList
from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.host_functions import token_of


def py_func(func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None) -> Any:
    """What a function gives for arrays, when the graph runs.

    Args:
        func: takes an array for each input, strings as bytes, and gives an array for each output.
        inp: tensors.
        Tout: the type that it gives, or a list of them.
        stateful: whether it may give something else for the same inputs.
        name: that of the node.

    Returns:
        A tensor, or a list of them; an operation where there is no output. Their sizes are not known.
    """
    graph = get_default_graph()
    is_listed = isinstance(Tout, list | tuple)
    types = [as_dtype(one) for one in (Tout if is_listed else [Tout])]
    given = [convert_to_tensor(one, name="input") for one in inp]
    attributes = {
        "token": token_of(func, graph),
        "Tout": AttributeList("type", tuple(one.data_type for one in types)),
    }
    made = apply("PyFunc" if stateful else "PyFuncStateless", [given], attributes, name)
    if not types:
        return made
    return list(made.outputs) if is_listed else made.outputs[0]
