"""Functions of `tf.math` that are more than one op with its arguments: reductions, products, conversions, sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import constant, convert_to_tensor
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph, graph_of
from xlabench.tensorflow.framework.operators import exclusive, quotient
from xlabench.tensorflow.framework.tensor import Tensor

_MATRIX = 2


def one_of(new: Any, old: Any, names: tuple[str, str]) -> Any:
    """An argument that has an older spelling: `new` or `old`, whichever is not None; `names` are both, for the message.

    Raises:
        ValueError: both are given.
    """
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{names[1]}' and '{names[0]}'.")
    return old if new is None else new


def _axes(tensor: Tensor, axis: Any) -> Any:
    """The axes of a reduction, all where none is named."""
    if axis is not None:
        return axis
    rank = tensor.shape.rank
    if rank is not None:
        return constant(np.arange(rank, dtype=np.int32))
    return range_(0, output_of("Rank", tensor), 1)


def _reduction(op: str, public: str) -> Callable[..., Tensor]:
    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        axis = one_of(axis, reduction_indices, ("axis", "reduction_indices"))
        is_kept = bool(one_of(keepdims, keep_dims, ("keepdims", "keep_dims")) or False)
        named = None if axis is not None else _axes(_tensor(input_tensor, name or op), None)
        indices = axis if named is None else named
        reduced = output_of(op, input_tensor, indices, keep_dims=is_kept, name=name)
        if axis is None and not is_kept:
            reduced.set_shape(())
        return reduced

    reduce.__name__ = reduce.__qualname__ = public
    reduce.__doc__ = (
        f"{op} of `input_tensor` over the dimensions `axis` (None: all), which `keepdims` leaves with size 1.\n\n"
        "`reduction_indices` and `keep_dims` are the older names of both."
    )
    return reduce


def _tensor(value: Any, _name: str) -> Tensor:
    """A value whose rank is asked for before it is an input."""
    if isinstance(value, Tensor):
        return value
    shaped = getattr(value, "shape_only", None)
    return shaped if shaped is not None else convert_to_tensor(value)


REDUCTIONS = {
    f"reduce_{name}": _reduction(op, f"reduce_{name}")
    for name, op in (
        ("sum", "Sum"),
        ("mean", "Mean"),
        ("prod", "Prod"),
        ("max", "Max"),
        ("min", "Min"),
        ("all", "All"),
        ("any", "Any"),
        ("euclidean_norm", "EuclideanNorm"),
    )
}


def _arg_extreme(op: str) -> Callable[..., Tensor]:
    def find(
        input: Any,
        axis: Any = None,
        name: str | None = None,
        dimension: Any = None,
        output_type: Any = "int64",
    ) -> Tensor:
        axis = one_of(axis, dimension, ("axis", "dimension"))
        attributes = {"output_type": output_type}
        return apply(op, [input, 0 if axis is None else axis], attributes, name).outputs[0]

    find.__name__ = find.__qualname__ = op.lower()
    find.__doc__ = (
        f"{op} of `input` along the dimension `axis` (None: the first): indices of type `output_type`.\n\n"
        "`dimension` is the older name of `axis`."
    )
    return find


argmax, argmin = _arg_extreme("ArgMax"), _arg_extreme("ArgMin")


def range_(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range") -> Tensor:
    """Numbers from `start` (0 where `limit` is None) in steps of `delta` up to `limit`, which is not among them.

    The scalars are of type `dtype`; where it is None the result has the widest of their types.
    """
    if limit is None:
        start, limit = 0, start
    graph = get_default_graph()
    with graph.name_scope(name) as scope:
        values = [
            convert_to_tensor(one, dtype if not isinstance(one, Tensor) else None, word)
            for one, word in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        wanted = max((one.dtype for one in values), key=lambda one: _ORDER.index(one.name))
        values = [cast(one, wanted) for one in values]
        return apply("Range", values, {}, scope).outputs[0]


_ORDER = ("int8", "int16", "int32", "int64", "bfloat16", "float16", "float32", "float64")


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """The elements of `x` in type `dtype`; `x` itself where it has that type."""
    wanted = as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x.dtype.base_dtype == wanted:
        return x
    graph = graph_of(x)
    with graph.as_default(), graph.name_scope(name or "Cast") as scope:
        value = convert_to_tensor(x, name="x")
        if value.dtype.base_dtype == wanted:
            return value
        return output_of("Cast", value, DstT=wanted, name=scope)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """The elements of `value` in type `dtype`, what does not fit being the nearest number that does."""
    wanted = as_dtype(dtype)
    with get_default_graph().name_scope(name or "saturate_cast") as scope:
        value = convert_to_tensor(value, name="value")
        if value.dtype.min < wanted.min:
            value = output_of("Maximum", value, wanted.min)
        if value.dtype.max > wanted.max:
            value = output_of("Minimum", value, wanted.max)
        return cast(value, wanted, scope)


_WORDS = {"float32": "ToFloat", "float64": "ToDouble", "bfloat16": "ToBFloat16"}


def to_type(dtype: str) -> Callable[..., Tensor]:
    """The older function for a conversion to one type."""

    def convert(x: Any, name: str = "") -> Tensor:
        return cast(x, dtype, name or word)

    word = _WORDS.get(dtype, f"To{dtype.capitalize()}")
    convert.__name__ = convert.__qualname__ = f"to_{dtype}"
    convert.__doc__ = f"A tensor in {dtype}."
    return convert


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of matrices, or of stacks of them.

    Args:
        a: the left matrices, [..., rows, terms].
        b: the right ones, [..., terms, columns], in the type of the left.
        transpose_a: whether the last two dimensions of `a` are swapped before.
        transpose_b: whether those of `b` are.
        adjoint_a: whether `a` is transposed and conjugated before.
        adjoint_b: whether `b` is.
        a_is_sparse: must be False, as must the next: matrices are dense.
        b_is_sparse: the same of `b`.
        name: of the node.

    Raises:
        ValueError: a matrix is to be transposed and conjugated at once.
        NotHereError: a matrix is to be sparse.
    """
    if a_is_sparse or b_is_sparse:
        raise NotHereError("tf.matmul of sparse matrices is not there: leave a_is_sparse and b_is_sparse out")
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ValueError("Only one of `transpose_a` and `adjoint_a` can be True.")
    graph = graph_of(a, b)
    with graph.as_default(), graph.name_scope(name or "MatMul") as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, a.dtype.base_dtype, name="b")
        ranks = [one.shape.rank for one in (a, b)]
        if any(rank is None or rank > _MATRIX for rank in ranks):
            attributes = {"adj_x": transpose_a or adjoint_a, "adj_y": transpose_b or adjoint_b}
            return apply("BatchMatMulV2", [a, b], attributes, scope).outputs[0]
        if (adjoint_a or adjoint_b) and a.dtype.is_complex:
            a = output_of("Conj", a) if adjoint_a else a
            b = output_of("Conj", b) if adjoint_b else b
        attributes = {"transpose_a": transpose_a or adjoint_a, "transpose_b": transpose_b or adjoint_b}
        return apply("MatMul", [a, b], attributes, scope).outputs[0]


