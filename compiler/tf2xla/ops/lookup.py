"""Tables of keys, as far as they are constants: what a graph fills them with is at their nodes (`graph/lookup.py`).

A key is looked for in the sorted keys by halving; a program has no tables that change, so who fills one does nothing
there.
"""

from __future__ import annotations

import numpy as np

from compiler.diagnostics import InputError
from compiler.expansion.expression import Expression
from compiler.graph import PartialShape, Tensor
from compiler.graph.lookup import TABLE_KEYS, TABLE_VALUES, sorted_entries
from compiler.ir.types import S32, S64
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered
from compiler.tf2xla.record import Trait, record, table, with_shapes
from compiler.tf2xla.values import Table

_ELSEWHERE = "look up on the host, and feed what it gives"


def _table(operation: Operation) -> Table:
    types = [operation.attribute(name) for name in ("key_dtype", "value_dtype")]
    for one in types:
        if one.element_type is None:
            raise operation.unsupported(
                f"a table from {types[0]} to {types[1]}: HLO has no type for {one}: {_ELSEWHERE}"
            )
    keys, values = (operation.node.attributes.get(name) for name in (TABLE_KEYS, TABLE_VALUES))
    if not isinstance(keys, Tensor) or not isinstance(values, Tensor):
        reason = f"nothing in the graph fills it with constants, or twice with different ones: {_ELSEWHERE}"
        raise operation.unsupported(reason)
    operation.require([keys.type, values.type] == types, lambda: f"it is filled from {keys.type} to {values.type}")
    try:
        found, of_each = sorted_entries(keys.array(), values.array())
    except InputError as error:
        raise operation.invalid(str(error)) from error
    return Table(operation.node.name, operation.type("key_dtype"), keys=found, values=of_each)


def _filled(operation: Operation) -> None:
    operation.table("table_handle")


def _size(operation: Operation) -> Expression:
    return operation.constant(np.int64(operation.table("table_handle").keys.size), S64)


def _found(operation: Operation) -> Expression:
    held, wanted, default = operation.table("table_handle"), operation["keys"], operation["default_value"]
    kind = operation.type("Tout")
    fits = held.keys.dtype == wanted.type.dtype and held.values.dtype == kind.dtype
    operation.require(fits, lambda: f"its table is from {held.keys.dtype} to {held.values.dtype}")
    operation.require(not default.dims, "its default must be a scalar")
    count = held.keys.size
    keys = operation.constant(held.keys, wanted.type)
    below = operation.full(0, S32, wanted.dims)  # how many keys are not above what is looked for
    for power in reversed(range(count.bit_length())):
        further = below + (1 << power)
        is_below = gathered(operation, keys, further - 1, 0, 0).compare("LE", wanted) & further.compare("LE", count)
        below = is_below.where(further, below)
    at = (below - 1).apply("maximum", 0)
    is_there = gathered(operation, keys, at, 0, 0).compare("EQ", wanted)
    return is_there.where(
        gathered(operation, operation.constant(held.values, kind), at, 0, 0), default.spread(wanted.dims, ())
    )


_TYPES = "key_dtype: type; value_dtype: type"
_NAMES = "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false"
RECORDS = table(
    with_shapes(
        record("HashTableV2", f"-> table_handle: resource; {_NAMES}; {_TYPES}", _table, "A table.", (), Trait.STATEFUL),
        lambda _node: [PartialShape(())],
    ),
    with_shapes(
        record(
            "LookupTableFindV2",
            "table_handle: resource, keys: Tin, default_value: Tout -> values: Tout; Tin: type; Tout: type",
            _found,
            "What a table has for keys, and something else for those that it has not.",
            traits=Trait.STATEFUL,
        ),
        lambda node: [node["keys"].shape],
    ),
    with_shapes(
        record("LookupTableSizeV2", "table_handle: resource -> size: int64", _size, "Its keys.", (), Trait.STATEFUL),
        lambda _node: [PartialShape(())],
    ),
    *(
        record(
            name,
            f"table_handle: resource, keys: {key}, values: {value} -> ; {key}: type; {value}: type",
            _filled,
            "Fills a table.",
            traits=Trait.STATEFUL,
        )
        for name, key, value in (("LookupTableImportV2", "Tin", "Tout"), ("InitializeTableV2", "Tkey", "Tval"))
    ),
)
