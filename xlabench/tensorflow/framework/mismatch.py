"""What TensorFlow says of inputs whose sizes do not go together, when a graph is built and when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from compiler.tf import Port

Dims = Sequence["int | None"]


def is_spread(ports: Sequence[Port]) -> bool:
    """Whether an op takes two tensors of one type, whose sizes must go together."""
    return len(ports) == 2 and all(one.is_one for one in ports) and ports[0].type == ports[1].type


def shown(dims: Dims) -> str:
    """Sizes as messages have them."""
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
    """What a kernel says of inputs of these sizes."""
    left, right = (shown(one) for one in shapes[:2])
    if "MatMul" in op:
        return f"Matrix size-incompatible: In[0]: {left}, In[1]: {right}"
    return f"Incompatible shapes: {left} vs. {right}"
