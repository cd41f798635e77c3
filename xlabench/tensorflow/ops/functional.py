"""`tf.map_fn`, `tf.scan`, `tf.foldl` and `tf.foldr`: a function on row after row, as a loop over TensorArrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.framework.structures import flattened, packed
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.control_flow import while_loop
from xlabench.tensorflow.ops.tensor_array import TensorArray, rows_of


class _Rows:
    """What is walked: tensors in some structure, row by row."""

    def __init__(self, elems: Any) -> None:
        """Take the tensors apart.

        Raises:
            ValueError: there are none, or one is a scalar.
        """
        self._structure = elems
        tensors = [convert_to_tensor(one) for one in flattened(elems)]
        if not tensors:
            raise ValueError("elems must hold at least one tensor")
        if any(one.shape.rank == 0 for one in tensors):
            raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")
        self.count = rows_of(tensors[0])
        self.types = [one.dtype for one in tensors]
        self._arrays = [TensorArray(one.dtype, self.count).unstack(one) for one in tensors]

    def at(self, number: Any) -> Any:
        """The row of a number, in the structure."""
        return packed(self._structure, [one.read(number) for one in self._arrays])

    def stacked(self, arrays: Sequence[TensorArray]) -> list[Tensor]:
        """The tensors of which these arrays have a row for each row here."""
        found = [one.stack() for one in arrays]
        for tensor, array in zip(found, arrays, strict=True):
            if isinstance(self.count, int) and array.element_shape.rank is not None:
                tensor.set_shape(TensorShape([self.count]).concatenate(array.element_shape))
        return found


def _checked(fn: Any) -> Callable[..., Any]:
    if not callable(fn):
        raise TypeError(f"The provided function {fn!r} is not callable. fn must be callable.")
    return fn  # type: ignore[no-any-return]  # it is


def _values(result: Any, like: Any) -> list[Any]:
    """What a function gives, which must be in this structure."""
    found = flattened(result)
    if len(found) != len(flattened(like)):
        raise ValueError(f"The two structures don't have the same number of elements: {result} and {like}")
    return found


def map_fn(
    fn: Any,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """What the function `fn` gives for each row of `elems`, tensors in some structure, along a new first dimension.

    `dtype`, or by its newer name `fn_output_signature`, is the type of what it gives, or a structure of types; None
    where that is as `elems` are. With `infer_shape` all of its results must have one shape.

    Raises:
        TypeError: it is no function.
        ValueError: it gives another structure than `dtype` says, or there are no rows to take.
    """
    function, stated = _checked(fn), dtype if fn_output_signature is None else fn_output_signature
    with get_default_graph().name_scope(name or "map"):
        rows = _Rows(elems)
        like = packed(elems, rows.types) if stated is None else stated
        arrays = [TensorArray(as_dtype(one), rows.count, infer_shape=infer_shape) for one in flattened(like)]

        def step(number: Any, written: Any) -> Any:
            values = _values(function(rows.at(number)), like)
            return number + 1, [one.write(number, value) for one, value in zip(written, values, strict=True)]

        last = while_loop(
            lambda number, _: number < rows.count,
            step,
            (convert_to_tensor(0), arrays),
            parallel_iterations=parallel_iterations or 10,
            maximum_iterations=rows.count,
        )
        return packed(like, rows.stacked(last[1]))


def _begun(rows: _Rows, initializer: Any, first: Any) -> Any:
    """What is carried from row to row at the beginning: what is given, or else the first row."""
    if initializer is None:
        return rows.at(first)
    return packed(initializer, [convert_to_tensor(one) for one in flattened(initializer)])


def _folded(fn: Any, elems: Any, initializer: Any, name: str, *, is_reverse: bool) -> Any:
    function = _checked(fn)
    with get_default_graph().name_scope(name):
        rows = _Rows(elems)
        first, by = (rows.count - 1, -1) if is_reverse else (0, 1)
        held = _begun(rows, initializer, first)
        start = first if initializer is not None else first + by

        def step(number: Any, carried: Any) -> Any:
            return number + by, packed(held, _values(function(carried, rows.at(number)), held))

        last = while_loop(
            lambda number, _: number >= 0 if is_reverse else number < rows.count,
            step,
            (convert_to_tensor(start, "int32"), held),
            maximum_iterations=rows.count,
        )
        return last[1]


def foldl(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """What the function `fn` makes of a value and row after row of `elems`; raises as `map_fn`.

    It takes the value and a row, and gives the next value; the first is `initializer`, None for the first row.
    """
    return _folded(fn, elems, initializer, name or "foldl", is_reverse=False)


def foldr(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The same as `foldl` from the last row to the first: `initializer` None stands for the last row.

    `fn` takes the value and a row of `elems`.
    """
    return _folded(fn, elems, initializer, name or "foldr", is_reverse=True)


def scan(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """The values that `foldl` takes on the way, a row for each of `elems`; raises as `map_fn` does.

    `fn` takes a value and a row, and gives the next value; the first is `initializer`, None for the first row. With
    `reverse` rows are taken from the last to the first. With `infer_shape` all values must have one shape.
    """
    function = _checked(fn)
    with get_default_graph().name_scope(name or "scan"):
        rows = _Rows(elems)
        first, by = (rows.count - 1, -1) if reverse else (0, 1)
        held = _begun(rows, initializer, first)
        arrays = [TensorArray(one.dtype, rows.count, infer_shape=infer_shape) for one in flattened(held)]
        if initializer is None:
            arrays = [one.write(first, value) for one, value in zip(arrays, flattened(held), strict=True)]
            first += by

        def step(number: Any, carried: Any, written: Any) -> Any:
            values = _values(function(carried, rows.at(number)), held)
            kept = [one.write(number, value) for one, value in zip(written, values, strict=True)]
            return number + by, packed(held, values), kept

        last = while_loop(
            lambda number, *_: number >= 0 if reverse else number < rows.count,
            step,
            (convert_to_tensor(first, "int32"), held, arrays),
            parallel_iterations=parallel_iterations,
            maximum_iterations=rows.count,
        )
        return packed(held, rows.stacked(last[2]))
