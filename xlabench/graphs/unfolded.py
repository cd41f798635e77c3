"""Whether a graph whose clusters are functions, and then ops that compile and run, is the graph that it was made of.

The calls are written out again, plainly: every node must be there once, with its op, its attributes and its device, and
take what it took; what waits for a node waits for it, or for the call that it is in.  Of the ops that compile and run
what they take, and what is taken of them, must be what the call took and gave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compiler.tf import RECORDS, Function, Graph, Node, input_types, output_names, output_types
from xlabench.graphs.legality import CLUSTER

_CALL = "_XlaCompiledKernel"
_CONSTANTS, _RESOURCES = "_XlaNumConstantArgs", "_XlaNumResourceArgs"
_REFERENCES = "_XlaHasReferenceVars"
_OF_PASSES = frozenset({"CheckNumerics", "Print"})


@dataclass
class Unfolded:
    """A graph that says which cluster its nodes are in, and what was made of it.

    Attributes:
        marked: the graph.
        encapsulated: with a call for each cluster.
        built: with ops that compile and run for each call.
    """

    marked: Graph
    encapsulated: Graph
    built: Graph

    def __post_init__(self) -> None:
        self._before = {node.name: node for node in self.marked.nodes}
        self._nodes = {node.name: node for node in self.encapsulated.nodes}
        self._library = {function.name: function for function in self.encapsulated.functions}
        self._calls = {node.name: node for node in self.encapsulated.nodes if node.attributes.get(_CALL) is True}
        self._bodies = {name: self._library[node.op] for name, node in self._calls.items()}
        self._inside = {node.name: name for name, body in self._bodies.items() for node in body.nodes}

    def problems(self) -> list[str]:
        """What differs, each behind what it is about."""
        found = self._nodes_differ()
        if not found:
            found += self._edges_differ()
        for name, call in self._calls.items():
            found += [*self._badly_called(call, self._bodies[name]), *self._badly_built(call)]
        return [*found, *self._badly_counted(), *self._badly_referred()]

    def _badly_counted(self) -> list[str]:
        """Nodes that take more or fewer arrays than they say."""
        found = []
        for node in self.built.nodes:
            taken = input_types(node, self._library) if node.op in RECORDS else ()
            if node.op in RECORDS and None not in taken and len(taken) != len(node.data_inputs):
                found.append(f"inputs: {node.name} ({node.op}) takes {len(node.data_inputs)}, and says {len(taken)}")
        return found

    def _badly_referred(self) -> list[str]:
        """Calls that do not say whether a reference to a variable is before or behind something in them."""
        users: dict[str, list[str]] = {name: [] for name in self._before}
        takes = {name: [_node_of(text) for text in node.inputs] for name, node in self._before.items()}
        for name, sources in takes.items():
            for source in sources:
                users[source].append(name)
        near: set[str] = set()
        for name, node in self._before.items():
            if any(one is not None and one.is_reference for one in output_types(node, self._library) or ()):
                near |= {*_reached(name, users), *_reached(name, takes)}
        return [
            f"references: {call} does not say whether there are any"
            for call, node in self._calls.items()
            if node.attributes.get(_REFERENCES) is not any(self._inside[one] == call for one in near & {*self._inside})
        ]

    def _nodes_differ(self) -> list[str]:
        kept = [node for node in self.encapsulated.nodes if node.name not in self._calls]
        there = [*kept, *(node for body in self._bodies.values() for node in body.nodes)]
        names = sorted(node.name for node in there)
        if names != sorted(self._before):
            lost = sorted({*self._before} ^ {*names}) or ["some are there twice"]
            return [f"nodes: {', '.join(lost[:6])}"]
        found = []
        for node in there:
            before = self._before[node.name]
            stated = {key: value for key, value in before.attributes.items() if key != CLUSTER}
            own = {key: value for key, value in node.attributes.items() if key != CLUSTER}
            if (node.op, node.device, own) != (before.op, before.device, stated):
                found.append(f"nodes: {node.name} is another node")
            cluster = before.attributes.get(CLUSTER)
            if (node.name in self._inside) != (cluster is not None):
                found.append(f"nodes: {node.name} is where its cluster is not")
        return found

    def _edges_differ(self) -> list[str]:
        found = []
        for name, before in self._before.items():
            wanted = [_spelled(text) for text in before.data_inputs]
            given = [self._origin(text, self._inside.get(name, "")) for text in self._now(name).data_inputs]
            if wanted != given:
                found.append(f"edges: {name} takes {given}, and took {wanted}")
        for holder in (*self._calls, *(name for name in self._before if name not in self._inside)):
            own = set(self._waited(holder))
            if own != set(_waits(self._nodes[holder])):
                found.append(f"edges: {holder} waits for {sorted(_waits(self._nodes[holder]))}, and not {sorted(own)}")
        for name, call in self._inside.items():
            among = {one for one in _waits(self._before[name]) if self._inside.get(one) == call}
            if among != set(_waits(self._now(name))):
                found.append(f"edges: within {call} {name} does not wait for {sorted(among)}")
        return found

    def _now(self, name: str) -> Node:
        if name not in self._inside:
            return self._nodes[name]
        return next(node for node in self._bodies[self._inside[name]].nodes if node.name == name)

    def _waited(self, holder: str) -> Iterator[str]:
        """What a node, or a call, must wait for: nodes, and the calls that nodes are in."""
        members = [name for name, call in self._inside.items() if call == holder] or [holder]
        for member in members:
            for one in _waits(self._before[member]):
                if self._inside.get(one) != holder:
                    yield self._inside.get(one, one)

    def _origin(self, text: str, call: str) -> tuple[str, int]:
        """The node and the number of its output behind an input, of a node in a call or outside of all."""
        name, _, port = text.partition(":")
        if call:
            body = self._bodies[call]
            arguments = [argument.name for argument in body.inputs]
            if text in arguments:
                return self._origin(self._calls[call].data_inputs[arguments.index(text)], "")
            return self._named(body, text)
        if name in self._calls:
            body = self._bodies[name]
            return self._named(body, body.returns[body.outputs[int(port or 0)].name])
        return name, int(port or 0)

    def _named(self, body: Function, text: str) -> tuple[str, int]:
        name, _, output = text.partition(":")
        node = next(one for one in body.nodes if one.name == name)
        return name, output_names(node, self._library).index(output)

    def _badly_called(self, call: Node, body: Function) -> list[str]:
        """What is wrong with the order of a call's inputs, its types, and with what its function runs."""
        found = []
        counts = [call.attributes.get(key) for key in (_CONSTANTS, _RESOURCES)]
        kinds = [str(argument.type) for argument in body.inputs]
        held = kinds.count("resource")
        if counts[1] != held or (held and "resource" in kinds[:-held]):
            found.append(f"call: {call.name} takes {kinds}, and says that {counts[1]!r} are variables")
        changes = {
            node.name
            for node in body.nodes
            if node.op.startswith(("Assign", "ResourceApply", "ResourceScatter", "ResourceSparse"))
        }
        if not changes <= {*body.control_returns.values()}:
            found.append(f"call: {call.name} does not run {sorted(changes - {*body.control_returns.values()})}")
        for node in body.nodes:
            for text, kind in zip(node.data_inputs, input_types(node, self._library), strict=False):
                own = next((argument.type for argument in body.inputs if argument.name == text), None)
                if own is not None and kind is not None and own != kind.base:
                    found.append(f"call: {call.name} takes {text} as {own}, and {node.name} as {kind}")
        return found

    def _badly_built(self, call: Node) -> list[str]:
        """What is wrong with the ops that compile and run a call."""
        nodes = {node.name: node for node in self.built.nodes}
        made = {node.op: node for node in self.built.nodes if node.name.startswith(f"{call.name}/")}
        if call.name in nodes or not {"_XlaCompile", "_XlaRun"} <= made.keys():
            return [f"built: {call.name} is not compiled, or not run"]
        compiles, runs = made["_XlaCompile"], made["_XlaRun"]
        constants = call.attributes.get(_CONSTANTS)
        first = constants if isinstance(constants, int) else 0
        found = []
        if not self._alike(call.inputs, compiles.inputs):
            found.append(f"built: {call.name} is compiled on {compiles.inputs}, and not on {call.inputs}")
        given = [_through(text, nodes) for text in runs.data_inputs[:-1]]
        if not self._alike(call.data_inputs[first:], given) or runs.data_inputs[-1].partition(":")[0] not in nodes:
            found.append(f"built: {call.name} is run on {given}")
        called = made.get("StatefulPartitionedCall")
        if called is not None and not self._alike(call.data_inputs, called.data_inputs):
            found.append(f"built: {call.name} is called on {called.data_inputs}, and not on {call.data_inputs}")
        if (called is None) != (compiles.attributes.get("must_compile") is True):
            found.append(f"built: {call.name} must be compiled, or need not")
        return found + self._badly_taken(call, nodes, made)

    def _badly_taken(self, call: Node, nodes: Mapping[str, Node], made: Mapping[str, Node]) -> list[str]:
        """Who takes something else of what was run than of the call."""
        found = []
        for node in self.encapsulated.nodes:
            users = [node.name] if node.name in nodes else [f"{node.name}/xla_compile"]
            for user in users:
                if user not in nodes:
                    continue
                pairs = zip(node.inputs, nodes[user].inputs, strict=False)
                found += [
                    f"built: {user} takes {now}, and took {text}"
                    for text, now in pairs
                    if text.partition(":")[0] == call.name and not self._is_result(text, now, nodes, made)
                ]
        return found

    def _is_result(self, text: str, now: str, nodes: Mapping[str, Node], made: Mapping[str, Node]) -> bool:
        """Whether an input is the result of a call: of what ran, or of the merge of that and of the fallback."""
        port = int(text.partition(":")[2] or 0)
        ran, called = made["_XlaRun"], made.get("StatefulPartitionedCall")
        if called is None:
            return _spelled(now) == (ran.name, port)
        merge = nodes[now.partition(":")[0]]
        if merge.op != "_XlaMerge":
            return False
        sides = [_spelled(_through(one, nodes)) for one in merge.inputs]
        return sides == [(called.name, port), (ran.name, port)]

    def _alike(self, before: Sequence[str], now: Sequence[str]) -> bool:
        """Whether inputs are what they were; of what other calls gave that is judged by what they became."""
        if len(before) != len(now):
            return False
        is_call = [text.removeprefix("^").partition(":")[0] in self._calls for text in before]
        return all(of or text == other for of, text, other in zip(is_call, before, now, strict=True))


def _spelled(text: str) -> tuple[str, int]:
    name, _, port = text.partition(":")
    return name, int(port or 0)


def _node_of(text: str) -> str:
    return text.removeprefix("^").partition(":")[0]


def _reached(start: str, following: Mapping[str, Sequence[str]]) -> set[str]:
    found, stack = {start}, [start]
    while stack:
        more = [one for one in following[stack.pop()] if one not in found]
        found.update(more)
        stack += more
    return found


def _waits(node: Node) -> Sequence[str]:
    return [text[1:] for text in node.inputs if text.startswith("^")]


def _through(text: str, nodes: Mapping[str, Node]) -> str:
    """What is printed or checked on its way."""
    node = nodes.get(text.partition(":")[0])
    return node.inputs[0] if node is not None and node.op in _OF_PASSES and "/" in node.name else text
