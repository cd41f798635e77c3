"""Graphs that are nothing but wires: many nodes of few ops, for those who look at edges and compute nothing.

What clustering decides hangs on who takes what, who waits for whom, which side of a switch something is on, in which
order variables are touched, and hardly on what ops compute.  So here are numbers and vectors alone, and of everything
that has to do with edges a lot: control edges, switches inside of switches, loops of frames, variables without an order
and with one, references, ops that nobody compiles, shapes, sizes that must be known, calls of functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.tf import (
    BY_NAME,
    Argument,
    Attribute,
    AttributeList,
    Function,
    FunctionReference,
    Graph,
    Node,
    PartialShape,
    tensor_of,
)
from xlabench.fuzzing.graphs.operands import Generator

_FLOAT, _INT, _BOOL = BY_NAME["float32"], BY_NAME["int32"], BY_NAME["bool"]
_UNARY = ("Neg", "Tanh", "Square", "Abs", "Identity")
_BINARY = ("AddV2", "Mul", "Sub", "Maximum", "Minimum")
_LEAST, _MOST = 12, 60
_WAITS, _RECENT = 0.15, 8
"""How often a node waits for another besides; how many of the last values are taken most of the time."""
_CALLED = "called"
"""The name of the only function."""


def draw(rng: Generator) -> Graph:
    """A random graph of a run: feeds are `_Arg`, fetches `_Retval`."""
    drawn = _Wired(rng)
    for _ in range(int(rng.integers(_LEAST, _MOST))):
        kinds, shares = zip(*_KINDS.items(), strict=True)
        kinds[int(rng.choice(len(kinds), p=np.array(shares) / sum(shares)))](drawn)
    for number, text in enumerate(dict.fromkeys(drawn.value() for _ in range(3))):
        drawn.add("_Retval", [text], T=_FLOAT, index=number)
    return Graph(drawn.nodes, [_function()])


class _Wired:
    """A graph while it is drawn: its nodes, and the outputs that hold numbers, vectors, sizes and truths."""

    def __init__(self, rng: Generator) -> None:
        self.rng = rng
        self.nodes: list[Node] = []
        self.handles: list[str] = []
        self.loops = 0
        self._outside: list[str] = []
        self.values = [self.add("_Arg", [], T=_FLOAT, index=n) for n in range(2)]
        self.truths = [self.add("_Arg", [], T=_BOOL, index=n) for n in range(2, 4)]
        self.sizes = [self.add("_Arg", [], T=_INT, index=4)]

    def add(self, op: str, inputs: Sequence[str], **attributes: Attribute) -> str:
        """A node more, which may wait for one that was there; its name."""
        waits = []
        if self._outside and op not in ("_Arg", "Enter") and self.rng.random() < _WAITS:
            waits = [f"^{self.one_of(self._outside)}"]
        name = self._plain(op, [*inputs, *waits], **attributes).name
        self._outside += [] if op == "Enter" else [name]  # in a loop only what is in it may wait for it
        return name

    def value(self) -> str:
        """Some output that is there, mostly one of the last."""
        among = self.values[-_RECENT:] if self.rng.random() < 0.8 else self.values
        return among[int(self.rng.integers(len(among)))]

    def one_of(self, among: Sequence[str]) -> str:
        """One of some outputs."""
        return among[int(self.rng.integers(len(among)))]

    def constant(self, value: object) -> str:
        """A constant."""
        array = np.asarray(value)
        return self.add("Const", [], dtype=tensor_of(array).type, value=tensor_of(array))

    def unary(self) -> None:
        """An op of one number."""
        self.values.append(self.add(self.one_of(_UNARY), [self.value()], T=_FLOAT))

    def binary(self) -> None:
        """An op of two numbers."""
        self.values.append(self.add(self.one_of(_BINARY), [self.value(), self.value()], T=_FLOAT))

    def opaque(self) -> None:
        """An op that nobody compiles."""
        self.values.append(self.add("CheckNumericsV2", [self.value()], T=_FLOAT, message=b"it"))

    def number(self) -> None:
        """A constant that several take."""
        self.values.append(self.constant(np.float32(self.rng.integers(4))))

    def switch(self) -> None:
        """A switch; both of its sides can be taken."""
        name = self.add("Switch", [self.value(), self.one_of(self.truths)], T=_FLOAT)
        self.values += [name, f"{name}:1"]

    def merge(self) -> None:
        """What is alive of two values."""
        self.values.append(self.add("Merge", [self.value(), self.value()], T=_FLOAT, N=2))

    def truth(self) -> None:
        """A condition for later switches."""
        self.truths.append(self.add("Less", [self.value(), self.value()], T=_FLOAT))

    def shape(self) -> None:
        """What is asked of a value is its shape; as such it is a size."""
        self.sizes.append(self.add("Shape", [self.value()], T=_FLOAT, out_type=_INT))

    def size(self) -> None:
        """A size that is computed."""
        self.sizes.append(self.add("AddV2", [self.one_of(self.sizes), self.one_of(self.sizes)], T=_INT))

    def sized(self) -> None:
        """An op that asks for the value of a size."""
        size = self.one_of(self.sizes)
        if self.rng.integers(2):
            self.values.append(self.add("Reshape", [self.value(), size], T=_FLOAT, Tshape=_INT))
        else:
            self.values.append(self.add("Fill", [size, self.value()], T=_FLOAT, index_type=_INT))

    def slice(self) -> None:
        """A slice to the end, or of a size that is known, of which it is not known where it begins."""
        size = self.constant(np.array([self.rng.integers(-1, 2)], np.int32))
        inputs = [self.value(), self.one_of(self.sizes), size]
        self.values.append(self.add("Slice", inputs, T=_FLOAT, Index=_INT))

    def variable(self) -> None:
        """A variable, or something that is done to one."""
        if not self.handles or self.rng.random() < 0.2:
            self.handles.append(self.add("VarHandleOp", [], dtype=_FLOAT, shape=PartialShape(())))
        handle, ops = self.one_of(self.handles), ("AssignVariableOp", "AssignAddVariableOp", "ReadVariableOp")
        op = self.one_of((*ops, "ReadVariableOp"))
        if op == "ReadVariableOp":
            self.values.append(self.add(op, [handle], dtype=_FLOAT))
        else:
            self.add(op, [handle, self.value()], dtype=_FLOAT)

    def reference(self) -> None:
        """A variable of TensorFlow 1, and what it holds, handed on."""
        made = self.add("VariableV2", [], dtype=_FLOAT, shape=PartialShape(()))
        self.values.append(self.add("Identity", [made], T=_FLOAT))

    def call(self) -> None:
        """A call of a function, or a branch."""
        if self.rng.integers(2):
            kinds = AttributeList("type", (_FLOAT,))
            called = self.add("PartitionedCall", [self.value()], Tin=kinds, Tout=kinds, f=FunctionReference(_CALLED))
        else:
            called = self._branch()
        self.values.append(called)

    def _branch(self) -> str:
        kinds, function = AttributeList("type", (_FLOAT,)), FunctionReference(_CALLED)
        inputs = [self.one_of(self.truths), self.value()]
        sides = {"then_branch": function, "else_branch": function}
        return self.add("StatelessIf", inputs, Tcond=_BOOL, Tin=kinds, Tout=kinds, **sides)

    def loop(self) -> None:
        """A loop of frames around two values."""
        frame = f"frame_{self.loops}".encode()
        self.loops += 1
        shared: dict[str, Attribute] = {"T": _FLOAT, "frame_name": frame}
        entered = [self.add("Enter", [self.value()], **shared) for _ in range(2)]
        limit = self.add("Enter", [self.value()], is_constant=True, **shared)
        merged = [self._plain("Merge", [one, one], T=_FLOAT, N=2) for one in entered]
        asked = self._plain("Less", [merged[0].name, limit], T=_FLOAT)
        goes_on = self._plain("LoopCond", [asked.name])
        for merge in merged:
            switch = self._plain("Switch", [merge.name, goes_on.name], T=_FLOAT)
            inner = self._plain("Identity", [f"{switch.name}:1"], T=_FLOAT)
            for _ in range(int(self.rng.integers(3))):
                op = self.one_of(_BINARY)
                inner = self._plain(op, [inner.name, self.one_of([inner.name, limit])], T=_FLOAT)
            back = self._plain("NextIteration", [inner.name], T=_FLOAT)
            merge.inputs = (merge.inputs[0], back.name)
            self.values.append(self._plain("Exit", [switch.name], T=_FLOAT).name)

    def _plain(self, op: str, inputs: Sequence[str], **attributes: Attribute) -> Node:
        """A node that waits for nothing: what is in a loop may not wait for what is not."""
        node = Node(f"{op.strip('_').lower()}_{len(self.nodes)}", op, tuple(inputs), "", attributes)
        self.nodes.append(node)
        return node


def _function() -> Function:
    inside = Node("y", "Mul", ("x", "x"), "", {"T": _FLOAT})
    return Function(_CALLED, (Argument("x", _FLOAT),), (Argument("z", _FLOAT),), [inside], {"z": "y:z:0"})


_KINDS: dict[Callable[[_Wired], None], int] = {
    _Wired.unary: 8,
    _Wired.binary: 12,
    _Wired.opaque: 4,
    _Wired.number: 2,
    _Wired.switch: 3,
    _Wired.merge: 2,
    _Wired.truth: 1,
    _Wired.shape: 2,
    _Wired.size: 2,
    _Wired.sized: 2,
    _Wired.slice: 1,
    _Wired.variable: 4,
    _Wired.reference: 1,
    _Wired.call: 2,
    _Wired.loop: 1,
}
"""What is drawn next, by how often beside the others."""
