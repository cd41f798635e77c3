"""Functions as lists of nodes in the spelling of graphs, and back.

Passes that take nodes out of graphs into functions work on graphs and on bodies of functions alike: an argument is an
`_Arg`, a result what an `_Retval` takes, each with its number, and what a function runs besides its results an
`_Retval` waits for.  So a pass that moves nodes moves what leaves a function, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from compiler.diagnostics import UnsupportedError
from compiler.graph import Argument, DataType, Function, FunctionReference, Node
from compiler.graph.names import Names, argument_name, endpoint, is_control
from compiler.tf2xla.node_types import output_names, output_types, type_at

ARGUMENT, RESULT = "_Arg", "_Retval"


class FunctionLibrary:
    """The functions of a graph, of which passes make more."""

    def __init__(self, functions: Sequence[Function]) -> None:
        """Begin with those of a graph; of several of one name the last counts."""
        self.functions = {function.name: function for function in functions}
        self._names = Names(self.functions)

    def add(self, name: str, nodes: Sequence[Node]) -> FunctionReference:
        """A function of nodes, under this name or one like it."""
        free = self._names.free(name.replace("/", "_"))
        names = Names(node.name for node in nodes)
        arguments = _numbered(nodes, ARGUMENT)
        inputs = tuple(Argument(names.free(argument_name(node.name)), argument_type(node).base) for node in arguments)
        spelled = {node.name: one.name for node, one in zip(arguments, inputs, strict=True)}
        results = _numbered(nodes, RESULT)
        outputs = tuple(Argument(f"output_{number}", argument_type(node).base) for number, node in enumerate(results))
        self.functions[free] = self._closed(Function(free, inputs, outputs), nodes, spelled)
        return FunctionReference(free)

    def opened(self, function: Function) -> list[Node]:
        """The nodes of a function, its arguments and results among them.

        Raises:
            UnsupportedError: an argument of it is several tensors.
        """
        for port in (*function.inputs, *function.outputs):
            if not port.is_one:
                reason = f"it has loops or branches of TensorFlow 1, and {port.name!r} is several tensors"
                raise UnsupportedError(f"function {function.name!r}", "the lowering to HLO", reason)
        by_name = {node.name: node for node in function.nodes}
        names = Names([*by_name, *(one.name for one in function.inputs)])
        waits = tuple(f"^{node}" for node in function.control_returns.values())
        arguments = [argument(one.name, one.type, number) for number, one in enumerate(function.inputs)]
        nodes = [
            replace(node, inputs=tuple(self._flat(text, by_name) for text in node.inputs)) for node in function.nodes
        ]
        returned = [self._flat(function.returns[one.name], by_name) for one in function.outputs]
        results = [
            result(names.free(f"{one.name}_retval"), [text], one.type, number)
            for number, (text, one) in enumerate(zip(returned, function.outputs, strict=True))
        ]
        return [*arguments, *nodes, *results, *([Node(names.free("runs"), RESULT, waits)] if waits else [])]

    def rewritten(self, function: Function, nodes: Sequence[Node]) -> Function:
        """A function with other nodes, that were made of its own."""
        return self._closed(function, nodes, {one.name: one.name for one in function.inputs})

    def type_of(self, text: str, nodes: dict[str, Node]) -> DataType:
        """The type of an output; where it is not known, none."""
        source = endpoint(text)
        assert source is not None, "the graph is verified"
        found = type_at(output_types(nodes[source.node], self.functions), source.port)
        return found or DataType(0)

    def _flat(self, text: str, nodes: dict[str, Node]) -> str:
        source = endpoint(text, in_function=True)
        assert source is not None, "the graph is verified"
        if is_control(text) or source.node not in nodes or not source.output:
            return text
        names = output_names(nodes[source.node], self.functions)
        named = f"{source.output}:{source.port}"
        port = names.index(named) if named in names else source.port
        return f"{source.node}:{port}" if port else source.node

    def _closed(self, function: Function, nodes: Sequence[Node], arguments: dict[str, str]) -> Function:
        """A function with its body, in which arguments have these names."""
        by_name = {node.name: node for node in nodes}

        def spelled(text: str) -> str:
            source = endpoint(text)
            assert source is not None, "the graph is verified"
            if is_control(text) or source.node in arguments:
                return arguments.get(source.node, text)
            names = output_names(by_name[source.node], self.functions) or ["output:0"]
            return f"{source.node}:{names[min(source.port, len(names) - 1)]}"

        def inputs_of(node: Node) -> Iterator[str]:
            for text in node.inputs:
                if not is_control(text) or text[1:] not in arguments:
                    yield spelled(text)

        inner = [node for node in nodes if node.op not in (ARGUMENT, RESULT)]
        returned = [node.inputs[0] for node in _numbered(nodes, RESULT)]
        ends = (node for node in nodes if node.op == RESULT)
        runs = dict.fromkeys(text for node in ends for text in inputs_of(node) if is_control(text))
        return replace(
            function,
            nodes=[replace(node, inputs=tuple(inputs_of(node))) for node in inner],
            returns={one.name: spelled(text) for one, text in zip(function.outputs, returned, strict=True)},
            control_returns={text[1:]: text[1:] for text in runs},
        )


def argument(name: str, data_type: DataType, number: int) -> Node:
    """An argument.

    Args:
        name: of the node.
        data_type: of the argument.
        number: of the argument.
    """
    return Node(name, ARGUMENT, attributes={"T": data_type, "index": number})


def result(name: str, inputs: Sequence[str], data_type: DataType, number: int) -> Node:
    """A result, and what it waits for.

    Args:
        name: of the node.
        inputs: what is given, and what it waits for.
        data_type: of the result.
        number: of the result.
    """
    return Node(name, RESULT, tuple(inputs), attributes={"T": data_type, "index": number})


def _numbered(nodes: Sequence[Node], op: str) -> list[Node]:
    """The arguments, or the results, in order."""
    found = [(node.attributes.get("index"), node) for node in nodes if node.op == op]
    return [node for _, node in sorted(((n, node) for n, node in found if isinstance(n, int)), key=itemgetter(0))]


def argument_type(node: Node) -> DataType:
    """The type that an `_Arg`, an `_Retval` or an op of control flow states; of one for references these."""
    stated = node.attributes.get("T")
    if not isinstance(stated, DataType):
        return DataType(0)
    return stated.reference if node.op.startswith("Ref") else stated
