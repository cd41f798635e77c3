"""A frame is a While of its variables and what else enters it; one of another form is refused with what is wrong."""

import pytest
from cluster_graphs import BOOL, FLOAT, graph_of

from compiler.diagnostics import UnsupportedError
from compiler.graph import AttributeList
from compiler.graph.frames import folded
from compiler.tf2xla.functionalize_while import loop_of

LOOP = """
    x = Placeholder()
    k = Placeholder()
    w = NoOp()
    ek = Enter(k, ^w) {frame_name=f, is_constant=true, parallel_iterations=3}
    e = Enter(x) {frame_name=f}
    m = Merge(e, n)
    el = Enter(x) {frame_name=f}
    l = Merge(el, nl)
    t = Less(m, ek)
    c = LoopCond(t)
    s = Switch(m, c)
    sl = Switch(l, c)
    i = Identity(s:1)
    o = Const(^i)
    a = AddV2(i, o)
    n = NextIteration(a, ^push)
    push = Print(l, l, ^i)
    nl = NextIteration(sl:1)
    yl = Exit(sl)
    y = Exit(s)
    again = Exit(s)
"""


def loop(text):
    _, frames = folded(graph_of(text).nodes)
    frame = frames["f"]
    return loop_of(frame, frame.nodes)


def test_what_enters_is_the_state_and_variables_leave_by_their_numbers():
    found = loop(LOOP)
    assert (found.node.op, found.node.inputs) == ("While", ("x", "x", "k", "^w"))
    assert found.node.attributes == {"T": AttributeList("type", (FLOAT,) * 3), "parallel_iterations": 10}
    assert found.moved == {"f": "f:1", "f:1": "f", "f:2": "f"}


def test_the_condition_and_the_body_take_the_state():
    found = loop(LOOP)
    assert [(one.name, one.op, one.inputs) for one in found.test] == [
        ("e", "_Arg", ()),
        ("el", "_Arg", ()),
        ("ek", "_Arg", ()),
        ("t", "Less", ("e", "ek")),
        ("retval", "_Retval", ("t",)),
    ]
    assert found.test[-1].attributes["T"] == BOOL
    inside = {one.name: one.inputs for one in found.step if one.op not in ("_Arg", "_Retval")}
    assert inside == {"i": ("e",), "o": ("^i",), "a": ("i", "o"), "push": ("el", "el", "^i")}
    assert [one.inputs for one in found.step if one.op == "_Retval"] == [("a", "^push"), ("el",), ("ek",)]


def test_whether_it_goes_on_is_computed_again_where_the_body_asks():
    found = loop(LOOP.replace("AddV2(i, o)", "Select(c, i, o)"))
    assert {one.name: one.inputs for one in found.step}["a"] == ("t", "i", "o")


BROKEN = {
    ("c = LoopCond(t)", "c = LoopCond(t)\n d = LoopCond(t)"): "frame 'f' is not supported .*it has 2 LoopCond",
    ("ek = Enter(k, ^w) {frame_name=f, is_constant=true", "ek = Enter(k) {frame_name=f"): "Enter 'ek' is not constant",
    ("m = Merge(e, n)", "m = Merge(e, n, nl)"): "Merge 'm' takes Enter, NextIteration, NextIteration, and not one",
    ("m = Merge(e, n)", "m = Merge(e, ek)"): "Merge 'm' takes Enter, Enter, and not one Enter and one NextIteration",
    ("sl = Switch(l, c)", "sl = Switch(t, c)"): "Switch 'sl' asks LoopCond, and takes no variable",
    ("y = Exit(s)", "y = Exit(s:1)"): "Exit 'y' takes 's:1', which no Switch lets out",
    ("y = Exit(s)", "y = Exit(m)"): "Exit 'y' takes 'm', which no Switch lets out",
    ("nl = NextIteration(sl:1)", "nl = NextIteration(l)"): "NextIteration 'nl' goes on whatever LoopCond says",
    ("i = Identity(s:1)", "i = Identity(s)"): "output 's' is taken inside, where only Merge may take it, or nobody",
    ("a = AddV2(i, o)", "a = AddV2(i, m:1)"): "output 'm:1' is taken inside",
    ("a = AddV2(i, o)", "a = AddV2(i, nl)"): "output 'nl' is taken inside",
    ("a = AddV2(i, o)", "a = AddV2(i, e)"): "output 'e' is taken inside",
    ("a = AddV2(i, o)", "a = AddV2(i, o, ^e)"): r"output '\^e' is taken inside",
}


@pytest.mark.parametrize("change", BROKEN)
def test_what_has_another_form_is_refused(change):
    assert change[0] in LOOP
    with pytest.raises(UnsupportedError, match=BROKEN[change]):
        loop(LOOP.replace(*change))
