"""What replicas of a program do together: all of a group give, and all get.

A program with such ops runs on as many devices as its groups have; each device is one replica.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.expansion.expression import Expression, combiner
from compiler.ir.devices import ReplicaGroups
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Lower, Record, Trait, record, table

_COMBINED = {b"Add": "add", b"Mul": "multiply", b"Min": "minimum", b"Max": "maximum", b"Mean": "add"}


def _groups(operation: Operation, size: int) -> ReplicaGroups:
    """One group of all replicas."""
    operation.require(size > 0, f"a group of {size} has no meaning")
    return _on_replicas(operation, [list(range(size))])


def _on_replicas(operation: Operation, groups: Sequence[Sequence[int]]) -> ReplicaGroups:
    """Groups, and as many replicas of the program as they name."""
    count = sum(map(len, groups))
    every = sorted(one for group in groups for one in group)
    operation.require(every == list(range(count)), lambda: f"its groups {groups} are not all replicas, each once")
    stated = operation.module.attributes.get("replica_count", count)
    operation.require(stated == count, f"it has {count} replicas, and others of the program {stated}")
    operation.module.attributes["replica_count"] = count
    return ReplicaGroups(tuple(tuple(group) for group in groups))


def _size(operation: Operation) -> int:
    if "group_size" in operation.signature.attributes:
        return int(operation.attribute("group_size"))
    return int(operation.value("group_size"))


def _all_reduced(operation: Operation, kind: bytes, groups: ReplicaGroups) -> Expression:
    x = operation["input"]
    opcode = _COMBINED[kind]
    combine = combiner(operation.module, opcode, x.type)
    return _collective(operation, "all-reduce", replica_groups=groups, to_apply=combine)


def _collective(operation: Operation, opcode: str, **attributes: Any) -> Expression:
    return Expression(build(operation.computation, opcode, [operation["input"].instruction], **attributes))


def _reduced(operation: Operation) -> Expression:
    kind, last = operation.attribute("merge_op"), operation.attribute("final_op")
    operation.require(kind in _COMBINED and last in (b"Id", b"Div"), f"{kind!r} and {last!r} have no meaning")
    size = _size(operation)
    result = _all_reduced(operation, kind, _groups(operation, size))
    return result / size if last == b"Div" else result


def _gathered(operation: Operation) -> Expression:
    operation.require(operation["input"].dims, "it joins rows, not scalars")
    size = _size(operation)
    x = operation["input"]
    dims = (x.dims[0] * size, *x.dims[1:])
    groups = _groups(operation, size)
    shape = ArrayShape(x.type, dims)
    return _collective(operation, "all-gather", replica_groups=groups, dimensions=(0,), shape=shape)


def _assigned(operation: Operation) -> Expression:
    groups = np.asarray(operation.value("group_assignment"))
    operation.require(groups.ndim == 2, "its groups must be a matrix, a row for each")
    mode = operation.attribute("mode")
    if mode != b"CrossReplica":
        raise operation.unsupported(f"there are replicas here and no partitions, as mode {mode.decode()} asks for")
    kind = operation.attribute("reduce_op")
    operation.require(kind in _COMBINED, f"{kind!r} has no meaning")
    result = _all_reduced(operation, kind, _on_replicas(operation, groups.tolist()))
    return result / groups.shape[1] if kind == b"Mean" else result


def _scattered(operation: Operation) -> Expression:
    """Of the sum each replica of a group gets its own slice."""
    groups = np.asarray(operation.value("group_assignment"))
    operation.require(groups.ndim == 2, "its groups must be a matrix, a row for each")
    kind = operation.attribute("reduce_op")
    operation.require(kind in _COMBINED, f"{kind!r} has no meaning")
    x, count = operation["input"], groups.shape[1]
    axis = operation.axis(int(operation.value("scatter_dimension")), len(x.dims))
    fits = count > 0 and x.dims[axis] % count == 0
    operation.require(fits, lambda: f"{x.dims[axis]} elements cannot be dealt out to {count} replicas")
    dims = (*x.dims[:axis], x.dims[axis] // count, *x.dims[axis + 1 :])
    result = _collective(
        operation,
        "reduce-scatter",
        replica_groups=_on_replicas(operation, groups.tolist()),
        dimensions=(axis,),
        to_apply=combiner(operation.module, _COMBINED[kind], x.type),
        shape=ArrayShape(x.type, dims),
    )
    return result / count if kind == b"Mean" else result


def _group(operation: Operation) -> list[Expression]:
    """How many are in the group of a device, and the group's key: groups are numbered from a first key."""
    groups = np.asarray(operation.value("group_assignment"))
    device, first = (int(operation.value(name)) for name in ("device_index", "base_key"))
    operation.require(groups.ndim == 2, "its groups must be a matrix, a row for each")
    for number, group in enumerate(groups.tolist()):
        key = (first + number) % (1 << S32.bits)
        operation.require(key, "the key 0 of a group is reserved")
        inside = all(0 <= one < groups.size for one in group[: group.index(device) if device in group else None])
        operation.require(inside, lambda: f"its groups {groups.tolist()} name a device that is not there")
        if device in group:
            signed = np.uint32(key).astype(np.int32)
            return [operation.number(groups.shape[1], S32), operation.number(int(signed), S32)]
    raise operation.invalid(f"device {device} is in none of its groups {groups.tolist()}")


