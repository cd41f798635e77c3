"""Values that may be there: what a branch keeps for its gradient, where another branch has nothing to keep.

Gradients of `tf.cond` are branches by the same condition, each of which takes only what its own side has kept; so what
is absent is zeros like the other side's, and nobody looks at them.  TensorFlow keeps different values of both sides in
one optional: then it is both, and who takes its values says by their types and sizes which are meant.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.expansion.expression import Expression
from compiler.graph import BY_NAME, DataType, PartialShape
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table, with_shapes
from compiler.tf2xla.terms import Built
from compiler.tf2xla.values import Absent, Optional, Value


def _held(operation: Operation) -> Optional:
    return Optional(tuple(operation.items("components")))


def _content(operation: Operation) -> list[Sequence[Value]]:
    [given] = operation.items("optional")
    if not isinstance(given, Optional):
        raise operation.invalid("the optional that it takes has no value")
    kinds = operation.attribute("output_types")
    given = next((one for one in given.kinds if _is_asked_for(operation, one)), given)
    fits = len(kinds) == len(given.values)
    operation.require(fits, lambda: f"its optional has {len(given.values)} values, not {len(kinds)}")
    return [[_as(kind, one) for kind, one in zip(kinds, given.values, strict=True)]]


def _is_asked_for(operation: Operation, given: Optional) -> bool:
    """Whether values are of the types and sizes that somebody expects, who knows which branch has run."""
    kinds, shapes = operation.attribute("output_types"), operation.attribute("output_shapes")
    if not len(kinds) == len(shapes) == len(given.values):
        return False
    return all(
        kind == BY_NAME["variant"]
        or (
            isinstance(one := _as(kind, value), Expression)
            and one.type is kind.element_type
            and _allows(shape, one.dims)
        )
        for kind, shape, value in zip(kinds, shapes, given.values, strict=True)
    )


def _allows(shape: PartialShape, dims: tuple[int, ...]) -> bool:
    stated = shape.dims
    return stated is None or (
        len(stated) == len(dims) and all(a in (None, b) for a, b in zip(stated, dims, strict=True))
    )


def _as(kind: DataType, value: Value) -> Value:
    """A value that is kept, where the other side keeps an optional in its stead, or the other way round."""
    if kind == BY_NAME["variant"]:
        return Optional((value,)) if isinstance(value, Expression) else value
    while isinstance(value, Optional) and len(value.values) == 1:
        [value] = value.values
    return value


def _scalar(_node: Built) -> list[PartialShape]:
    return [PartialShape(())]


RECORDS = table(
    with_shapes(
        record(
            "OptionalFromValue",
            "components: Toutput_types[] -> optional: variant; Toutput_types: list(type)",
            _held,
            "Values that are there.",
        ),
        _scalar,
    ),
    with_shapes(record("OptionalNone", "-> optional: variant", lambda _: Absent(), "No values."), _scalar),
    with_shapes(
        record(
            "OptionalGetValue",
            "optional: variant -> components: output_types[]; output_types: list(type); output_shapes: list(shape)",
            _content,
            "The values, which must be there.",
        ),
        lambda node: list(node.attribute("output_shapes")),
    ),
)
