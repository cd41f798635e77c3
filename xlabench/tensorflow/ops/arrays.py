"""Functions that make arrays and move their elements, where they are more than one op with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import constant, convert_to_tensor
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph, graph_of
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.math import one_of

_SMALL = 1000


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor of type `dtype` that is fed; sizes that are None in `shape` are open, and all are where it is None."""
    graph = get_default_graph()
    attributes: dict[str, Any] = {"dtype": as_dtype(dtype).base_dtype.data_type, "shape": TensorShape(shape).partial}
    return graph.create("Placeholder", [], attributes, name or "Placeholder").outputs[0]


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that is `input` unless it is fed; sizes of `shape` that are None are open."""
    return output_of("PlaceholderWithDefault", input, shape=TensorShape(shape), name=name)


def _full(value: int, word: str) -> Callable[..., Tensor]:
    def make(shape: Any, dtype: Any = "float32", name: str | None = None) -> Tensor:
        wanted = as_dtype(dtype).base_dtype
        element = ("" if not value else "1") if wanted.name == "string" else bool(value) if wanted.is_bool else value
        graph = get_default_graph()
        with graph.name_scope(name or word) as scope:
            if not hasattr(shape, "dense_tensor") and not _holds_tensors(shape):
                dims = TensorShape(shape)
                count = dims.num_elements()
                if count is not None and count < _SMALL:
                    return constant(np.full(dims.as_list(), element, wanted.as_numpy_dtype), wanted, name=scope)
                shape = convert_to_tensor(dims.as_list(), "int32", "shape_as_tensor")
            else:
                shape = convert_to_tensor(shape, "int32" if not hasattr(shape, "dtype") else None, "shape_as_tensor")
            return output_of("Fill", shape, constant(element, wanted), name=scope)

    make.__name__ = make.__qualname__ = word
    make.__doc__ = f"An array of {word} of type `dtype`; `shape` is a list of sizes, or a vector of integers."
    return make


def _holds_tensors(shape: Any) -> bool:
    return isinstance(shape, list | tuple) and any(hasattr(one, "dense_tensor") for one in shape)


zeros, ones = _full(0, "zeros"), _full(1, "ones")


def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Zeros of the shape of `tensor`, in its type where `dtype` is None.

    They are a constant where the shape is known, unless `optimize` is False.
    """
    return _like(tensor, dtype, name, optimize, _Like("zeros_like", "ZerosLike", zeros))


def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Ones of the shape of `tensor`, in its type where `dtype` is None.

    They are a constant where the shape is known, unless `optimize` is False.
    """
    return _like(tensor, dtype, name, optimize, _Like("ones_like", "OnesLike", ones))


class _Like(NamedTuple):
    """What makes an array like another: the scope's name, the op for a shape that is not known, and the function."""

    scope: str
    op: str
    full: Callable[..., Tensor]


def _like(tensor: Any, dtype: Any, name: str | None, optimize: Any, kind: _Like) -> Tensor:
    graph = graph_of(tensor)
    with graph.as_default(), graph.name_scope(name or kind.scope) as scope:
        x = convert_to_tensor(tensor, name="tensor")
        wanted = x.dtype.base_dtype if dtype is None else as_dtype(dtype)
        if optimize and x.shape.is_fully_defined():
            return kind.full(x.shape, wanted, scope)
        if wanted == x.dtype.base_dtype:
            return output_of(kind.op, x, name=scope)
        return kind.full(output_of("Shape", x), wanted, scope)


def eye(
    num_rows: int,
    num_columns: int | None = None,
    batch_shape: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
) -> Tensor:
    """The identity matrix of `num_rows` by `num_columns` (None: as many) in type `dtype`, or a stack of them.

    The stack has `batch_shape`, sizes that come before those of the matrix; None stands for a single matrix.
    """
    matrix = np.eye(num_rows, num_columns)
    if batch_shape is not None:
        matrix = np.broadcast_to(matrix, (*batch_shape, *matrix.shape))
    return constant(matrix.astype(as_dtype(dtype).as_numpy_dtype), name=name or "eye")


def shape(input: Any, name: str | None = None, out_type: Any = "int32") -> Tensor:
    """The sizes of `input`, [rank] of the integer type `out_type`; a constant where they are known."""
    return _asked(input, name, out_type, ("Shape", lambda known: known.as_list()))


def size(input: Any, name: str | None = None, out_type: Any = "int32") -> Tensor:
    """The number of elements of `input`, a scalar of the integer type `out_type`; a constant where it is known."""
    return _asked(input, name, out_type, ("Size", lambda known: known.num_elements()))


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of a tensor's dimensions; a constant where it is known."""
    return _asked(input, name, None, ("Rank", lambda known: known.rank))


