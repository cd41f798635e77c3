"""`tf.IndexedSlices`: rows of an array that is 0 elsewhere, which functions of gradients hand on as rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.tensor import Tensor


class IndexedSlicesValue(NamedTuple):
    """What a session gives of rows."""

    values: Any
    indices: Any
    dense_shape: Any


class IndexedSlices:
    """Rows of an array, of which others are zero: the gradient of what takes rows."""

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        return self.values.dtype

    @property
    def graph(self) -> Any:
        """The graph that it is in."""
        return self.values.graph

    @property
    def name(self) -> str:
        """The name of its rows."""
        return self.values.name

    @property
    def op(self) -> Any:
        """What makes its rows."""
        return self.values.op

    @property
    def fetch_components(self) -> IndexedSlicesValue:
        """What a session fetches for it."""
        return IndexedSlicesValue(self.values, self.indices, () if self.dense_shape is None else self.dense_shape)

    def dense_tensor(self, dtype: Any = None, name: str = "") -> Tensor:
        """The array.

        Raises:
            ValueError: its sizes are not known.
        """
        if self.dense_shape is None:
            raise ValueError("Tensor conversion requested for IndexedSlices without dense_shape")
        rows = self.dense_shape[0]
        return output_of("UnsortedSegmentSum", self.values, self.indices, rows, name=name or None)


def with_values(of: Any, change: Callable[[Any], Any]) -> Any:
    """What `change` makes of a tensor or, where `of` is rows, of these, at the same numbers."""
    if isinstance(of, IndexedSlices):
        return IndexedSlices(change(of.values), of.indices, of.dense_shape)
    return change(of)


def values_of(of: Any) -> Any:
    """A tensor as it is, and of rows only these, without the zeros between."""
    return of.values if isinstance(of, IndexedSlices) else of
