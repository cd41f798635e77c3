"""What must hold of a graph before anything is made of it; every violation is said, with the node it is about.

| rule             | what it says                                                                        |
|------------------|-------------------------------------------------------------------------------------|
| `name`           | nodes, arguments and functions have names that inputs can spell, and nodes have ops |
| `duplicate-name` | no two nodes of a graph or a function, and no two functions, have the same          |
| `input-form`     | an input is `node`, `node:port` or `^node`; what is waited for comes last           |
| `unknown-input`  | what an input names is there                                                        |
| `port`           | the node has so many outputs                                                        |
| `cycle`          | nothing waits for itself but through a loop: what `Merge` takes of `NextIteration`  |
| `return`         | each output of a function is something of its body, and nothing else is             |

How many outputs a node has the graph alone does not say: a caller that knows ops gives a function for it, and calls
of the library's functions are counted here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from compiler.diagnostics import Finding, VerifyError, did_you_mean
from compiler.graph.graph import Argument, Function, Graph, Node
from compiler.graph.names import Endpoint, endpoint, is_control, is_name

Outputs = Callable[[Node], int | None]
"""The number of a node's outputs, None where nobody knows."""

_LOOP_ENTRIES = frozenset({"Merge", "RefMerge"})
_LOOP_EXITS = frozenset({"NextIteration", "RefNextIteration"})
_LONGEST_CYCLE = 8
"""Nodes of a cycle that a message names."""


def nobody_knows(_node: Node) -> int | None:
    """How many outputs a node has, to a reader that knows no ops."""
    return None


def verify(graph: Graph, outputs: Outputs = nobody_knows, context: str = "") -> None:
    """Check a graph against every rule.

    Args:
        graph: what is checked.
        outputs: how many outputs a node has, by what is known of ops.
        context: what messages begin with.

    Raises:
        VerifyError: some do not hold; it carries every violation.
    """
    findings = list(violations(graph, outputs))
    if findings:
        raise VerifyError(findings, context, what="graph")


def violations(graph: Graph, outputs: Outputs = nobody_knows) -> Iterator[Finding]:
    """Every violation of a rule."""
    library: dict[str, Function] = {}
    for function in graph.functions:
        if function.name in library:
            yield Finding("duplicate-name", f"function {function.name!r}", "two functions have this name")
        library[function.name] = function

    def counted(node: Node) -> int | None:
        called = library.get(node.op)
        if called is None:
            return outputs(node)
        return len(called.outputs) if all(result.is_one for result in called.outputs) else None

    yield from _body(graph.nodes, (), "", counted, in_function=False)
    for function in graph.functions:
        where = f"function {function.name!r}, "
        if not function.name:
            yield Finding("name", "the library", "a function has no name")
        yield from _body(function.nodes, function.inputs, where, counted, in_function=True)
        yield from _returns(function, where)


def _body(
    nodes: Sequence[Node], arguments: Sequence[Argument], where: str, outputs: Outputs, *, in_function: bool
) -> Iterator[Finding]:
    """What is wrong about nodes and their inputs."""
    known: dict[str, Node | Argument] = {argument.name: argument for argument in arguments}
    if len(known) < len(arguments):
        yield Finding("duplicate-name", where.rstrip(", "), "two arguments have the same name")
    for node in nodes:
        at = f"{where}node {node.name!r}"
        if not is_name(node.name):
            yield Finding("name", at, "its name is not one that inputs can spell: letters, digits and _ . / \\ > -")
        if not node.op:
            yield Finding("name", at, "it has no op")
        if node.name in known:
            other = "a node" if isinstance(known[node.name], Node) else "an argument"
            yield Finding("duplicate-name", at, f"{other} before it has the same name")
        known[node.name] = node
    for node in nodes:
        at = f"{where}node {node.name!r}"
        waits = False
        for number, text in enumerate(node.inputs):
            if waits and not is_control(text):
                yield Finding("input-form", at, f"input {number}, {text!r}, stands after what it only waits for")
            waits = waits or is_control(text)
            yield from _input(text, f"{at}, input {number}", known, outputs, in_function=in_function)
    yield from _cycles(nodes, where, in_function=in_function)


