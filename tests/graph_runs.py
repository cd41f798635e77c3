"""What a graph computes, node by node, in the plainest way: each op by its lowering alone, on the reference.

Dead tensors go from `Switch` on to `Merge`, variables are a dictionary, and what compiles and runs clusters is asked of
a `DeviceCompiler`.  `Stop`, which no cluster holds, gives what it takes.
"""

import numpy as np

import compiler
from compiler.graph import Graph, Node
from compiler.graph.names import endpoint
from compiler.ir.shape import ArrayShape
from compiler.ir.types import of_dtype
from compiler.jit import DeviceCompiler, Mode, on_reference
from compiler.tf2xla import Resource, lower
from compiler.tf2xla.node_types import input_types, output_names

DEAD = object()


class Run:
    """One run of a graph, on what variables hold, which it changes."""

    def __init__(self, graph, variables, flags=None):
        self._library = {function.name: function for function in graph.functions}
        self._compiler = DeviceCompiler(graph, on_reference(), **({"flags": flags} if flags else {}))
        self.variables = variables
        self.compiled = 0

    def values(self, graph, fed):
        """The outputs of every node, by its name."""
        found = dict(fed)
        waiting = {node.name: node for node in graph.nodes if node.name not in found}
        while waiting:
            ready = [n for n in waiting.values() if all(self._source(text) in found for text in n.inputs)]
            assert ready, "a graph without cycles has a node that waits for nothing"
            for node in ready:
                found[node.name] = self._run(node, [self._at(text, found) for text in node.inputs])
                del waiting[node.name]
        return found

    @staticmethod
    def _source(text):
        return text.removeprefix("^").partition(":")[0]

    def _at(self, text, found):
        outputs = found[self._source(text)]
        if outputs is DEAD or (outputs and all(one is DEAD for one in outputs)):
            return DEAD
        return None if text.startswith("^") else outputs[endpoint(text).port]

    def _run(self, node, inputs):
        data = inputs[: len(node.data_inputs)]
        if node.op in ("Merge", "_XlaMerge"):
            return [next((one for one in data if one is not DEAD), DEAD)]
        if DEAD in [one if one is DEAD else None for one in inputs]:
            return DEAD
        special = _SPECIAL.get(node.op)
        return special(self, node, data) if special else self._lowered(node, data)

    def _lowered(self, node, data):
        if node.op in self._library:
            return self._call(node.op, data)
        names = [f"in{number}" for number in range(len(data))]
        types = input_types(node, {})
        feeds = [Node(name, "Placeholder", (), "", {"dtype": kind}) for name, kind in zip(names, types, strict=True)]
        alone = Graph([*feeds, Node("n", node.op, tuple(names), "", node.attributes)])
        fetches = [f"n:{port}" for port in range(len(output_names(node, {})))]
        made = lower(alone, dict(zip(names, data, strict=True)), fetches or ["^n"])
        return list(compiler.interpret(made.module, *(made.values[name] for name in made.inputs)))

    def _call(self, name, data):
        """A function's results, its body run node by node."""
        function = self._library[name]
        flat = {
            f"{node.name}:{spelled}": f"{node.name}:{port}"
            for node in function.nodes
            for port, spelled in enumerate(output_names(node, self._library))
        }
        nodes = [
            Node(n.name, n.op, tuple(flat.get(text, text) for text in n.inputs), n.device, n.attributes)
            for n in function.nodes
        ]
        fed = {argument.name: [value] for argument, value in zip(function.inputs, data, strict=True)}
        found = self.values(Graph(nodes), fed)
        return [self._at(flat.get(text, text), found) for text in function.returns.values()]

    def _same(self, node, data):
        return data

    def _nothing(self, node, data):
        return []

    def _switch(self, node, data):
        value, chosen = data
        return [DEAD, value] if chosen else [value, DEAD]

    def _handle(self, node, data):
        return [node.name]

    def _read(self, node, data):
        return [self.variables[data[0]]]

    def _assign(self, node, data):
        self.variables[data[0]] = data[1]
        return []

    def _assign_add(self, node, data):
        self.variables[data[0]] = self.variables[data[0]] + data[1]
        return []

    def _called(self, node, data):
        return self._call(node.attributes["f"].name, data)

    def _compile(self, node, data):
        name = node.attributes["function"].name
        arguments = [self._argument(one) for one in data]
        mode = Mode.STRICT if node.attributes["must_compile"] else Mode.LAZY
        executable = self._compiler.compile(name, arguments, mode)
        self.compiled += executable is not None
        return [(executable, arguments), executable is not None]

    def _argument(self, one):
        if not isinstance(one, str):
            return np.asarray(one)
        value = np.asarray(self.variables[one])
        return Resource(one, ArrayShape(of_dtype(value.dtype), value.shape))

    def _run_compiled(self, node, data):
        executable, arguments = data[-1]
        results, written = executable(arguments, self.variables)
        self.variables |= written
        return results


_SPECIAL = {
    **dict.fromkeys(("_Retval", "Stop", "Identity"), Run._same),
    "NoOp": Run._nothing,
    "Switch": Run._switch,
    "VarHandleOp": Run._handle,
    "ReadVariableOp": Run._read,
    "AssignVariableOp": Run._assign,
    "AssignAddVariableOp": Run._assign_add,
    **dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall"), Run._called),
    "_XlaCompile": Run._compile,
    "_XlaRun": Run._run_compiled,
}