def _asked(value: Any, name: str | None, out_type: Any, kind: tuple[str, Callable[[TensorShape], Any]]) -> Tensor:
    op, say = kind
    graph = graph_of(value)
    with graph.as_default(), graph.name_scope(name or op) as scope:
        tensor = convert_to_tensor(value, name="input")
        known = tensor.shape
        if known.is_fully_defined() or (op == "Rank" and known.rank is not None):
            return constant(np.asarray(say(known)), out_type or "int32", name=scope)
        found = apply(op, [tensor], {"out_type": out_type} if out_type is not None else {}, scope).outputs[0]
        if op != "Shape":
            found.set_shape(())
        return found


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """The arrays `values` behind each other along an `axis` that all have; their other sizes are equal."""
    listed = list(values) if isinstance(values, list | tuple) else [values]
    if len(listed) == 1:
        return output_of("Identity", listed[0], name=name)
    return output_of("ConcatV2", listed, axis, name=name)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """The arrays `values`, which are of one shape, along a new dimension, which is dimension `axis` of the result."""
    return output_of("Pack", list(values), axis=axis, name=name)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """The slices of `value` along `axis`, without that dimension; `num` is its size, None where that is known.

    Raises:
        ValueError: their number is not known.
    """
    tensor = convert_to_tensor(value)
    if num is None:
        known = tensor.shape
        number = known[axis].value if known.rank is not None else None
        if number is None:
            raise ValueError(f"Cannot infer argument `num` from shape {known}")
        num = number
    return list(apply("Unpack", [tensor], {"num": num, "axis": axis}, name).outputs)


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """Pieces of `value` along `axis`: a number of equal ones, or a vector of sizes, is `num_or_size_splits`.

    `num` says how many sizes a tensor of them has where its shape does not.
    """
    if isinstance(num_or_size_splits, int | np.integer):
        return list(apply("Split", [axis, value], {"num_split": int(num_or_size_splits)}, name).outputs)
    sizes = convert_to_tensor(num_or_size_splits)
    count = num if num is not None else sizes.shape[0].value
    return list(apply("SplitV", [value, sizes, axis], {"num_split": count}, name).outputs)


def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """The array `a`, dimensions in the order `perm`, None for the reverse; `conjugate` also conjugates elements.

    Raises:
        ValueError: the order is not given, and the rank of the array is not known.
    """
    op = "ConjugateTranspose" if conjugate else "Transpose"
    graph = graph_of(a)
    with graph.as_default(), graph.name_scope(name) as scope:
        x = convert_to_tensor(a, name="a")
        if perm is None:
            dimensions = x.shape.rank
            if dimensions is None:
                raise ValueError("tf.transpose of a tensor of unknown rank: give perm")
            perm = np.arange(dimensions, dtype=np.int32)[::-1]
        return output_of(op, x, perm, name=scope)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Rows with one value at an index, and another elsewhere.

    `indices`, integers of any shape, get a new dimension of `depth` elements, which is dimension `axis` of the result
    (None: the last). It holds `on_value` (None: 1) at the index, and `off_value` (None: 0) elsewhere; at an index that
    is outside `depth` all are off. `dtype` is the type of the result, None for that of the two values, or float32.
    """
    with get_default_graph().name_scope(name or "one_hot") as scope:
        given = next((one.dtype for one in (on_value, off_value) if hasattr(one, "dtype")), None)
        wanted = as_dtype(dtype) if dtype is not None else as_dtype(given or "float32")
        on = convert_to_tensor(1 if on_value is None else on_value, wanted, "on_value")
        off = convert_to_tensor(0 if off_value is None else off_value, wanted, "off_value")
        attributes = {"axis": -1 if axis is None else axis}
        return apply("OneHot", [indices, depth, on, off], attributes, scope).outputs[0]


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Elements of `x` where `condition` is true, and of `y` where it is false; both have one shape.

    Without `x` and `y` the indices of what is true, [count, rank of `condition`], of which the count is not known.

    Raises:
        ValueError: only one of them is given.
    """
    if x is None or y is None:
        if x is not None or y is not None:
            raise ValueError("x and y must both be non-None or both be None.")
        return output_of("Where", condition, name=name)
    return output_of("Select", condition, x, y, name=name)


