"""Kernels of ops that reach outside of the graph: functions of Python, and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from compiler.tf import BY_NAME, CompilerError, Node, read_checkpoint, write_checkpoint
from xlabench.tensorflow import errors
from xlabench.tensorflow.framework.convert import texts_of
from xlabench.tensorflow.framework.dtypes import of_data_type
from xlabench.tensorflow.framework.host_functions import function_of
from xlabench.tensorflow.runtime.kernels import Kernel, Maker, raised, text_of
from xlabench.tensorflow.runtime.resources import Resources

_STRING = BY_NAME["string"]
_KINDS: Mapping[type[BaseException], str] = {
    ValueError: "InvalidArgumentError",
    TypeError: "InvalidArgumentError",
    StopIteration: "OutOfRangeError",
    MemoryError: "ResourceExhaustedError",
    NotImplementedError: "UnimplementedError",
}
"""What a function's exception becomes (TensorFlow, py_func.cc); another is an `UnknownError`."""


def _types(node: Node, name: str) -> list[Any]:
    listed: Any = node.attributes.get(name)
    return list(listed.values) if listed is not None else []


def _py_func(node: Node, _resources: Resources) -> Kernel:
    token: Any = node.attributes["token"]
    types = _types(node, "Tout")

    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        function = function_of(token.decode())
        if function is None:
            raise raised(errors.InvalidArgumentError, node, f"Unknown callback {token.decode()!r}: another process's")
        given = _called(function, inputs, node)
        found = list(given) if isinstance(given, list | tuple) else [] if given is None and not types else [given]
        if len(found) != len(types):
            said = f"{token.decode()} returns {len(found)} values, but expects to see {len(types)} values."
            raise raised(errors.InvalidArgumentError, node, said)
        return [_array(node, number, one, types[number]) for number, one in enumerate(found)]

    return kernel


def _called(function: Callable[..., Any], inputs: Sequence[Any], node: Node) -> Any:
    try:
        return function(*inputs)
    except errors.OpError:
        raise
    except Exception as error:
        kind = next((word for one, word in _KINDS.items() if isinstance(error, one)), "UnknownError")
        raise raised(getattr(errors, kind), node, f"{type(error).__name__}: {error}") from error


def _array(node: Node, number: int, value: Any, data_type: Any) -> Any:
    """A value as an array of the type that the node says."""
    wanted = of_data_type(data_type)
    if data_type == _STRING:
        return texts_of(value)
    array = np.asarray(value)
    if array.dtype != wanted.as_numpy_dtype:
        token: Any = node.attributes["token"]
        said = f"{number}-th value returned by {token.decode()} is {array.dtype.name}, but expects {wanted.name}"
        raise raised(errors.InvalidArgumentError, node, said)
    return array


def _whole(node: Node, slices: Any) -> None:
    """Refuse parts of variables."""
    if any(slices.reshape(-1)):
        raise raised(errors.UnimplementedError, node, "slices of variables are not saved, nor restored, here")


def _save(node: Node, _resources: Resources) -> Kernel:
    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        prefix, names, slices, *tensors = inputs
        _whole(node, slices)
        keys = [one.decode() for one in names.reshape(-1)]
        try:
            write_checkpoint(Path(text_of(prefix)), dict(zip(keys, tensors, strict=True)))
        except CompilerError as error:
            raise raised(errors.FailedPreconditionError, node, str(error)) from error
        return ()

    return kernel


def _restore(node: Node, _resources: Resources) -> Kernel:
    types = _types(node, "dtypes")

    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        prefix, names, slices = inputs
        _whole(node, slices)
        try:
            bundle = read_checkpoint(Path(text_of(prefix)))
            keys = [one.decode() for one in names.reshape(-1)]
            for key, wanted in zip(keys, types, strict=True):
                _check(node, bundle, key, wanted)
            texts = [wanted == _STRING for wanted in types]
            return [(bundle.texts if one else bundle.array)(key) for key, one in zip(keys, texts, strict=True)]
        except CompilerError as error:
            raise raised(errors.DataLossError, node, str(error)) from error

    return kernel


def _check(node: Node, bundle: Any, key: str, wanted: Any) -> None:
    """See that a tensor is there, of the type that is wanted."""
    if key not in bundle:
        raise raised(errors.NotFoundError, node, f"Key {key} not found in checkpoint")
    if bundle.type(key) != wanted:
        said = f"Expected to restore a tensor of type {wanted}, got a tensor of type {bundle.type(key)} instead: {key}"
        raise raised(errors.InvalidArgumentError, node, said)


KERNELS: Mapping[str, Maker] = {
    "PyFunc": _py_func,
    "PyFuncStateless": _py_func,
    "SaveV2": _save,
    "RestoreV2": _restore,
}
"""Ops that reach outside."""
