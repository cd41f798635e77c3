"""Collections of a graph in files: variables by the names of their nodes, tensors and operations by their own."""

from __future__ import annotations

from typing import Any

from compiler.tf import message_class
from xlabench.tensorflow.framework.graph import Graph
from xlabench.tensorflow.framework.imported_variables import ImportedVariable
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.tensor import Operation, Tensor
from xlabench.tensorflow.framework.variables import Variable

_OF_VARIABLES = frozenset(
    (
        GraphKeys.GLOBAL_STEP,
        GraphKeys.GLOBAL_VARIABLES,
        GraphKeys.LOCAL_VARIABLES,
        GraphKeys.MODEL_VARIABLES,
        GraphKeys.TRAINABLE_VARIABLES,
    )
)
"""Collections whose values are variables."""


def collections(graph: Graph) -> bytes:
    """The collections of a graph, as a piece of a `MetaGraphDef`; those of other things are left out."""
    made = message_class("MetaGraphDef")()
    for name in graph.get_all_collection_keys():
        values = graph.get_collection(name)
        if name in _OF_VARIABLES and all(isinstance(one, Variable) for one in values):
            encoded = (_described(one).SerializeToString() for one in values)
            made.collection_def[name].bytes_list.value.extend(encoded)
        elif all(isinstance(one, Tensor | Operation) for one in values):
            made.collection_def[name].node_list.value.extend(one.name for one in values)
    encoded_whole: bytes = made.SerializeToString(deterministic=True)
    return encoded_whole


def _described(variable: Variable) -> Any:
    return message_class("VariableDef")(
        variable_name=variable.name,
        initializer_name=variable.initializer.name,
        snapshot_name=variable.graph_element.name,
        initial_value_name=variable.initial_value.name,
        is_resource=not variable.is_reference,
        trainable=variable.trainable,
    )


def collect(graph: Graph, read: Any, scope: str) -> None:
    """Add what a file says of collections: variables, and tensors and operations by their names.

    Args:
        graph: whose collections they are.
        read: a `MetaGraphDef`.
        scope: before each name, with a `/` at its end where there is one.
    """
    variables: dict[bytes, ImportedVariable] = {}
    for name, values in sorted(read.collection_def.items()):
        for text in values.node_list.value:
            graph.add_to_collection(name, graph.as_graph_element(scope + text))
        for encoded in values.bytes_list.value if name in _OF_VARIABLES else ():
            if encoded not in variables:
                variables[encoded] = ImportedVariable(graph, encoded, scope)
            graph.add_to_collection(name, variables[encoded])
