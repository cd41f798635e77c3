"""A module as an `HloProto`, as XLA dumps it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compiler.diagnostics import UnsupportedError
from compiler.ir.attributes import EntryLayout, RecoveryEntry
from compiler.ir.module import Computation, Module
from compiler.ir.names import Names
from compiler.proto.instruction import Identities, instruction_proto
from compiler.proto.notes import buffer_donors, origin_array, parameter_aliases, stack_frames, strings_proto
from compiler.proto.shape import BY, program_shape
from compiler.proto.wire import Message, encode
from compiler.text.parser import parse


def hlo_proto(module: Module) -> bytes:
    """The bytes of an `HloProto`.

    Raises:
        UnsupportedError: something of the module has no field, or it is too long.
    """
    return encode("HloProto", {"hlo_module": module_proto(module)})


def module_proto(module: Module) -> Message:
    """An `HloModuleProto`."""
    ids = _identified(module)
    entry, fused = module.entry, _fused(module)
    message: dict[str, Any] = {
        "name": module.name,
        "entry_computation_name": entry.name,
        "entry_computation_id": ids.computations[entry],
        "computations": [
            _computation_proto(computation, ids, is_fused=computation in fused) for computation in module.computations
        ],
        "host_program_shape": _shape_of(entry, module.attributes.get("entry_computation_layout")),
        "id": 1,
    }
    for name, value in module.attributes.items():
        message |= _header_fields(module, name, value)
    if module.is_scheduled:
        message["schedule"] = _schedule_proto(module, ids, fused)
    return message


def _identified(module: Module) -> Identities:
    """Numbers from 1, and names: one that another computation has used already gets a number behind it."""
    names = Names()
    instructions = {i: (number, names.take(i.name)) for number, i in enumerate(module.instructions(), 1)}
    return Identities(instructions, {computation: number for number, computation in enumerate(module.computations, 1)})


def _shape_of(computation: Computation, layout: EntryLayout | None = None) -> Message:
    parameters = computation.parameters
    names = [parameter.name for parameter in parameters]
    if layout is not None:
        return program_shape(list(layout.parameters), names, layout.result)
    return program_shape([parameter.shape for parameter in parameters], names, computation.root.shape)


def _fused(module: Module) -> set[Computation]:
    """The computations that fusions call."""
    return {callee for i in module.instructions() if i.opcode == "fusion" for callee in i.called_computations()}


def _computation_proto(computation: Computation, ids: Identities, *, is_fused: bool) -> Message:
    return {
        "name": computation.name,
        "instructions": [instruction_proto(instruction, ids) for instruction in computation.instructions],
        "program_shape": _shape_of(computation),
        "id": ids.computations[computation],
        "root_id": ids.of(computation.root),
        "is_fusion_computation": is_fused,
        "execution_thread": computation.attributes.get("execution_thread", ""),
    }


def _schedule_proto(module: Module, ids: Identities, fused: set[Computation]) -> Message:
    """The order of every computation that runs by itself; those of fusions do not."""
    sequences = [
        {
            "key": ids.computations[c],
            "value": {"instruction_ids": [ids.of(instruction) for instruction in c.instructions]},
        }
        for c in module.computations
        if c not in fused
    ]
    return {"sequences": sequences}


def _recovery_table(value: tuple[RecoveryEntry, ...]) -> Message:
    entries = []
    for entry in value:
        message: dict[str, Any] = {
            "old_original_array": origin_array(entry.replaced),
            "new_original_array": origin_array(entry.replacing),
        }
        if entry.module is not None:
            message["recovery_module"] = module_proto(parse(entry.module))
        entries.append(message)
    return {"entries": entries}


def _device_assignment(module: Module) -> Message:
    """How many replicas and partitions there are: devices by their numbers, replicas side by side."""
    replicas = module.attributes.get("replica_count", 1)
    partitions = module.attributes.get("num_partitions", 1)
    devices = [{"replica_device_ids": [r * partitions + p for r in range(replicas)]} for p in range(partitions)]
    return {"replica_count": replicas, "computation_count": partitions, "computation_devices": devices}


_HEADER: Mapping[str, tuple[str, Callable[[Any], Message]]] = {
    "input_output_alias": ("input_output_alias", parameter_aliases),
    "buffer_donor": ("buffer_donor", buffer_donors),
    "frontend_attributes": ("frontend_attributes", strings_proto),
    "origin_recovery_table": ("original_value_recovery_table", _recovery_table),
    "stack_frames": ("stack_frame_index", stack_frames),
}
_DEFAULTS = ("alias_passthrough_params", "allow_spmd_sharding_propagation_to_parameters",
             "allow_spmd_sharding_propagation_to_output")  # fmt: skip
"""Attributes that say nothing where they are false."""


def _header_fields(module: Module, name: str, value: Any) -> Message:
    """The fields of a module for one attribute of its header."""
    if name in ("is_scheduled", "entry_computation_layout"):
        return {}  # written where they belong
    if name in ("replica_count", "num_partitions"):
        return {"device_assignment": _device_assignment(module)}
    if name in _HEADER:
        field, convert = _HEADER[name]
        return {field: convert(value)}
    if name in _DEFAULTS and not any(value if isinstance(value, tuple) else (value,)):
        return {}
    raise UnsupportedError(f"module {module.name}", BY, f"its attribute {name} has no field")
