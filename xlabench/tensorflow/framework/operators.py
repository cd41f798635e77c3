"""Operators of Python on tensors and variables, as a table: which op each is, and the name of its node.

The other operand becomes a tensor of the same type; what cannot be one is left to that operand's own operator, if it
has one.  Tensors are the same where they are the same object: `==` builds nothing, as in TensorFlow 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph, graph_of
from xlabench.tensorflow.framework.tensor import Tensor

_BINARY = """
add AddV2 add reversed        sub Sub sub reversed          mul Mul mul reversed
truediv RealDiv truediv reversed   floordiv FloorDiv floordiv reversed   mod FloorMod mod reversed
pow Pow pow reversed          and LogicalAnd and reversed   or LogicalOr or reversed
xor LogicalXor xor reversed   matmul MatMul matmul reversed
lt Less Less -   le LessEqual LessEqual -   gt Greater Greater -   ge GreaterEqual GreaterEqual -
"""
_UNARY = {"neg": "Neg", "abs": "Abs", "invert": "LogicalNot"}
_ON_INTEGERS = {
    "LogicalAnd": "BitwiseAnd",
    "LogicalOr": "BitwiseOr",
    "LogicalXor": "BitwiseXor",
    "LogicalNot": "Invert",
}
_QUOTIENTS = {"int8": "float32", "int16": "float32", "uint8": "float32", "uint16": "float32"}
_QUOTIENTS |= {"int32": "float64", "int64": "float64", "uint32": "float64", "uint64": "float64"}

Kernel = Callable[[Any, Any, str], Tensor]


def binary(op: str, x: Any, y: Any, name: str) -> Tensor:
    """An `op` of the tensors `x` and `y`, by the rules of its operator in Python, as a node called `name`."""
    if op == "RealDiv":
        return quotient(x, y, name)
    if op == "MatMul" and x.shape.rank is not None and x.shape.rank > 2:
        return output_of("BatchMatMulV2", x, y, name=name)
    if not x.dtype.is_bool and op in _ON_INTEGERS:
        return output_of(_ON_INTEGERS[op], x, y)
    if op == "LogicalXor":
        return exclusive(x, y, name)
    return output_of(op, x, y, name=name)


def quotient(x: Tensor, y: Tensor, name: str) -> Tensor:
    """`x` / `y`, of whole numbers in floats, as a node called `name`.

    Raises:
        TypeError: they are of different types.
    """
    if x.dtype.base_dtype != y.dtype.base_dtype:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}.")
    target = _QUOTIENTS.get(x.dtype.base_dtype.name)
    if target is not None:
        x, y = (output_of("Cast", one, DstT=target, name="Cast") for one in (x, y))
    return output_of("RealDiv", x, y, name=name)


def exclusive(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether exactly one of the booleans `x` and `y` is true, in a scope called `name` (None: `LogicalXor`)."""
    with get_default_graph().name_scope(name or "LogicalXor") as scope:
        either = output_of("LogicalOr", x, y)
        both = output_of("LogicalAnd", x, y)
        return output_of("LogicalAnd", either, output_of("LogicalNot", both), name=scope)


def _left(op: str, name: str, *, has_reversed: bool, method: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        graph = graph_of(self)
        with graph.as_default(), graph.name_scope(name) as scope:
            x = convert_to_tensor(self)
            try:
                y = convert_to_tensor(other, name="y", preferred_dtype=x.dtype.base_dtype)
            except (TypeError, ValueError):
                if has_reversed and hasattr(type(other), f"__r{method}__"):
                    return NotImplemented
                raise
            return binary(op, x, y, scope)

    return operator


def _right(op: str, name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        graph = graph_of(self)
        with graph.as_default(), graph.name_scope(name) as scope:
            y = convert_to_tensor(self)
            x = convert_to_tensor(other, name="x", dtype=y.dtype.base_dtype)
            return binary(op, x, y, scope)

    return operator


def _only(op: str) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        x = convert_to_tensor(self)
        if op == "Abs":
            return absolute(x)
        chosen = op if op != "LogicalNot" or x.dtype.is_bool else _ON_INTEGERS[op]
        return output_of(chosen, x)

    return operator


def absolute(x: Any, name: str | None = None) -> Tensor:
    """How far numbers are from 0."""
    value = convert_to_tensor(x, name="x")
    if not value.dtype.is_complex:
        return output_of("Abs", value, name=name or "Abs")
    kind = "float64" if value.dtype.base_dtype == as_dtype("complex128") else "float32"
    return output_of("ComplexAbs", value, Tout=as_dtype(kind), name=name or "Abs")


def sliced(self: Any, key: Any) -> Tensor:
    """`x[key]`, as NumPy has it: numbers, slices, `...` and `newaxis`, tensors among them.

    Raises:
        TypeError: an element of the key is something else.
    """
    x = convert_to_tensor(self)
    rows: list[tuple[Any, Any, Any]] = []
    masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    for number, one in enumerate(key if isinstance(key, tuple) else (key,)):
        bit = 1 << number
        if isinstance(one, slice):
            rows.append((one.start, one.stop, one.step))
            masks["begin_mask"] |= bit if one.start is None else 0
            masks["end_mask"] |= bit if one.stop is None else 0
        elif one is Ellipsis:
            rows.append((0, 0, 1))
            masks["ellipsis_mask"] |= bit
        elif one is None:
            rows.append((0, 0, 1))
            masks["new_axis_mask"] |= bit
        elif isinstance(one, int | np.integer | Tensor) and not isinstance(one, bool):
            rows.append((one, one + 1, 1))
            masks["shrink_axis_mask"] |= bit
        else:
            raise TypeError(
                f"Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 "
                f"tensors are valid indices, got {one!r}"
            )
    graph = graph_of(x)
    with graph.as_default(), graph.name_scope("strided_slice") as scope:
        columns = [[row[n] for row in rows] for n in range(3)]
        filled = [
            [default if one is None else one for one in column]
            for column, default in zip(columns, (0, 0, 1), strict=True)
        ]
        names = ("stack", "stack_1", "stack_2")
        given = [_index(column, name) for column, name in zip(filled, names, strict=True)]
        return apply("StridedSlice", [x, *given], masks, scope).outputs[0]


def _index(column: list[Any], name: str) -> Tensor:
    tensors = [one for one in column if isinstance(one, Tensor)]
    wanted = tensors[0].dtype if tensors else as_dtype("int32")
    return convert_to_tensor(column if column else np.zeros(0, np.int32), wanted, name)


def _operators() -> Iterator[tuple[str, Callable[..., Any]]]:
    for method, op, name, kind in zip(*[iter(_BINARY.split())] * 4, strict=True):
        yield f"__{method}__", _left(op, name, has_reversed=kind == "reversed", method=method)
        if kind == "reversed":
            yield f"__r{method}__", _right(op, name)
    for method, op in _UNARY.items():
        yield f"__{method}__", _only(op)
    yield "__getitem__", sliced


OPERATORS: Mapping[str, Callable[..., Any]] = dict(_operators())
"""Every method that an operator of Python calls."""

for _name, _method in OPERATORS.items():
    setattr(Tensor, _name, _method)
