"""Tables that are constants in programs: in branches, too, and refused by name where they are none."""

import numpy as np
import pytest
from graph_nodes import BOOL, STRING, TRUE, const, function, node, placeholder, run, types

import compiler
from compiler.graph import BY_NAME, AttributeList, FunctionReference, Graph
from compiler.tf2xla import lower

LONG = BY_NAME["int64"]
KINDS = {"Tin": LONG, "Tout": LONG}
X = np.array([[2, 9], [-4, 5]])


def table(name, key=LONG, value=LONG):
    return node(name, "HashTableV2", key_dtype=key, value_dtype=value)


def found(name, *inputs, **kinds):
    return node(name, "LookupTableFindV2", *inputs, **{**KINDS, **kinds})


FIND = function(
    "find",
    {"t": BY_NAME["resource"], "x": LONG},
    {"y": LONG},
    [found("f", "t", "x", "n:output:0")],
    {"y": "f:values:0"},
)
FIND.nodes.append(const("n", -1, np.int64))
NODES = [
    *(table("t"), table("unfilled"), table("twice"), table("words", STRING)),
    *(const("keys", [9, 2, 5], np.int64), const("values", [90, 20, 50], np.int64), const("none", -1, np.int64)),
    *(const("same", [1, 1, 1], np.int64), const("small", -1), placeholder("x", LONG), placeholder("p", BOOL)),
    node("fill", "LookupTableImportV2", "t", "keys", "values", **KINDS),
    node("again", "LookupTableImportV2", "twice", "same", "values", **KINDS),
    found("y", "t", "x", "none"),
    node("size", "LookupTableSizeV2", "t"),
    node(
        "branch",
        *("StatelessIf", "p", "t", "x"),
        then_branch=FunctionReference("find"),
        else_branch=FunctionReference("find"),
        Tcond=BOOL,
        Tin=types(BY_NAME["resource"], LONG),
        Tout=types(LONG),
        output_shapes=AttributeList("shape", ()),
    ),
    found("of_nothing", "unfilled", "x", "none"),
    found("of_two", "twice", "x", "none"),
    found("of_words", "words", "x", "none", Tin=STRING),
    found("narrow", "t", "x", "small", Tout=BY_NAME["int32"]),
    found("wide", "t", "x", "keys"),
    node("read", "ReadVariableOp", "t", dtype=LONG),
]


def lowered(fetch):
    return lower(Graph(NODES, [FIND]), {"x": X, "p": TRUE}, [fetch])


@pytest.mark.parametrize("fetch", ["y", "branch"])
def test_a_table_is_a_constant_of_the_program(fetch):
    [result] = run(lowered(fetch))
    np.testing.assert_array_equal(result, [[20, 90], [-1, 50]])


def test_a_table_has_a_size():
    assert run(lowered("size")) == [3]


@pytest.mark.parametrize(
    ("fetch", "said"),
    [
        ("of_nothing", r"HashTableV2 \(node 'unfilled'\) .* fills it with constants.*look up on the host, and feed"),
        ("of_two", "its key 1 has two values, 90 and 20"),
        ("of_words", "a table from string to int64: HLO has no type for string: look up on the host"),
        ("narrow", "its table is from int64 to int64"),
        ("wide", "its default must be a scalar"),
        ("read", "its input 'resource' must be a variable"),
    ],
)
def test_what_is_no_constant_table_is_refused(fetch, said):
    with pytest.raises(compiler.CompilerError, match=said):
        lowered(fetch)