def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """`x` / `y`, as Python has it."""
    return x / y if name is None else truediv(x, y, name)


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x` / `y`, of whole numbers in floats."""
    graph = graph_of(x, y)
    with graph.as_default(), graph.name_scope(name or "truediv") as scope:
        left = convert_to_tensor(x, name="x") if hasattr(x, "dense_tensor") or not hasattr(y, "dense_tensor") else None
        right = convert_to_tensor(y, None if left is None else left.dtype.base_dtype, name="y")
        return quotient(left if left is not None else convert_to_tensor(x, right.dtype, name="x"), right, scope)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x` / `y`, of whole numbers rounded down."""
    graph = graph_of(x, y)
    with graph.as_default(), graph.name_scope(name or "div") as scope:
        left = convert_to_tensor(x, name="x")
        right = convert_to_tensor(y, left.dtype.base_dtype, name="y")
        return output_of("RealDiv" if left.dtype.is_floating else "FloorDiv", left, right, name=scope)


def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Tensor:
    """Whether exactly one of the booleans `x` and `y` is true."""
    return exclusive(convert_to_tensor(x), convert_to_tensor(y), name)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of tensors of one shape.

    Raises:
        ValueError: there are none.
    """
    if not isinstance(inputs, list | tuple) or not inputs:
        raise ValueError(
            "inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape"
        )
    tensors = [convert_to_tensor(one) for one in inputs]
    if len(tensors) == 1:
        return tensors[0] if name is None else apply("Identity", tensors, {}, name).outputs[0]
    return output_of("AddN", tensors, name=name)


