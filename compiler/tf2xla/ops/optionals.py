"""Values that may be there: what a branch keeps for its gradient, where another branch has nothing to keep.

Gradients of `tf.cond` are branches by the same condition, each of which takes only what its own side has kept; so what
is absent is zeros like the other side's, and nobody looks at them.
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
    fits = len(kinds) == len(given.values)
    operation.require(fits, lambda: f"its optional has {len(given.values)} values, not {len(kinds)}")
    return [[_as(kind, one) for kind, one in zip(kinds, given.values, strict=True)]]


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
