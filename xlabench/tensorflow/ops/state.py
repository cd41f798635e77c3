"""Variables of a graph together: all of them, those that are trained, what gives them their first values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import constant, convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.tensor import Operation, Tensor
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops.control import group
from xlabench.tensorflow.ops.script import py_func


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


def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Tensor:
    """The names of variables that have no value, as a vector of strings.

    Args:
        var_list: the variables, None for all, those of this process among them.
        name: of the scope of the nodes.
    """
    listed = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    with get_default_graph().name_scope(name) as scope:
        if not listed:
            return constant([], "string", name=scope)
        names = np.array([one.op.name.encode() for one in listed], object)
        found: Tensor = py_func(
            lambda there: names[~there],
            [output_of("Pack", [one.is_initialized() for one in listed])],
            "string",
            name=scope,
        )
        found.set_shape([None])
        return found


def assert_variables_initialized(var_list: Any = None) -> Tensor | None:
    """A vector of bytes that can be had only when variables have values; None where there are no variables.

    Args:
        var_list: the variables, None for all.

    Raises:
        FailedPreconditionError: at a run, one has no value.
    """
    listed = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    if not listed:
        return None
    with get_default_graph().control_dependencies([one.value() for one in listed]):
        return constant([0] * len(listed), "uint8")


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


def _scattered(op: str, ref: Variable, indices: Any, updates: Any, name: str | None) -> Tensor:
    """What a variable holds after an op has written into it."""
    done = apply(ref.writer(op), [ref.handle, indices, convert_to_tensor(updates, ref.dtype)], {}, name)
    with get_default_graph().control_dependencies([done]):
        return ref.value()


def _scatter(word: str, said: str) -> Callable[..., Tensor]:
    def scatter(
        ref: Variable, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        return _scattered(f"ResourceScatter{word}", ref, indices, updates, name)

    scatter.__name__ = scatter.__qualname__ = f"scatter_{word.lower()}"
    scatter.__doc__ = f"{said} the rows of the variable `ref` at `indices`: `updates` [..., row] for indices [...]."
    return scatter


scatter_add = _scatter("Add", "Add to")
scatter_sub = _scatter("Sub", "Subtract from")
scatter_mul = _scatter("Mul", "Multiply")
scatter_div = _scatter("Div", "Divide")
scatter_min = _scatter("Min", "Keep the lesser of the updates and")
scatter_max = _scatter("Max", "Keep the greater of the updates and")
scatter_update = _scatter("Update", "Replace")


def _scatter_nd(word: str, said: str) -> Callable[..., Tensor]:
    def scatter(ref: Variable, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Tensor:
        return _scattered(f"ResourceScatterNd{word}", ref, indices, updates, name)

    scatter.__name__ = scatter.__qualname__ = f"scatter_nd_{word.lower()}"
    scatter.__doc__ = f"{said} slices of the variable `ref`, each at the element that a row of `indices` says."
    return scatter


scatter_nd_add = _scatter_nd("Add", "Add `updates` to")
scatter_nd_sub = _scatter_nd("Sub", "Subtract `updates` from")
scatter_nd_update = _scatter_nd("Update", "Put `updates` in the place of")


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