def accumulate_n(inputs: Sequence[Any], shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Tensor:
    """The sum of the tensors `inputs`, of one shape; that they have `shape` and `tensor_dtype` is not checked."""
    return add_n(inputs, name)


def reduce_logsumexp(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """log(sum(exp(`input_tensor`))) over the dimensions `axis` (None: all), the greatest being taken out first.

    With `keepdims` these are left as dimensions of size 1. `reduction_indices` and `keep_dims` are the older names of
    both.
    """
    axis = one_of(axis, reduction_indices, ("axis", "reduction_indices"))
    is_kept = bool(one_of(keepdims, keep_dims, ("keepdims", "keep_dims")) or False)
    with get_default_graph().name_scope(name or "ReduceLogSumExp") as scope:
        x = convert_to_tensor(input_tensor)
        largest = REDUCTIONS["reduce_max"](x, axis, keepdims=True)
        finite = output_of("IsFinite", largest)
        zeros = output_of("ZerosLike", largest)
        shift = output_of("StopGradient", output_of("SelectV2", finite, largest, zeros))
        grown = output_of("Exp", x - shift)
        logarithm = output_of("Log", REDUCTIONS["reduce_sum"](grown, axis, is_kept))
        if not is_kept:
            shift = output_of("Reshape", shift, output_of("Shape", logarithm))
        return output_of("AddV2", logarithm, shift, name=scope)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The product of the arrays `a` and `b`, summed over axes of both, whose sizes must be known.

    `axes` is a number, of the last axes of `a` and the first of `b`, or a pair: the axes of `a`, and those of `b`.

    Raises:
        ValueError: they are not, or it is not known how many axes there are.
    """
    with get_default_graph().name_scope(name or "Tensordot") as scope:
        x, y = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
        if x.shape.rank is None or y.shape.rank is None:
            raise ValueError("tf.tensordot takes tensors of known ranks here")
        ranks = len(x.shape), len(y.shape)
        if isinstance(axes, int):
            left, right = list(range(ranks[0] - axes, ranks[0])), list(range(axes))
        else:
            left, right = ([one] if isinstance(one, int) else list(one) for one in axes)
        sides = [_flattened(one, [n % rank for n in side], is_last=last) for one, side, rank, last in
                 ((x, left, ranks[0], True), (y, right, ranks[1], False))]  # fmt: skip
        product = output_of("MatMul", sides[0][0], sides[1][0])
        return output_of("Reshape", product, [*sides[0][1], *sides[1][1]], name=scope)


def _flattened(x: Tensor, summed: Sequence[int], *, is_last: bool) -> tuple[Tensor, list[Any]]:
    """A matrix of an array, and the sizes of what is not summed over: tensors where they are known at run time only."""
    sizes: list[Any] = x.shape.as_list()
    inner = [sizes[n] for n in summed]
    if None in inner:
        raise ValueError(f"tf.tensordot takes tensors whose sizes are known along the axes that are summed over: {x}")
    free = [number for number in range(len(sizes)) if number not in summed]
    order = [*free, *summed] if is_last else [*summed, *free]
    turned = x if order == list(range(len(sizes))) else output_of("Transpose", x, order)
    outer = [sizes[n] for n in free]
    matrix = [-1 if None in outer else int(np.prod(outer)), int(np.prod(inner))]
    if None in outer:
        found = output_of("Shape", x)
        outer = [found[n] if sizes[n] is None else sizes[n] for n in free]
    return output_of("Reshape", turned, matrix if is_last else matrix[::-1]), outer
