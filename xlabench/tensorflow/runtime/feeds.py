"""What is fed: tensors, or their names, with values of their types and of sizes that fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from xlabench.tensorflow.framework.convert import texts_of
from xlabench.tensorflow.framework.graph import Graph
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.framework.tensor import Tensor

Array = np.ndarray[Any, Any]


class Fed:
    """A tensor that can be fed: what its values must be."""

    __slots__ = ("dims", "dtype", "name", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.name = tensor.name
        self.dims = tensor.output.shape.dims
        self.dtype = np.dtype(tensor.dtype.as_numpy_dtype)

    def value(self, given: Any) -> Array:
        """A value as an array.

        Raises:
            TypeError: it is a tensor, or of another kind.
            ValueError: it has other sizes.
        """
        if isinstance(given, np.ndarray) and given.dtype == self.dtype:
            array = given
        elif hasattr(given, "dense_tensor"):
            raise TypeError(
                "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, "
                "strings, lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was "
                f"{given} which was passed to the argument `feed_dict` with key {self.tensor}."
            )
        else:
            array = self._converted(given)
        dims = self.dims
        if dims is not None and (
            len(dims) != array.ndim
            or any(size is not None and size != found for size, found in zip(dims, array.shape, strict=True))
        ):
            raise ValueError(
                f"Cannot feed value of shape {array.shape} for Tensor {self.name}, which has shape {TensorShape(dims)}"
            )
        return array

    def _converted(self, given: Any) -> Array:
        if isinstance(given, int) and self.dtype.kind in "iu":
            info = np.iinfo(self.dtype)
            if not info.min <= given <= info.max:
                raise TypeError(
                    f"Type of feed value {given} with type {type(given)} is not compatible with Tensor "
                    f"type {self.dtype.type}. Try explicitly setting the type of the feed tensor to a larger type "
                    "(e.g. int64)."
                )
        if self.dtype == object:
            return texts_of(given)
        return np.asarray(given, dtype=self.dtype)


def keys_of(graph: Graph, feed_dict: Mapping[Any, Any]) -> list[Fed]:
    """What the keys of a feed are.

    Raises:
        TypeError: one is no tensor, nor a name of one.
        ValueError: one is not in the graph.
    """
    found = []
    for key in feed_dict:
        try:
            found.append(Fed(graph.as_graph_element(key, allow_operation=False)))
        except (TypeError, KeyError, ValueError) as error:
            said = error.args[0] if error.args else error
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {said}") from None
    return found
