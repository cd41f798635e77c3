"""Variables: as resources, and as references, which TensorFlow 1 has.

A reference stands for its variable's value where a value is wanted, at the time when the node that wants it runs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.expansion.expression import Expression
from compiler.ir.shape import ArrayShape
from compiler.ir.types import PRED
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered, gathered_deep
from compiler.tf2xla.record import Lower, Record, Trait, record, table, with_shapes
from compiler.tf2xla.scattering import combine_rows
from compiler.tf2xla.values import Handle
from compiler.tf2xla.variables import variable_name

Update = Callable[[Expression, Expression], Expression]


def _variable(operation: Operation, *, is_reference: bool) -> Handle:
    name = variable_name(operation.node)
    assert name is not None
    element_type, static = operation.type("dtype"), operation.attribute("shape").static
    if static is not None:
        operation.library.variables.declare(name, ArrayShape(element_type, static))
    return Handle(name, element_type, is_reference)


def _resource(operation: Operation) -> Handle:
    return _variable(operation, is_reference=False)


def _reference(operation: Operation) -> Handle:
    return _variable(operation, is_reference=True)


def _read(operation: Operation) -> Expression:
    value = operation.read("resource")
    wanted = operation.type("dtype")
    operation.require(value.type is wanted, f"the variable holds {value.type}, not {wanted}")
    return value


def _assign(operation: Operation) -> None:
    operation.write("resource", operation["value"])


def _changed(update: Update) -> Lower:
    """The variable's value changed by another of its sizes."""

    def lower(operation: Operation) -> None:
        before, by = operation.read("resource"), operation["value"]
        _require_sizes(operation, before, by)
        operation.write("resource", update(before, by))

    return lower


def _require_sizes(operation: Operation, variable: Expression, value: Expression) -> None:
    same = variable.dims == value.dims
    operation.require(same, lambda: f"the variable has the sizes {list(variable.dims)}, the value {list(value.dims)}")


def _is_initialised(port: str) -> Lower:
    def lower(operation: Operation) -> Expression:
        name = operation.variable(port).name
        return operation.constant(np.array(operation.library.variables.shape(name) is not None), PRED)

    return lower


def _sizes(operation: Operation) -> Expression:
    out = operation.type("out_type")
    return operation.constant(np.array(operation.read("input").dims, np.int64).astype(out.dtype), out)


def _assign_reference(operation: Operation) -> Handle:
    operation.write("ref", operation["value"])
    return operation.variable("ref")


def _changed_reference(update: Update) -> Lower:
    def lower(operation: Operation) -> Handle:
        before, by = operation.read("ref"), operation["value"]
        _require_sizes(operation, before, by)
        operation.write("ref", update(before, by))
        return operation.variable("ref")

    return lower


def _counted(operation: Operation) -> Expression:
    """What it held before; a run op by op ends where the limit is reached, a compiled one counts no further."""
    before = operation.read("ref")
    is_below = before.compare("LT", operation.attribute("limit"))
    operation.write("ref", is_below.where(before + 1, before))
    return before


def _gather(operation: Operation) -> Expression:
    batch = operation.attribute("batch_dims")
    return gathered(operation, operation.read("resource"), operation["indices"], batch, batch)


def _gather_deep(operation: Operation) -> Expression:
    return gathered_deep(operation, operation.read("resource"), operation["indices"])


def _scatter(opcode: str | None, port: str) -> Lower:
    """Rows of the variable combined with others, by their numbers; those out of range change nothing."""

    def lower(operation: Operation) -> Handle | None:
        rows = combine_rows(operation, operation.read(port), operation["indices"], operation["updates"], opcode)
        operation.write(port, rows)
        return operation.variable(port) if port == "ref" else None

    return lower


def _stateful(name: str, text: str, lower: Lower, doc: str) -> Record:
    return record(name, text, lower, doc, traits=Trait.STATEFUL)


