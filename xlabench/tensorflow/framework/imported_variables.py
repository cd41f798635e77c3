"""Variables of graphs that files hold, as `tf.Variable`: of nodes that are there, by the names that files give.

Those of TensorFlow 1 are references: what they hold is read by the node that its program made for it, and written by
ops that take references.
"""

from __future__ import annotations

from typing import Any

from compiler.tf import message_class
from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import of_data_type
from xlabench.tensorflow.framework.graph import Graph
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.framework.variables import Variable, first_value

_OF_REFERENCES = {"AssignVariableOp": "Assign", "AssignAddVariableOp": "AssignAdd", "AssignSubVariableOp": "AssignSub"}
_ON_RESOURCE = "Resource"
"""How the name begins of an op on a resource that has the rest of its name on a reference."""


class ImportedVariable(Variable):
    """A variable whose nodes are there."""

    def __init__(self, graph: Graph, encoded: bytes, scope: str) -> None:
        """Find the nodes.

        Args:
            graph: where they are.
            encoded: a `VariableDef`, which names them.
            scope: before each name, with a `/` at its end where there is one.

        Raises:
            KeyError: one is not there.
        """
        said = message_class("VariableDef").FromString(encoded)
        self._graph = graph
        self.constraint = None
        self.trainable = said.trainable
        self.handle = graph.get_tensor_by_name(scope + said.variable_name)
        self._initializer = graph.get_operation_by_name(scope + said.initializer_name)
        self._snapshot = graph.get_tensor_by_name(scope + said.snapshot_name)
        first = said.initial_value_name
        self._initial = graph.get_tensor_by_name(scope + first) if first else self._initializer.inputs[1]
        stated = self.handle.op.built.node.attributes
        self._dtype = of_data_type(stated["dtype"])  # type: ignore[arg-type]  # of a variable it is one
        self._shape = TensorShape(stated["shape"])
        self.is_reference = not said.is_resource

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether it has a value."""
        op = "IsVariableInitialized" if self.is_reference else "VarIsInitializedOp"
        return output_of(op, self.handle, name=name)

    def _read(self, name: str | None = None) -> Tensor:
        if self.is_reference:
            return output_of("Identity", self.handle, name=name)
        return super()._read(name)

    def writer(self, op: str) -> str:
        """The op that does to a reference what `op` does to a resource."""
        return _OF_REFERENCES.get(op, op.removeprefix(_ON_RESOURCE)) if self.is_reference else op

    def slot(self, value: Any, name: str) -> Variable:
        """A variable that an optimizer keeps beside it: a reference beside a reference, as their ops take no others."""
        return _reference(self._graph, value, name) if self.is_reference else super().slot(value, name)

    def _written(self, op: str, value: Any, name: str | None, *, read_value: bool) -> Any:
        if not self.is_reference:
            return super()._written(op, value, name, read_value=read_value)
        given = convert_to_tensor(value, self._dtype)
        found = apply(self.writer(op), [self.handle, given], {}, name)
        return found.outputs[0] if read_value else found


def _reference(graph: Graph, value: Any, name: str) -> ImportedVariable:
    """A new variable that is a reference, with the nodes that TensorFlow 1 makes for it."""
    with graph.name_scope(name) as scope:
        first = first_value(graph, value)
        stated = {"dtype": first.dtype.data_type, "shape": first.shape.partial}
        handle = graph.create("VariableV2", [], stated, scope).outputs[0]
        assign = apply("Assign", [handle, first], {}, f"{scope}Assign/")
        read = output_of("Identity", handle, name=f"{scope}read/")
    names = {"variable_name": handle.name, "initializer_name": assign.name, "snapshot_name": read.name}
    said = message_class("VariableDef")(**names, initial_value_name=first.name)
    made = ImportedVariable(graph, said.SerializeToString(), "")
    graph.add_to_collection(GraphKeys.GLOBAL_VARIABLES, made)
    return made
