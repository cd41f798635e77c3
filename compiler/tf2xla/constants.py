"""Which inputs of a graph must be known when it is compiled.

Some ops ask for the values of inputs: sizes, axes.  Going back from these, whatever such a value is computed from must
be known too, except where an op asks only for the shape of what it takes, since shapes are known in any case.  A
cluster's signature holds these values, and a graph whose feeds are among them is refused before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from compiler.graph import AttributeList, Function, FunctionReference, Graph, Node
from compiler.graph.names import Endpoint, endpoint
from compiler.tf2xla.ops import RECORDS
from compiler.tf2xla.record import Record, Trait


def must_be_known(graph: Graph, fetches: Sequence[str]) -> frozenset[str]:
    """The nodes that fetches need and whose values must be known; feeds among them must be values."""
    library = {function.name: function for function in graph.functions}
    return _Analysis(library).nodes(graph.nodes, fetches, in_function=False)


def known_arguments(graph: Graph, name: str) -> frozenset[int]:
    """The numbers of a function's arguments whose values must be known when it is compiled."""
    return _Analysis({function.name: function for function in graph.functions}).arguments(name)


class _Analysis:
    """The analysis of a graph with its functions, each of which is looked at once."""

    def __init__(self, library: Mapping[str, Function]) -> None:
        self._library = library
        self._arguments: dict[str, frozenset[int]] = {}
        self._of_results: dict[tuple[str, int], frozenset[int]] = {}

    def nodes(self, nodes: Sequence[Node], fetches: Sequence[str], *, in_function: bool) -> frozenset[str]:
        """The nodes, and arguments, that must be known."""
        by_name = {node.name: node for node in nodes}
        reached = _reached(by_name, fetches, in_function=in_function)
        stack = [
            node.inputs[number] for node in reached for number in self._asked(node) if number < len(node.data_inputs)
        ]
        return self._followed(by_name, stack, in_function=in_function)

    def _followed(self, by_name: Mapping[str, Node], wanted: Sequence[str], *, in_function: bool) -> frozenset[str]:
        """The nodes, and arguments, whose values outputs follow from."""
        stack, seen = list(wanted), set()
        while stack:
            source = endpoint(stack.pop(), in_function=in_function)
            if source is None or source in seen:
                continue
            seen.add(source)
            node = by_name.get(source.node)
            if node is not None and not _asks_shape(node):
                stack += [node.data_inputs[number] for number in self._sources(node, source)]
        return frozenset(source.node for source in seen)

    def _sources(self, node: Node, source: Endpoint) -> Iterable[int]:
        """The numbers of the inputs that an output of a node follows from; of a node that runs functions, by these."""
        every = range(len(node.data_inputs))
        record = RECORDS.get(node.op)
        called = list(_called(node)) if record is not None and Trait.CALLS in record.traits else []
        if not called or any(name not in self._library for name in called):
            return every
        if node.op.endswith("While"):
            return self._through_loop(node, source.port)
        first = 0 if record is None or record.signature.inputs[0].is_list else 1
        found = frozenset().union(*(self._results(name, source.port) for name in called))
        return sorted({*range(first), *(first + number for number in found if first + number in every)})

    def _through_loop(self, node: Node, port: int) -> Sequence[int]:
        """What the condition asks for counts, too, since it says how often the body runs."""
        body, condition = (getattr(node.attributes.get(key), "name", "") for key in ("body", "cond"))
        found = {port, *self._results(condition, 0)}
        stack = list(found)
        while stack:
            more = self._results(body, stack.pop()) - found
            found |= more
            stack += more
        return sorted(number for number in found if number < len(node.data_inputs))

    def _results(self, name: str, port: int) -> frozenset[int]:
        """The arguments of a function that a result follows from; none of one that is under way already."""
        called = self._library.get(name)
        if called is None or port >= len(called.outputs):
            return frozenset()
        if (name, port) not in self._of_results:
            self._of_results[name, port] = frozenset()
            by_name = {node.name: node for node in called.nodes}
            wanted = [called.returns[called.outputs[port].name]]
            known = self._followed(by_name, wanted, in_function=True)
            self._of_results[name, port] = frozenset(n for n, one in enumerate(called.inputs) if one.name in known)
        return self._of_results[name, port]

    def arguments(self, name: str) -> frozenset[int]:
        """The arguments of a function that must be known; none of one that is under way already."""
        called = self._library.get(name)
        if called is None:
            return frozenset()
        if name not in self._arguments:
            self._arguments[name] = frozenset()
            wanted = [*called.returns.values(), *(f"^{node}" for node in called.control_returns.values())]
            known = self.nodes(called.nodes, wanted, in_function=True)
            self._arguments[name] = frozenset(n for n, one in enumerate(called.inputs) if one.name in known)
        return self._arguments[name]

    def _asked(self, node: Node) -> Iterator[int]:
        """The numbers of the inputs whose values a node asks for."""
        record = RECORDS.get(node.op)
        if record is None:
            yield from self.arguments(node.op)
            return
        yield from _stated(node, record)
        if Trait.CALLS in record.traits:
            first = 0 if record.signature.inputs[0].is_list else 1
            for name in _called(node):
                yield from (first + number for number in self.arguments(name))


CONSTANT_INPUTS = "_XlaCompileTimeConstantInputs"
"""The attribute of a node that says which of its inputs must be known, whatever its record says."""


def _stated(node: Node, record: Record) -> Iterator[int]:
    """The numbers of the inputs that the node says, or else its record."""
    said = node.attributes.get(CONSTANT_INPUTS)
    names: Sequence[str] = record.constants
    if isinstance(said, AttributeList):
        names = [one.decode() for one in said.values if isinstance(one, bytes)]
    at = 0
    for port in record.signature.inputs:
        count = 1
        if not port.is_one:
            value = node.attributes.get(port.number or port.type)
            count = value if isinstance(value, int) else len(getattr(value, "values", ()))
        if port.name in names:
            yield from range(at, at + count)
        at += count


def _asks_shape(node: Node) -> bool:
    record = RECORDS.get(node.op)
    return record is not None and Trait.ASKS_SHAPE in record.traits


def _called(node: Node) -> Iterator[str]:
    for value in node.attributes.values():
        if isinstance(value, FunctionReference):
            yield value.name
        else:
            yield from (one.name for one in getattr(value, "values", ()) if isinstance(one, FunctionReference))


def _reached(by_name: Mapping[str, Node], fetches: Sequence[str], *, in_function: bool) -> list[Node]:
    """The nodes that fetches need."""
    reached: dict[str, Node] = {}
    stack = list(fetches)
    while stack:
        source = endpoint(stack.pop(), in_function=in_function)
        node = by_name.get(source.node) if source else None
        if node is not None and node.name not in reached:
            reached[node.name] = node
            stack += node.inputs
    return list(reached.values())