def _input(
    text: str, at: str, known: Mapping[str, Node | Argument], outputs: Outputs, *, in_function: bool
) -> Iterator[Finding]:
    found = endpoint(text, in_function=in_function)
    if found is None:
        forms = "node:output:port, an argument" if in_function else "node:port"
        yield Finding("input-form", at, f"{text!r} is none of the forms node, {forms} and ^node")
        return
    if found.node not in known:
        yield Finding("unknown-input", at, f"no node is named {found.node!r}" + did_you_mean(found.node, known))
        return
    source = known[found.node]
    if isinstance(source, Argument):
        if found.output or (found.port > 0 and source.is_one):
            yield Finding("port", at, f"{text!r} is no output of an argument")
        return
    if not found.output:
        yield from _port(found, source, at, outputs)


def _port(found: Endpoint, source: Node, at: str, outputs: Outputs) -> Iterator[Finding]:
    count = outputs(source)
    if count is not None and found.port >= count:
        has = "has no outputs" if not count else "has one output" if count == 1 else f"has {count} outputs"
        yield Finding("port", at, f"output {found.port} of {source.name!r}, but {source.op} {has}, counted from 0")


def _cycles(nodes: Sequence[Node], where: str, *, in_function: bool) -> Iterator[Finding]:
    """A cycle, if there is one: nodes are taken away that wait for nothing that is left, until none can be."""
    by_name = {node.name: node for node in nodes}
    waiting: dict[str, set[str]] = {
        name: _predecessors(node, by_name, in_function=in_function) for name, node in by_name.items()
    }
    users: dict[str, list[str]] = {name: [] for name in by_name}
    for name, sources in waiting.items():
        for source in sources:
            users[source].append(name)
    ready = [name for name, sources in waiting.items() if not sources]
    left = {name: len(sources) for name, sources in waiting.items()}
    while ready:
        done = ready.pop()
        del left[done]
        for user in users[done]:
            left[user] -= 1
            if not left[user]:
                ready.append(user)
    if left:
        yield _cycle_among(left, waiting, where)


def _cycle_among(left: Collection[str], waiting: Mapping[str, set[str]], where: str) -> Finding:
    """The finding about a cycle among nodes each of which waits for another of them."""
    path: dict[str, int] = {}
    name = min(left)
    while name not in path:
        path[name] = len(path)
        name = min(source for source in waiting[name] if source in left)
    around = list(path)[path[name] :][::-1]
    first = around.index(min(around))
    cycle = around[first:] + around[:first]
    shown = cycle if len(cycle) <= _LONGEST_CYCLE else [*cycle[: _LONGEST_CYCLE - 1], f"({len(cycle)} nodes)"]
    at = f"{where}node {cycle[0]!r}"
    return Finding("cycle", at, f"it waits for itself: {' -> '.join([*shown, cycle[0]])}")


def _predecessors(node: Node, by_name: Mapping[str, Node], *, in_function: bool) -> set[str]:
    """The nodes that one waits for, but those that give a loop's next value to its entry."""
    sources = (endpoint(text, in_function=in_function) for text in node.inputs)
    names = {source.node for source in sources if source is not None and source.node in by_name}
    if node.op in _LOOP_ENTRIES:
        names = {name for name in names if by_name[name].op not in _LOOP_EXITS}
    return names


def _returns(function: Function, where: str) -> Iterator[Finding]:
    known = {argument.name for argument in function.inputs} | {node.name for node in function.nodes}
    declared = [result.name for result in function.outputs]
    for name in declared:
        if name not in function.returns:
            yield Finding("return", f"{where}output {name!r}", "nothing is returned for it")
    for name, text in function.returns.items():
        at = f"{where}output {name!r}"
        if name not in declared:
            yield Finding("return", at, "the signature has no such output" + did_you_mean(name, declared))
        source = endpoint(text, in_function=True)
        if source is None or source.port < 0:
            yield Finding("input-form", at, f"{text!r} is none of the forms node:output:port and an argument")
        elif source.node not in known:
            yield Finding("unknown-input", at, f"no node is named {source.node!r}" + did_you_mean(source.node, known))
    for name, text in function.control_returns.items():
        if text not in {node.name for node in function.nodes}:
            yield Finding("unknown-input", f"{where}control output {name!r}", f"no node is named {text!r}")
