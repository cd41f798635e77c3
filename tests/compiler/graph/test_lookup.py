"""A table says what it is filled with where that is constant, wherever it is filled."""

import numpy as np
import pytest
from graph_nodes import const, function, node, placeholder

from compiler.diagnostics import InputError
from compiler.graph import BY_NAME, FunctionReference, Graph
from compiler.graph.lookup import TABLE_KEYS, TABLE_VALUES, sorted_entries, with_constant_tables

KEYS, VALUES = [7, 3], [70, 30]
TABLE = node("table", "HashTableV2", key_dtype=BY_NAME["int64"], value_dtype=BY_NAME["int64"])
GIVEN = [TABLE, const("keys", KEYS, np.int64), const("values", VALUES, np.int64), placeholder("x", BY_NAME["int64"])]
PORTS = {"t": BY_NAME["resource"], "k": BY_NAME["int64"], "v": BY_NAME["int64"]}
FILL = function("fill", PORTS, {}, [node("import", "LookupTableImportV2", "t", "same:output:0", "v")], {})
FILL.nodes.append(node("same", "Identity", "k"))
OUTER = function("outer", PORTS, {}, [node("inner", "fill", "t", "k", "v")], {})


def fills(*nodes):
    return with_constant_tables(Graph([*GIVEN, *nodes], [FILL, OUTER])).node("table").attributes


def imported(name="i", table="table", keys="keys", values="values"):
    return node(name, "LookupTableImportV2", table, keys, values)


FILLED = {
    "in the graph": [imported()],
    "as TensorFlow 1 does": [node("i", "InitializeTableV2", "table", "keys", "values")],
    "in a function that is named": [node("i", "fill", "table", "keys", "values")],
    "in a function that is called": [
        node("i", "StatefulPartitionedCall", "table", "keys", "values", f=FunctionReference("outer"))
    ],
    "through others": [node("t", "Identity", "table"), node("u", "Identity", "t:0"), imported(table="u")],
    "twice with the same": [imported(), imported("j")],
}
NOT_FILLED = {
    "by nothing": [],
    "with what is fed": [imported(keys="x")],
    "with different constants": [imported(), imported("j", keys="values")],
    "with a constant, and with what is fed": [imported(), imported("j", keys="x")],
    "through a circle": [node("u", "Identity", "u"), imported(table="u")],
}


@pytest.mark.parametrize("how", FILLED)
def test_a_table_says_what_it_is_filled_with(how):
    attributes = fills(*FILLED[how])
    assert [attributes[name].array().tolist() for name in (TABLE_KEYS, TABLE_VALUES)] == [KEYS, VALUES]


@pytest.mark.parametrize("how", NOT_FILLED)
def test_what_is_no_constant_stays_as_it_is(how):
    assert fills(*NOT_FILLED[how]) == TABLE.attributes


def test_a_graph_without_tables_is_the_same():
    graph = Graph(GIVEN[1:])
    assert with_constant_tables(graph) is graph


def test_a_function_that_calls_itself_ends():
    again = function("again", PORTS, {}, [node("more", "again", "t", "k", "v"), imported("i", "t", "k", "v")], {})
    graph = with_constant_tables(Graph([*GIVEN, node("call", "again", "table", "keys", "values")], [again]))
    assert graph.node("table").attributes[TABLE_KEYS].array().tolist() == KEYS


def test_each_key_is_there_once_in_order():
    keys, values = sorted_entries(np.array([5, -1, 5]), np.array([2, 4, 2]))
    assert (keys.tolist(), values.tolist()) == ([-1, 5], [4, 2])


@pytest.mark.parametrize(
    ("keys", "values", "said"),
    [
        ([1, 2, 1], [3, 4, 5], "its key 1 has two values, 3 and 5"),
        ([1, 2], [3], "do not go together"),
        ([], [], "must be filled with something"),
    ],
)
def test_what_no_table_holds_is_refused(keys, values, said):
    with pytest.raises(InputError, match=said):
        sorted_entries(np.array(keys), np.array(values))
