"""What TensorFlow says of inputs whose sizes do not go together, when a graph is built and when it runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from compiler.tf import AttributeList, DataType, Port, Signature

Dims = Sequence["int | None"]


_WORDS = {"float16": "HALF", "float32": "FLOAT", "float64": "DOUBLE"}
"""Types whose words in messages are not their names (TensorFlow, types.proto)."""


class Given(NamedTuple):
    """What an op was given: sizes of its inputs, and their values, None where they are not known."""

    op: str
    shapes: Sequence[Dims | None]
    values: Sequence[Any]


class Said(NamedTuple):
    """What a message says: what is wrong, and the sizes."""

    what: str
    shapes: str


def is_spread(signature: Signature) -> bool:
    """Whether an op takes two tensors of one type, whose sizes must go together; those of windows need not."""
    ports: Sequence[Port] = signature.inputs
    is_pair = len(ports) == 2 and all(one.is_one for one in ports) and ports[0].type == ports[1].type
    return is_pair and "strides" not in signature.attributes


def attribute(value: Any) -> str:
    """An attribute as messages have it."""
    if isinstance(value, AttributeList):
        return f"[{', '.join(map(attribute, value.values))}]"
    if isinstance(value, DataType):
        return f"DT_{_WORDS.get(str(value), str(value).upper())}"
    if isinstance(value, bytes):
        return f'"{value.decode()}"'
    return str(value).lower() if isinstance(value, bool) else str(value)


def at_building(given: Given, signature: Signature, attributes: Mapping[str, Any]) -> Said | None:
    """What is wrong with sizes that are known when a graph is built; None where that is not what is wrong.

    Args:
        given: the inputs.
        signature: of the op.
        attributes: those that are stated.
    """
    shapes = ", ".join(shown(one) for one in given.shapes)
    if is_spread(signature):
        transposed = bool(attributes.get("transpose_a")), bool(attributes.get("transpose_b"))
        found = unequal(given.op, given.shapes, transposed=transposed)
        return found and Said(f"Dimensions must be equal, but are {found[0]} and {found[1]}", shapes)
    special = _SPECIAL.get(given.op)
    return special(given, attributes, shapes) if special is not None and None not in given.shapes else None


def _reshaped(given: Given, _attributes: Mapping[str, Any], shapes: str) -> Said | None:
    dims, wanted = given.shapes[0] or (), given.values[1]
    sizes = [] if wanted is None else [int(one) for one in wanted]
    if wanted is None or None in dims or -1 in sizes:
        return None
    what = f"Cannot reshape a tensor with {_count(dims)} elements to shape {shown(sizes)} ({_count(sizes)} elements)"
    return Said(what, f"{shapes} and with input tensors computed as partial shapes: input[1] = {shown(sizes)}")


def _joined(given: Given, _attributes: Mapping[str, Any], shapes: str) -> Said | None:
    axis = given.values[-1]
    if axis is None:
        return None
    number = len(given.shapes) - 1
    first, *others = [[one for at, one in enumerate(dims or ()) if at != int(axis) % len(dims or (1,))]
                      for dims in given.shapes[:-1]]  # fmt: skip
    for other in others:
        for at, (a, b) in enumerate(zip(first, other, strict=False)):
            if a is not None and b is not None and a != b:
                pair = f"{shown(first)} and {shown(other)}"
                what = f"Dimension {at} in both shapes must be equal, but are {a} and {b}. Shapes are {pair}."
                return Said(what, f"{shapes} and with computed input tensors: input[{number}] = <{int(axis)}>")
    return None


def _convolved(given: Given, attributes: Mapping[str, Any], _shapes: str) -> Said | None:
    image, kernel = given.shapes[0] or (), given.shapes[1] or ()
    if len(image) != len(kernel):
        return None
    depth = image[1 if attributes.get("data_format", b"NHWC") == b"NCHW" else -1]
    if depth is None or kernel[-2] is None or not kernel[-2] or not depth % kernel[-2]:
        return None
    what = f"Depth of input ({depth}) is not a multiple of input depth of filter ({kernel[-2]})"
    return Said(what, ", ".join(shown(one or ()) for one in given.shapes))


_SPECIAL = {"Reshape": _reshaped, "ConcatV2": _joined, "Conv2D": _convolved}
"""What else is said of sizes, by op (TensorFlow, common_shape_fns.cc, array_ops.cc)."""


def _count(dims: Dims) -> int:
    return math.prod(one or 0 for one in dims)


def shown(dims: Dims | None) -> str:
    """Sizes as messages have them."""
    if dims is None:
        return "?"
    return "[" + ",".join("?" if one is None else str(one) for one in dims) + "]"


def unequal(
    op: str, shapes: Sequence[Dims | None], *, transposed: tuple[bool, bool] = (False, False)
) -> tuple[int, int] | None:
    """The two sizes of two inputs that must be equal and are not; None where that is not what is wrong.

    Args:
        op: the name of the op.
        shapes: of its inputs, None where the rank is not known.
        transposed: whether MatMul takes the left and the right matrix transposed.
    """
    known = [one for one in shapes if one is not None]
    if len(shapes) != 2 or len(known) != 2:
        return None
    left, right = known
    if op == "MatMul":
        pairs = (
            [(left[0 if transposed[0] else 1], right[1 if transposed[1] else 0])]
            if len(left) == len(right) == 2
            else []
        )
    else:
        pairs = [
            (a, b) for a, b in list(zip_longest(reversed(left), reversed(right), fillvalue=1))[::-1] if 1 not in (a, b)
        ]
    return next(((a, b) for a, b in pairs if a is not None and b is not None and a != b), None)


def at_run(op: str, shapes: Sequence[Dims]) -> str:
    """What a kernel says of two inputs of these sizes."""
    left, right = (shown(one) for one in shapes[:2])
    if "MatMul" in op:
        return f"Matrix size-incompatible: In[0]: {left}, In[1]: {right}"
    return f"Incompatible shapes: {left} vs. {right}"


def reshaped_at_run(shape: Dims, sizes: Sequence[int]) -> str:
    """What a kernel says of an array of a shape that does not fill other sizes, of which one may be -1."""
    rest = _count([one for one in sizes if one != -1])
    if -1 in sizes:
        return (
            f"Input to reshape is a tensor with {_count(shape)} values, but the requested shape requires a multiple of "
            f"{rest}"
        )
    return f"Input to reshape is a tensor with {_count(shape)} values, but the requested shape has {rest}"
