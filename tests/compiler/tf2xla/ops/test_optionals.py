"""What one side of a branch keeps reaches its gradient; what the other has not, nobody looks at."""

import numpy as np
import pytest
from graph_nodes import BOOL, FLOAT, function, node, placeholder

import compiler
from compiler.graph import BY_NAME, AttributeList, FunctionReference, Graph, PartialShape
from compiler.tf2xla import lower

VARIANT = BY_NAME["variant"]
X = np.array([1, -2], np.float32)
KEPT = {"Toutput_types": AttributeList("type", (FLOAT,))}
ASKED = {"output_types": KEPT["Toutput_types"], "output_shapes": AttributeList("shape", (PartialShape((2,)),))}


def branch(name, other, takes, gives):
    """`name` where p holds, else `other`: functions of these inputs."""
    stated = {"Tcond": BOOL, "Tin": AttributeList("type", takes), "Tout": AttributeList("type", gives)}
    return {**stated, "then_branch": FunctionReference(name), "else_branch": FunctionReference(other)}


KEEPS = function(
    "keeps",
    {"x": FLOAT},
    {"kept": VARIANT},
    [node("twice", "AddV2", "x", "x", T=FLOAT), node("k", "OptionalFromValue", "twice:z:0", **KEPT)],
    {"kept": "k:optional:0"},
)
HAS_NONE = function("has_none", {"x": FLOAT}, {"kept": VARIANT}, [node("k", "OptionalNone")], {"kept": "k:optional:0"})
LOOKS = function(
    "looks",
    {"kept": VARIANT, "x": FLOAT},
    {"y": FLOAT},
    [node("got", "OptionalGetValue", "kept", **ASKED)],
    {"y": "got:components:0"},
)
PASSES = function("passes", {"kept": VARIANT, "x": FLOAT}, {"y": FLOAT}, [], {"y": "x"})


def graph(*nodes):
    first = [placeholder("p"), placeholder("x")]
    return Graph([*first, *nodes], [KEEPS, HAS_NONE, LOOKS, PASSES])


@pytest.mark.parametrize("chosen", [True, False])
def test_a_branch_takes_what_its_own_side_has_kept(chosen):
    forth = node("forth", "If", "p", "x", **branch("keeps", "has_none", (FLOAT,), (VARIANT,)))
    back = node("back", "If", "p", "forth", "x", **branch("looks", "passes", (VARIANT, FLOAT), (FLOAT,)))
    lowered = lower(graph(forth, back), {"p": compiler.tf.ArrayShape(BOOL.element_type, ()), "x": X}, ["back"])
    [y] = compiler.interpret(lowered.module, *({"p": np.array(chosen), "x": X}[name] for name in lowered.inputs))
    np.testing.assert_array_equal(y, 2 * X if chosen else X)


TRUTH = AttributeList("type", (BOOL,))
KEEPS_TRUTH = function(
    "keeps_truth",
    {"x": FLOAT},
    {"kept": VARIANT},
    [node("same", "Equal", "x", "x", T=FLOAT), node("k", "OptionalFromValue", "same:z:0", Toutput_types=TRUTH)],
    {"kept": "k:optional:0"},
)
LOOKS_AT_TRUTH = function(
    "looks_at_truth",
    {"kept": VARIANT, "x": FLOAT},
    {"y": FLOAT},
    [
        node("got", "OptionalGetValue", "kept", output_types=TRUTH, output_shapes=ASKED["output_shapes"]),
        node("number", "Cast", "got:components:0", SrcT=BOOL, DstT=FLOAT),
    ],
    {"y": "number:y:0"},
)


@pytest.mark.parametrize("chosen", [True, False])
def test_both_sides_keep_different_values_in_one_optional(chosen):
    forth = node("forth", "If", "p", "x", **branch("keeps", "keeps_truth", (FLOAT,), (VARIANT,)))
    back = node("back", "If", "p", "forth", "x", **branch("looks", "looks_at_truth", (VARIANT, FLOAT), (FLOAT,)))
    whole = graph(forth, back)
    whole = Graph(whole.nodes, [*whole.functions, KEEPS_TRUTH, LOOKS_AT_TRUTH])
    lowered = lower(whole, {"p": compiler.tf.ArrayShape(BOOL.element_type, ()), "x": X}, ["back"])
    [y] = compiler.interpret(lowered.module, *({"p": np.array(chosen), "x": X}[name] for name in lowered.inputs))
    np.testing.assert_array_equal(y, 2 * X if chosen else np.ones(2))


def test_what_is_not_there_has_no_value():
    nodes = node("none", "OptionalNone"), node("y", "OptionalGetValue", "none", **ASKED)
    with pytest.raises(compiler.InputError, match=r"node 'y' .*the optional that it takes has no value"):
        lower(graph(*nodes), {"x": X}, ["y"])


def test_an_optional_is_no_array():
    kept = graph(node("k", "OptionalFromValue", "x", **KEPT))
    with pytest.raises(compiler.InputError, match="it is an optional, not an array"):
        lower(kept, {"x": X}, ["k"])