_TYPES = "float32 float64 float16 int32 int64"
_HINT = "communication_hint: string = 'auto'; timeout_seconds: float = 0"
_KEYS = "group_size: int; group_key: int; instance_key: int"
_KEYED = "group_size: int32, group_key: int32, instance_key: int32, ordering_token: Nordering_token*resource"
_ORDER = "is_stateless: bool = false; Nordering_token: int = 0"
_MERGE = "merge_op: string; final_op: string"


def _stateful(name: str, text: str, lower: Lower, doc: str, constants: tuple[str, ...] = ()) -> Record:
    return record(name, text, lower, doc, constants, Trait.STATEFUL | Trait.COLLECTIVE)


RECORDS = table(
    _stateful(
        "CollectiveReduce",
        f"input: T -> data: T; T: {{{_TYPES} bfloat16}}; {_KEYS}; {_MERGE}; subdiv_offsets: list(int); "
        f"wait_for: list(int) = []; {_HINT}",
        _reduced,
        "The sum, or what else, over all replicas.",
    ),
    _stateful(
        "CollectiveReduceV2",
        f"input: T, {_KEYED} -> data: T; T: {{{_TYPES} bfloat16}}; {_MERGE}; {_HINT}; {_ORDER}; "
        "max_subdivs_per_device: int = -1",
        _reduced,
        "The same, its group an input.",
        ("group_size",),
    ),
    _stateful(
        "CollectiveGather",
        f"input: T -> data: T; T: {{{_TYPES}}}; {_KEYS}; shape: shape; {_HINT}",
        _gathered,
        "The rows of all replicas.",
    ),
    _stateful(
        "CollectiveGatherV2",
        f"input: T, {_KEYED} -> data: T; T: {{{_TYPES}}}; {_HINT}; {_ORDER}",
        _gathered,
        "The same, its group an input.",
        ("group_size",),
    ),
    record(
        "XlaAllReduce",
        "input: T, group_assignment: int32 -> output: T; T: {float32 float16 bfloat16 int32 uint32}; "
        "reduce_op: string; mode: string",
        _assigned,
        "The sum, or what else, over groups of replicas.",
        ("group_assignment",),
        Trait.COLLECTIVE,
    ),
    record(
        "XlaReduceScatter",
        "input: T, group_assignment: int32, scatter_dimension: int32 -> output: T; "
        "T: {float16 bfloat16 float32 int32 uint32}; reduce_op: string",
        _scattered,
        "Slices of the sum, or what else, over groups of replicas.",
        ("group_assignment", "scatter_dimension"),
        Trait.COLLECTIVE,
    ),
    record(
        "CollectiveAssignGroupV2",
        "group_assignment: int32, device_index: int32, base_key: int32 -> group_size: int32, group_key: int32",
        _group,
        "The size and the key of the group that a device is in.",
        ("group_assignment", "device_index", "base_key"),
        Trait.STATEFUL,
    ),
)
