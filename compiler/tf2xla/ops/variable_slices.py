"""Slices of variables, by vectors of indices or as Python's indexing takes them, combined with others or replaced."""

from __future__ import annotations

from compiler.expansion.expression import Expression
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.scatters import combined
from compiler.tf2xla.record import Lower, Record, Trait, record, table
from compiler.tf2xla.slices import strided_slice_changed
from compiler.tf2xla.values import Handle

_SCATTERS = {
    "Update": (None, "Slices replaced."),
    "Add": ("add", "Slices added to."),
    "Sub": ("subtract", "Slices subtracted from."),
    "Max": ("maximum", "The greater of slices."),
    "Min": ("minimum", "The less of slices."),
}


def _scatter(opcode: str | None) -> Lower:
    def lower(operation: Operation) -> Handle | None:
        held = operation.read("ref")
        operation.write("ref", combined(operation, held, operation["indices"], operation["updates"], opcode))
        return operation.variable("ref") if operation.signature.outputs else None

    return lower


def _scatters(name: str) -> list[Record]:
    """On resources, and on references."""
    opcode, doc = _SCATTERS[name]
    takes = "indices: Tindices, updates: T"
    policy = "bad_indices_policy: string = ''"
    types, locks = ("any", "true") if opcode is None else ("numbers", "false")
    return [
        record(
            f"ResourceScatterNd{name}",
            f"ref: resource, {takes} -> ; T: {{any}}; Tindices: {{index}}; use_locking: bool = true; {policy}",
            _scatter(opcode),
            doc,
            traits=Trait.STATEFUL,
        ),
        record(
            f"ScatterNd{name}",
            f"ref: Ref(T), {takes} -> output_ref: Ref(T); T: {{{types}}}; Tindices: {{index}}; "
            f"use_locking: bool = {locks}; {policy}",
            _scatter(opcode),
            doc,
        ),
    ]


def _assign(operation: Operation) -> Handle | None:
    operation.write("ref", strided_slice_changed(operation, operation.read("ref"), operation["value"]))
    return operation.variable("ref") if operation.signature.outputs else None


def _changed(operation: Operation) -> Expression:
    return strided_slice_changed(operation, operation["input"], operation["value"])


_MASKS = "; ".join(f"{name}_mask: int = 0" for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis"))
_AT = "begin: Index, end: Index, strides: Index, value: T"
_KINDS = f"T: {{any}}; Index: {{index}}; {_MASKS}"
_KNOWN = ("begin", "end", "strides")
RECORDS = table(
    *(one for name in _SCATTERS for one in _scatters(name)),
    record(
        "ResourceStridedSliceAssign",
        f"ref: resource, {_AT} -> ; {_KINDS}",
        _assign,
        "A part replaced.",
        _KNOWN,
        Trait.STATEFUL,
    ),
    record("StridedSliceAssign", f"ref: Ref(T), {_AT} -> output_ref: Ref(T); {_KINDS}", _assign, "The same.", _KNOWN),
    record(
        "TensorStridedSliceUpdate",
        f"input: T, {_AT} -> output: T; {_KINDS}",
        _changed,
        "An array with a part replaced.",
        _KNOWN,
    ),
)
