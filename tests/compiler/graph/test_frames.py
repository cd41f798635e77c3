"""Loops of frames are folded, the inner ones first; what is in no frame, or in two, is an error with a node's name."""

import pytest

from compiler.diagnostics import InputError
from compiler.graph import Node
from compiler.graph.frames import FRAME, Frames, folded, in_order, inside_loops, is_a, with_outputs


def nodes(text):
    """Nodes of lines `name = Op(inputs)`, with a frame's name behind those that enter one."""
    found = []
    for line in filter(str.strip, text.splitlines()):
        name, _, rest = line.strip().partition(" = ")
        op, _, rest = rest.partition("(")
        inputs, _, frame = rest.partition(")")
        attributes = {"frame_name": frame.strip().encode()} if frame.strip() else {}
        found.append(Node(name, op, tuple(inputs.split()), "", attributes))
    return found


INNER = """
  e2 = Enter(s:1 ^p) f/inner
  k2 = RefEnter(k) f/inner
  m2 = Merge(e2 n2)
  c2 = LoopCond(k2)
  s2 = Switch(m2 c2)
  n2 = NextIteration(s2:1)
  x2 = Exit(s2)
"""
LOOP = f"""
  a = Placeholder()
  e = Enter(a) f
  k = Enter(a ^a) f
  m = Merge(e n)
  p = Add(m k)
  c = LoopCond(p)
  s = Switch(m c)
  {INNER}
  n = NextIteration(x2)
  x = Exit(s)
  y = Neg(x ^x)
"""


def test_each_loop_is_one_node_that_takes_what_enters_and_gives_what_leaves():
    outer, frames = folded(nodes(LOOP))
    assert [(one.name, one.op, one.inputs) for one in outer] == [
        ("a", "Placeholder", ()),
        ("y", "Neg", ("f:0", "^f")),
        ("f", FRAME, ("a", "a", "^a")),
    ]
    assert list(frames) == ["f/inner", "f"]
    assert frames["f/inner"].node.inputs == ("s:1", "k", "^p")
    inside = {one.name: one for one in frames["f"].nodes}
    assert inside["n"].inputs == ("f/inner:0",)
    assert inside["f/inner"] == frames["f/inner"].node
    assert [one.name for one in frames["f/inner"].all("Enter")] == ["e2", "k2"]


def test_a_loop_takes_what_leaves_one_that_is_made_later():
    text = "e = Enter(x) f\n a = P()\n d = Enter(a) g\n x = Exit(d)\n y = Exit(e)\n z = Neg(y)"
    outer, frames = folded(nodes(text))
    assert {one.name: one.inputs for one in outer} == {"a": (), "f": ("g:0",), "g": ("a",), "z": ("f:0",)}
    assert frames["f"].node.inputs == ("g:0",)


def test_a_node_is_in_the_frame_of_what_it_takes_and_an_enter_in_the_one_that_it_opens():
    frames, inner = Frames(nodes(LOOP)), ["f/inner", "f"]
    found = {name: frames.path(name) for name in ("a", "e", "s", "e2", "s2", "x2", "n", "x", "y", "unheard")}
    assert found == {
        "a": [], "e": ["f"], "s": ["f"], "e2": inner, "s2": inner, "x2": inner, "n": ["f"], "x": ["f"], "y": [],
        "unheard": []
    }  # fmt: skip
    assert frames.name("s2") == "f/inner"


def test_what_is_inside_of_loops_is_all_but_what_leaves_them():
    assert inside_loops(nodes(LOOP)) == set("ekmpcsn") | {"e2", "k2", "m2", "c2", "s2", "n2", "x2", "f/inner"}
    assert inside_loops(nodes("a = Placeholder()")) == set()


def test_nodes_stand_after_what_they_take_but_over_back_edges():
    assert [one.name for one in in_order(nodes("b = Neg(a)\n a = Placeholder()\n c = NoOp(^b)"))] == ["a", "b", "c"]
    order = [one.name for one in in_order(nodes(LOOP))]
    assert order.index("m") < order.index("n")
    with pytest.raises(InputError, match=r"node 'b' waits for itself, and no NextIteration"):
        in_order(nodes("a = Placeholder()\n b = Neg(d)\n d = Merge(a b)"))


def test_outputs_are_taken_elsewhere():
    node = with_outputs(Node("a", "F", ("x", "x:1", "x:0", "z", "^x", "^y")), {"x": "y:2", "x:1": "w"})
    assert node.inputs == ("y:2", "w", "y:2", "z", "^y")


def test_an_op_is_known_for_references_too():
    assert is_a(Node("s", "RefSwitch"), "Switch")
    assert not is_a(Node("s", "RefSwitch"), "Merge")


BROKEN = {
    "a = Placeholder()\n x = Exit(a)": r"node 'x' \(Exit\) is in no frame",
    "a = P()\n s = Switch(a ^a)": r"node 's' \(Switch\): it takes 2 tensors, and has 1",
    "m = Merge()": "it takes some tensors, and has 0",
    "a = P()\n e = Enter(a)": r"node 'e' \(Enter\): it names no frame",
    "a = P()\n e = Enter(a) f\n d = Enter(e) f": r"node 'd': frame 'f' is entered from two frames",
    "a = P()\n e = Enter(a) f\n d = Enter(e) g\n b = Enter(a) g": r"node '.': frame 'g' is entered from two frames",
    "a = P()\n e = Enter(a) f\n d = Enter(a) g\n b = Add(d e)": "node 'b': it takes values of several frames, "
    "'d' of frame 'g', 'e' of frame 'f': let them Enter and Exit",
    "a = P()\n e = Enter(a) f\n b = Add(a e)": "'a' of none, 'e' of frame 'f'",
    "a = P()\n e = Enter(a) f\n r = _Retval(e)": "output 'e' is inside of frame 'f': fetch what leaves the loop",
}


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_in_no_frame_or_in_two_is_refused(text):
    with pytest.raises(InputError, match=BROKEN[text]):
        folded(nodes(text))
