"""Variables of a graph together: all of them, those that are trained, what gives them their first values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.tensor import Operation, Tensor
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops.control import group


def _collection(key: str, doc: str) -> Callable[..., list[Any]]:
    def collect(scope: str | None = None) -> list[Any]:
        return get_default_graph().get_collection(key, scope)

    collect.__doc__ = doc
    return collect


global_variables = _collection(GraphKeys.GLOBAL_VARIABLES, "All variables.")
local_variables = _collection(GraphKeys.LOCAL_VARIABLES, "Variables of this process alone.")
trainable_variables = _collection(GraphKeys.TRAINABLE_VARIABLES, "The variables that are trained.")
model_variables = _collection(GraphKeys.MODEL_VARIABLES, "The variables that a model is.")


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """The operation that gives variables their first values."""
    return group(*(one.initializer for one in var_list), name=name)


def global_variables_initializer() -> Operation:
    """The operation that gives all variables their first values."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """The operation that gives variables of this process their first values."""
    return variables_initializer(local_variables())


def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Any:
    """Refuse: a list of names is a tensor of strings, which is not computed here."""
    raise NotHereError(
        "tf.report_uninitialized_variables: tensors of strings are not computed here; run tf.is_variable_initialized"
    )


def is_variable_initialized(variable: Variable) -> Tensor:
    """Whether a variable has a value."""
    return variable.is_initialized()


def assign(
    ref: Variable, value: Any, validate_shape: Any = None, use_locking: Any = None, name: str | None = None
) -> Any:
    """Let the variable `ref` hold another `value`, of its type and shape, whatever `validate_shape` says."""
    return ref.assign(value, name=name)


def assign_add(ref: Variable, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Add `value`, an array of its type and shape, to what the variable `ref` holds."""
    return ref.assign_add(value, name=name)


def assign_sub(ref: Variable, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Take `value`, an array of its type and shape, from what the variable `ref` holds."""
    return ref.assign_sub(value, name=name)


def scatter_add(ref: Variable, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Add `updates` to the rows of the variable `ref` at `indices`: [..., row] of indices [...]."""
    done = apply(ref.writer("ResourceScatterAdd"), [ref.handle, indices, updates], {}, name)
    with get_default_graph().control_dependencies([done]):
        return ref.value()


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """A collection of the default graph."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: str) -> list[Any]:
    """A collection of the default graph itself."""
    return get_default_graph().get_collection_ref(key)


def add_to_collection(name: str, value: Any) -> None:
    """Add a value to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Add a value to collections of the default graph."""
    get_default_graph().add_to_collections(names, value)
