"""Variables of graphs that files hold, as `tf.Variable`: of nodes that are there, by the names that files give.

Those of TensorFlow 1 are references: what they hold is read by the node that its program made for it, and written by
ops that take references.
"""

from __future__ import annotations

from typing import Any

from compiler.tf import message_class
from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import of_data_type
from xlabench.tensorflow.framework.graph import Graph
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.framework.variables import Variable

_OF_REFERENCES = {"AssignVariableOp": "Assign", "AssignAddVariableOp": "AssignAdd", "AssignSubVariableOp": "AssignSub"}


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
        self._is_reference = not said.is_resource

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether it has a value."""
        op = "IsVariableInitialized" if self._is_reference else "VarIsInitializedOp"
        return apply(op, [self.handle], {}, name).outputs[0]

    def _read(self, name: str | None = None) -> Tensor:
        if self._is_reference:
            return apply("Identity", [self.handle], {}, name).outputs[0]
        return super()._read(name)

    def _written(self, op: str, value: Any, name: str | None, *, read_value: bool) -> Any:
        if not self._is_reference:
            return super()._written(op, value, name, read_value=read_value)
        given = convert_to_tensor(value, self._dtype)
        found = apply(_OF_REFERENCES[op], [self.handle, given], {}, name)
        return found.outputs[0] if read_value else found