def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Tensor:
    """The slices of an array at which a mask is true, along the dimensions that the mask has.

    Args:
        tensor: the array.
        mask: booleans, of a rank that is known and not 0.
        name: the scope of the nodes.
        axis: the first of these dimensions, by default 0.

    Raises:
        ValueError: the rank of the mask is 0 or not known, or it has other sizes than the array.
    """
    with get_default_graph().name_scope(name):
        value, chosen = convert_to_tensor(tensor, name="tensor"), convert_to_tensor(mask, "bool", "mask")
        rank = chosen.shape.rank
        if rank is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  E.g. shape=[None] is "
                "ok, but shape=None is not."
            )
        if not rank:
            raise ValueError("mask cannot be scalar.")
        first = 0 if axis is None else int(axis)
        if value.shape.rank is not None:
            first = first % value.shape.rank if first < 0 else first
            TensorShape(value.shape.as_list()[first : first + rank]).assert_is_compatible_with(chosen.shape)
        sizes = shape(value)
        rows = output_of("Prod", sizes[first : first + rank], [0])
        joined = concat([sizes[:first], output_of("Reshape", rows, [1]), sizes[first + rank :]], 0)
        flat = output_of("Reshape", value, joined)
        if value.shape.rank is not None:
            known = value.shape.as_list()
            flat.set_shape([*known[:first], None, *known[first + rank :]])
        indices = where(output_of("Reshape", chosen, [-1]))
        return gather(flat, output_of("Squeeze", indices, squeeze_dims=[1]), axis=first)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Elements of `x` where `condition` is true, and of `y` elsewhere, all broadcast to one shape; else as `where`."""
    if x is None or y is None:
        return where(condition, x, y, name)
    return output_of("SelectV2", condition, x, y, name=name)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """The slices of `params` at `indices`, integers of any shape, along `axis` (None: the first behind `batch_dims`).

    The first `batch_dims` dimensions of both are equal and go together. `validate_indices` changes nothing.
    """
    inputs = [params, indices, batch_dims if axis is None else axis]
    return apply("GatherV2", inputs, {"batch_dims": batch_dims}, name).outputs[0]


def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", name: str | None = None, constant_values: Any = 0
) -> Tensor:
    """The array `tensor` with a margin.

    Args:
        tensor: of any rank.
        paddings: for each dimension how many elements come before it and behind it, [rank, 2].
        mode: `CONSTANT`, `REFLECT` (without the edge) or `SYMMETRIC` (with it), in any case of letters.
        name: of the node.
        constant_values: the number that the margin holds in mode `CONSTANT`.

    Raises:
        ValueError: the mode is none of these.
    """
    word = mode.upper()
    if word in ("REFLECT", "SYMMETRIC"):
        return output_of("MirrorPad", tensor, paddings, mode=word, name=name)
    if word != "CONSTANT":
        raise ValueError(
            f"Value of argument `mode` expected to be one of CONSTANT, REFLECT, SYMMETRIC. Received `mode` = {mode}"
        )
    if not hasattr(constant_values, "dense_tensor") and constant_values == 0:
        return output_of("Pad", tensor, paddings, name=name)
    return output_of("PadV2", tensor, paddings, constant_values, name=name)


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """The slice of `input_` from `begin` up to `end`, exclusive, in steps of `strides`, a number for each dimension.

    `strides` are 1 where they are None. Bit n of a mask is about element n of the vectors: of `begin_mask` that the
    slice begins at the edge, of `end_mask` that it ends there, of `ellipsis_mask` that the element stands for all
    dimensions that are not named, of `new_axis_mask` that it makes a dimension of size 1, of `shrink_axis_mask` that it
    takes one index, whose dimension goes. `var` must be None: assign to a piece of a variable by its index operator.

    Raises:
        NotHereError: there is a `var`.
    """
    if var is not None:
        raise NotHereError("tf.strided_slice with var is not there: assign to a piece of the variable, v[...].assign")
    start = convert_to_tensor(begin)
    steps = output_of("OnesLike", start) if strides is None else strides
    masks = {
        "begin_mask": begin_mask,
        "end_mask": end_mask,
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    return apply("StridedSlice", [input_, start, end, steps], masks, name).outputs[0]


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """Tensors as they are."""
    return list(apply("IdentityN", [list(input)], {}, name).outputs)


def meshgrid(*args: Any, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """Coordinates of a grid: for each vector of `args` an array of the grid's shape that holds its elements.

    `indexing` is `xy`, in which the second vector runs along the rows, or `ij`, in which dimension n is that of vector
    n.
    """
    with get_default_graph().name_scope(name):
        axes = [convert_to_tensor(one) for one in args]
        sizes = [int(one.shape[0]) for one in axes]
        order = [1, 0, *range(2, len(axes))] if indexing == "xy" and len(axes) > 1 else list(range(len(axes)))
        grid = [sizes[number] for number in order]
        found = []
        for number, axis in enumerate(axes):
            dims = [1] * len(axes)
            dims[order.index(number)] = sizes[number]
            row = output_of("Reshape", axis, dims)
            found.append(output_of("BroadcastTo", row, grid))
        return found


def batch_axis(axis: Any, dim: Any) -> Any:
    """An axis, under either of its names."""
    return one_of(axis, dim, ("axis", "dim"))
