"""Kernels of tables of keys, which lie on the host: compiled programs have only those that are constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.tf import TABLE_KEYS, TABLE_VALUES, Node, Tensor
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.kernels import Kernel, Maker, raised, stateless
from xlabench.tensorflow.runtime.resources import Resources, Table


def _table(node: Node, resources: Resources) -> Kernel:
    shared: Any = node.attributes.get("shared_name") or b""
    table = resources.table(shared.decode() or node.name)
    keys, values = (node.attributes.get(name) for name in (TABLE_KEYS, TABLE_VALUES))
    if isinstance(keys, Tensor) and isinstance(values, Tensor):
        _fill(node, table, keys.array(), values.array())
    return lambda _: (table,)


def _filled(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    _fill(node, *inputs)
    return ()


def _fill(node: Node, table: Table, keys: Any, values: Any) -> None:
    entries: dict[Any, Any] = {}
    if not keys.size:
        raise raised(errors.InvalidArgumentError, node, "keys and values cannot be empty tensors.")
    for key, value in zip(keys.reshape(-1).tolist(), values.reshape(-1).tolist(), strict=True):
        if entries.setdefault(key, value) != value:
            said = f"HashTable has different value for same key. Key {key} has {entries[key]} and trying to add value "
            raise raised(errors.FailedPreconditionError, node, f"{said}{value}")
    if table.entries is not None and table.entries != entries:
        said = "Table was already initialized with different data."
        raise raised(errors.FailedPreconditionError, node, said)
    table.entries = entries


def _entries(node: Node, table: Table) -> dict[Any, Any]:
    if table.entries is None:
        raise raised(errors.FailedPreconditionError, node, "Table not initialized.")
    return table.entries


def _found(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    table, keys, default = inputs
    entries, otherwise = _entries(node, table), default.item()
    found = np.empty(keys.size, default.dtype)
    found[:] = [entries.get(key, otherwise) for key in keys.reshape(-1).tolist()]
    return (found.reshape(keys.shape),)


def _size(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    return (np.int64(len(_entries(node, inputs[0]))).reshape(()),)


TABLES: Mapping[str, Maker] = {
    "HashTableV2": _table,
    **{
        name: stateless(function)
        for name, function in {
            "LookupTableFindV2": _found,
            "LookupTableSizeV2": _size,
            "LookupTableImportV2": _filled,
            "InitializeTableV2": _filled,
        }.items()
    },
}
"""Ops by name."""