_NAMES = "container: string = ''; shared_name: string = ''"
_UPDATES: dict[str, Update] = {"AssignAdd": lambda x, y: x + y, "AssignSub": lambda x, y: x - y}
_SCATTERS = {
    "Add": ("add", "numbers", "Rows added to."),
    "Sub": ("subtract", "numbers", "Rows subtracted from."),
    "Mul": ("multiply", "numbers", "Rows multiplied."),
    "Div": ("divide", "numbers", "Rows divided."),
    "Min": ("minimum", "numbers", "The less of rows."),
    "Max": ("maximum", "numbers", "The greater of rows."),
    "Update": (None, "any", "Rows replaced."),
}
_OLD_TYPES = {"Min": "floats int32 int64", "Max": "floats int32 int64"}


def _scatters() -> list[Record]:
    found = []
    for name, (opcode, types, doc) in _SCATTERS.items():
        found.append(
            _stateful(
                f"ResourceScatter{name}",
                f"resource: resource, indices: Tindices, updates: dtype -> ; dtype: {{{types}}}; Tindices: {{index}}",
                _scatter(opcode, "resource"),
                doc,
            )
        )
        locks = "true" if name == "Update" else "false"
        found.append(
            record(
                f"Scatter{name}",
                "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T); "
                f"T: {{{_OLD_TYPES.get(name, types)}}}; Tindices: {{index}}; use_locking: bool = {locks}",
                _scatter(opcode, "ref"),
                doc,
            )
        )
    return found


def _old_variable(name: str, more: str, doc: str) -> Record:
    text = f"-> ref: Ref(dtype); shape: shape; dtype: {{any}}; {more}"
    row = _stateful(name, text, _reference, doc)
    return with_shapes(row, lambda node: [node.attribute("shape")])


RECORDS = table(
    _stateful(
        "VarHandleOp",
        f"-> resource: resource; {_NAMES}; debug_name: string = ''; dtype: {{any}}; shape: shape; "
        "allowed_devices: list(string) = []",
        _resource,
        "A variable.",
    ),
    _stateful("ReadVariableOp", "resource: resource -> value: dtype; dtype: {any}", _read, "What it holds."),
    _stateful(
        "AssignVariableOp",
        "resource: resource, value: dtype -> ; dtype: {any}; validate_shape: bool = false",
        _assign,
        "Let it hold a value.",
    ),
    *(
        _stateful(
            f"{name}VariableOp",
            "resource: resource, value: dtype -> ; dtype: {any}",
            _changed(update),
            "Changed by a value.",
        )
        for name, update in _UPDATES.items()
    ),
    _stateful(
        "VarIsInitializedOp",
        "resource: resource -> is_initialized: bool",
        _is_initialised("resource"),
        "Whether it has a value.",
    ),
    _stateful("VariableShape", "input: resource -> output: out_type; out_type: {index} = int32", _sizes, "Its sizes."),
    _old_variable("VariableV2", _NAMES, "A variable, as a reference."),
    _old_variable("Variable", _NAMES, "The same, under its older name."),
    with_shapes(
        record(
            "Assign",
            "ref: Ref(T), value: T -> output_ref: Ref(T); T: {any}; validate_shape: bool = true; "
            "use_locking: bool = true",
            _assign_reference,
            "Let it hold a value.",
        ),
        lambda node: [node["value"].shape],
    ),
    *(
        record(
            name,
            "ref: Ref(T), value: T -> output_ref: Ref(T); T: {numbers}; use_locking: bool = false",
            _changed_reference(update),
            "Changed by a value.",
        )
        for name, update in _UPDATES.items()
    ),
    record(
        "RefIdentity",
        "input: Ref(T) -> output: Ref(T); T: {any}",
        lambda operation: operation.variable("input"),
        "The same reference.",
    ),
    record("CountUpTo", "ref: Ref(T) -> output: T; limit: int; T: {index}", _counted, "A count, before it goes on."),
    record(
        "IsVariableInitialized",
        "ref: Ref(dtype) -> is_initialized: bool; dtype: {any}",
        _is_initialised("ref"),
        "Whether it has a value.",
    ),
    _stateful(
        "ResourceGather",
        "resource: resource, indices: Tindices -> output: dtype; batch_dims: int = 0; validate_indices: bool = true; "
        "dtype: {any}; Tindices: {index}",
        _gather,
        "Rows by their numbers.",
    ),
    _stateful(
        "ResourceGatherNd",
        "resource: resource, indices: Tindices -> output: dtype; dtype: {any}; Tindices: {index}",
        _gather_deep,
        "Slices by vectors of indices.",
    ),
    *_scatters(),
)
