"""Branches between `Switch` and `Merge` become `If`: what TensorFlow's `functionalize_cond` does.

All nodes whose path (`deadness.py`) begins with the same predicate, its `Switch` and `Merge` included, are one `If`,
whose functions are what stands on either side, taken apart in the same way; it takes what the `Switch` take, and gives
what the `Merge` give.

Other nodes may stand between two uses of a predicate, as the forward pass of a model stands before the gradients, which
use the same one.  Then there are several `If`, in an order in which each can run as a whole, and a value of one side
that a later one needs is one more result; the other side gives `ABSENT` for it, which nobody looks at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from compiler.graph import BY_NAME, Attribute, AttributeList, DataType, Node, tensor_of
from compiler.graph.frames import in_order, is_a, source_of, with_outputs
from compiler.graph.names import Endpoint, Names, argument_name, endpoint, is_control
from compiler.tf2xla.deadness import Paths
from compiler.tf2xla.flat_functions import RESULT, FunctionLibrary, argument, result

ABSENT = "_Absent"
"""The op of a value that is not there, because another branch runs."""


def without_switches(nodes: Sequence[Node], library: FunctionLibrary) -> list[Node]:
    """The nodes with an `If` in place of what stands between `Switch` and `Merge`.

    Raises:
        InputError: a node waits for both sides of a Switch.
        UnsupportedError: a Merge has other inputs than the two sides of a Switch.
    """
    if not any(is_a(node, "Switch") or is_a(node, "Merge") for node in nodes):
        return list(nodes)
    return _Region(nodes, library).run()


@dataclass(frozen=True, slots=True)
class _Result:
    """What an `If` gives.

    Attributes:
        output: what it stands for.
        type: its type.
        sides: what it is on each side: an output, or a node of its own.
    """

    output: str
    type: DataType
    sides: Mapping[bool, str | Node]


class _Region:
    """A graph, or the body of a function, whose branches become functions."""

    def __init__(self, nodes: Sequence[Node], library: FunctionLibrary) -> None:
        self._library = library
        self._order = _with_one_name_for_each_predicate(in_order(nodes))
        self._paths = Paths(self._order)
        self._nodes = {node.name: node for node in self._order}
        self._users: dict[str, set[str]] = {}
        for node in self._order:
            for text in self._used(node):
                self._users.setdefault(text, set()).add(node.name)
        self._passed: dict[str, str] = {}
        self._moved: dict[str, str] = {}

    def _used(self, node: Node) -> Iterator[str]:
        """What a node takes and waits for, and the predicates that say where that is there."""
        for text in node.inputs:
            yield text if is_control(text) else str(endpoint(text))
            yield from (predicate for predicate, _ in self._paths.at(text))

    def run(self) -> list[Node]:
        """Take out branch after branch."""
        done: set[str] = set()
        found: list[Node] = []
        pending: Sequence[Node] = self._order
        while pending:
            pending = self._taken(pending, "", done, found)
            if pending:
                predicate, branch = self._paths.first(pending[0]), list[Node]()
                pending = self._taken(pending, predicate, done, branch)
                found.append(self._if(predicate, branch))
        passed = {text: self._moved.get(self._through(text), self._through(text)) for text in self._passed}
        return [with_outputs(node, self._moved | passed) for node in found]

    def _taken(self, nodes: Sequence[Node], predicate: str, done: set[str], found: list[Node]) -> list[Node]:
        """Move the nodes that begin with a predicate and can run after those that are done; gives the others.

        What a Merge gives is there when the whole `If` has run.
        """
        left, merged = [], set[str]()
        for node in nodes:
            if self._paths.first(node) == predicate and all(source_of(text) in done for text in node.inputs):
                found.append(node)
                is_end = not self._paths.of[node.name] and node.name in self._paths.ends
                (merged if is_end else done).add(node.name)
            else:
                left.append(node)
        done |= merged
        return left

    def _through(self, text: str) -> str:
        """What stands before the Switch whose output it is."""
        while text in self._passed:
            text = self._passed[text]
        return text

    def _if(self, predicate: str, nodes: Sequence[Node]) -> Node:
        """Nodes that begin with a predicate, as one node."""
        outer = [one for one in nodes if not self._paths.of[one.name]]
        merges = [one for one in outer if one.name in self._paths.ends]
        for one in outer:
            if one.name in self._paths.predicates:
                self._passed |= dict.fromkeys((one.name, f"{one.name}:1"), str(endpoint(one.inputs[0])))
        inner = {holds: [one for one in nodes if self._paths.holds(one) is holds] for holds in (True, False)}
        results = [*self._merged(merges), *self._kept(inner, {one.name for one in nodes})]
        sides = [self._side(inner[holds], [(one.sides[holds], one.type) for one in results]) for holds in (True, False)]
        takes = list(dict.fromkeys(text for side in sides for text in side.takes))
        name = (merges or nodes)[0].name
        attributes: dict[str, Attribute] = {
            "Tcond": self._type(predicate),
            "Tin": AttributeList("type", tuple(map(self._type, takes))),
            "Tout": AttributeList("type", tuple(one.type for one in results)),
        }
        for side, (key, word) in zip(sides, _BRANCHES, strict=True):
            body = without_switches(side.function(takes, list(map(self._type, takes))), self._library)
            attributes[key] = self._library.add(f"{name}_{word}", body)
        self._moved |= {one.name: name for one in nodes if one.name not in self._paths.predicates}
        self._moved |= {one.output: str(Endpoint(name, number)) for number, one in enumerate(results)}
        return Node(name, "If", (predicate, *takes, *_waits(nodes)), nodes[0].device, attributes)

    def _type(self, text: str) -> DataType:
        return self._library.type_of(text, self._nodes)

    def _merged(self, merges: Sequence[Node]) -> Iterator[_Result]:
        """What each Merge gives, and the number of the input that was there, where that is asked for."""
        for merge in merges:
            first = self._paths.ends[merge.name][1]
            numbers = {True: first, False: 1 - first}
            data = [self._through(str(endpoint(text))) for text in merge.data_inputs]
            yield _Result(merge.name, self._type(merge.name), {side: data[n] for side, n in numbers.items()})
            if f"{merge.name}:1" in self._users:
                index = BY_NAME["int32"]
                yield _Result(f"{merge.name}:1", index, {side: _number(n) for side, n in numbers.items()})

    def _kept(self, sides: Mapping[bool, Sequence[Node]], names: set[str]) -> Iterator[_Result]:
        """What is there on one side only, and taken by a later `If` with the same predicate."""
        where = {node.name: holds for holds, nodes in sides.items() for node in nodes}
        for text, users in self._users.items():
            holds = where.get(source_of(text))
            if holds is not None and not is_control(text) and not users <= names:
                data_type = self._type(text)
                nothing = Node("absent", ABSENT, attributes={"T": data_type})
                yield _Result(text, data_type, {holds: text, not holds: nothing})

    def _side(self, nodes: Sequence[Node], results: Sequence[tuple[str | Node, DataType]]) -> _Side:
        """One side, in which what Switch let through is what they take."""
        names = {node.name for node in nodes}
        waits = [text for text, users in self._users.items() if is_control(text) and not users <= names]
        passed = {text: self._through(text) for text in self._passed}
        runs = [text for text in waits if text[1:] in names]
        return _Side([with_outputs(node, passed) for node in nodes], results, runs, self._paths)


class _Side:
    """What runs on one side of a Switch.

    Attributes:
        takes: the outputs of nodes that stand elsewhere.
    """

    def __init__(
        self, nodes: Sequence[Node], results: Sequence[tuple[str | Node, DataType]], runs: Sequence[str], paths: Paths
    ) -> None:
        self._nodes = nodes
        self._results = results
        self._runs = runs
        self._inside = {node.name for node in nodes}
        wanted = [str(endpoint(text)) for node in nodes for text in node.data_inputs]
        wanted += [one for one, _ in results if isinstance(one, str)]
        outside = [text for text in wanted if source_of(text) not in self._inside]
        self._there = {text: paths.at(text)[1:] for text in outside}
        predicates = [predicate for path in self._there.values() for predicate, _ in path]
        self._there = {**{predicate: paths.at(predicate)[1:] for predicate in predicates}, **self._there}
        self.takes = list(self._there)

    def function(self, takes: Sequence[str], types: Sequence[DataType]) -> list[Node]:
        """The nodes as flat functions have them, with arguments for these outputs."""
        names = Names(self._inside)
        given = {text: names.free(argument_name(text)) for text in takes}
        arguments = [
            argument(given[text], data_type, number)
            for number, (text, data_type) in enumerate(zip(takes, types, strict=True))
        ]
        made, ends = self._switched(given, names), []
        for number, (source, data_type) in enumerate(self._results):
            if isinstance(source, Node):
                made.append(replace(source, name=names.free(source.name)))
                text = made[-1].name
            else:
                text = given.get(source, source)
            ends.append(result(names.free("retval"), [text], data_type, number))
        if self._runs:
            ends.append(Node(names.free("runs"), RESULT, tuple(self._runs)))
        return [*arguments, *(self._with_arguments(node, given) for node in self._nodes), *made, *ends]

    def _switched(self, given: dict[str, str], names: Names) -> list[Node]:
        """A Switch for each argument, again, that is there only where more holds than on this side."""
        found = []
        for text in sorted(self._there, key=lambda one: len(self._there[one])):
            for predicate, holds in self._there[text]:
                found.append(Node(names.free("switch"), "Switch", (given[text], given[predicate])))
                given[text] = str(Endpoint(found[-1].name, int(holds)))
        return found

    def _with_arguments(self, node: Node, given: Mapping[str, str]) -> Node:
        takes = [given.get(str(endpoint(text)), text) for text in node.data_inputs]
        waits = [text for text in node.inputs if is_control(text) and text[1:] in self._inside]
        return replace(node, inputs=(*takes, *waits))


def _with_one_name_for_each_predicate(nodes: Sequence[Node]) -> list[Node]:
    """The nodes with Switches that ask for a predicate itself, so that it has one name in functions, too."""
    paths = Paths(nodes)
    swapped = {name: f"{name}:1" for name in paths.inverted} | {f"{name}:1": name for name in paths.inverted}

    def asking(node: Node) -> Node:
        predicate = paths.predicates.get(node.name)
        return node if predicate is None else replace(node, inputs=(node.inputs[0], predicate, *node.inputs[2:]))

    return [with_outputs(asking(node), swapped) for node in nodes]


def _number(value: int) -> Node:
    return Node("index", "Const", attributes={"dtype": BY_NAME["int32"], "value": tensor_of(np.array(value, np.int32))})


def _waits(nodes: Sequence[Node]) -> list[str]:
    """What some nodes wait for and are not."""
    names = {one.name for one in nodes}
    texts = (text for one in nodes for text in one.inputs if is_control(text) and text[1:] not in names)
    return list(dict.fromkeys(texts))


_BRANCHES = (("then_branch", "true"), ("else_branch", "false"))
