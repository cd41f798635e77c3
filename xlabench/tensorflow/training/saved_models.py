"""`tf.saved_model`: models that files hold, in sessions, and sessions as models, which TensorFlow reads too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from compiler.tf import CompilerError, message_class, parse_message, require_protobuf
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.training.checkpoint_state import FilePath
from xlabench.tensorflow.training.meta_graphs import import_meta_graph
from xlabench.tensorflow.training.saver import Saver

_FILE, _SCHEMA = "saved_model.pb", 1
_VARIABLES = "variables/variables"
_SERVE, _KEY, _METHOD = "serve", "serving_default", "tensorflow/serving/predict"
_STARTS = ("saved_model_main_op", "legacy_init_op")
"""Collections whose one node is run when a model is loaded, as tables are filled (TensorFlow, constants.py)."""
_START = "__saved_model_init_op"


def is_saved_model(export_dir: FilePath) -> bool:
    """Whether there is a model in a folder."""
    return (Path(export_dir) / _FILE).exists()


def load(sess: Any, tags: Iterable[str], export_dir: FilePath, import_scope: str | None = None, **_options: Any) -> Any:
    """Add a model's graph to the default one, and give the variables of a session what the model's hold.

    Args:
        sess: the session, of the default graph.
        tags: those of the graph, all of them.
        export_dir: the folder.
        import_scope: the scope of the nodes, by default none.
        _options: what else TensorFlow takes changes nothing.

    Returns:
        The model's `MetaGraphDef`, whose signatures name inputs and outputs.

    Raises:
        OSError: there is no model.
        RuntimeError: it has no graph of these tags.
        ValueError: it makes no sense, or a name of it is taken.
    """
    folder = Path(export_dir)
    if not is_saved_model(folder):
        raise OSError(f"SavedModel file does not exist at: {folder}/{_FILE}")
    try:
        read = parse_message("SavedModel", (folder / _FILE).read_bytes(), str(folder / _FILE))
    except CompilerError as error:
        raise ValueError(str(error)) from error
    wanted = set(tags)
    graphs = {frozenset(one.meta_info_def.tags): one for one in read.meta_graphs}
    if frozenset(wanted) not in graphs:
        there = "; ".join(", ".join(sorted(one)) for one in graphs)
        raise RuntimeError(
            f"MetaGraphDef associated with tags {str(sorted(wanted))[1:-1]} could not be found in SavedModel: "
            f"there are {there}"
        )
    chosen = message_class("MetaGraphDef").FromString(graphs[frozenset(wanted)].SerializeToString())
    with sess.graph.as_default():
        saver = import_meta_graph(chosen, import_scope=import_scope)
    if saver is not None:
        saver.restore(sess, folder / _VARIABLES)
    start = _start(chosen)
    if start:
        sess.run(sess.graph.as_graph_element(f"{import_scope}/{start}" if import_scope else start))
    return chosen


def _start(model: Any) -> str:
    """The node that is run when a model is loaded, "" where none is."""
    if _START in model.signature_def:
        name: str = model.signature_def[_START].outputs[_START].name
        return name
    listed = (model.collection_def[one].node_list.value for one in _STARTS if one in model.collection_def)
    return next((found[0] for found in listed if found), "")


def simple_save(
    session: Any,
    export_dir: FilePath,
    inputs: Mapping[str, Tensor],
    outputs: Mapping[str, Tensor],
    legacy_init_op: Any = None,
) -> None:
    """Write the graph of a session as a model with the tag `serve` and the signature `serving_default`.

    Args:
        session: whose variables it has.
        export_dir: the folder, which must not be there or be empty.
        inputs: tensors that are fed, by the names that the signature gives them.
        outputs: tensors that are fetched.
        legacy_init_op: an operation that is run when the model is loaded, or None.

    Raises:
        AssertionError: the folder is there.
    """
    require_protobuf("writing a SavedModel")
    folder = Path(export_dir)
    if folder.exists() and any(folder.iterdir()):
        raise AssertionError(f"Export directory already exists, and isn't empty: {folder}")
    with session.graph.as_default():
        saver = Saver(allow_empty=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _VARIABLES).parent.mkdir(exist_ok=True)
    saver.save(session, folder / _VARIABLES, write_meta_graph=False, write_state=False)
    graph = message_class("MetaGraphDef").FromString(saver.exported(session.graph))
    graph.meta_info_def.tags.append(_SERVE)
    signature = graph.signature_def[_KEY]
    signature.method_name = _METHOD
    for side, tensors in ((signature.inputs, inputs), (signature.outputs, outputs)):
        for name, tensor in tensors.items():
            _describe(side[name], tensor)
    if legacy_init_op is not None:
        graph.collection_def[_STARTS[0]].node_list.value.append(legacy_init_op.name)
    made = message_class("SavedModel")(saved_model_schema_version=_SCHEMA, meta_graphs=[graph])
    (folder / _FILE).write_bytes(made.SerializeToString())


def _describe(info: Any, tensor: Tensor) -> None:
    info.name, info.dtype = tensor.name, tensor.dtype.base_dtype.data_type.number
    sizes: Sequence[Any] | None = None if tensor.shape.rank is None else tensor.shape.as_list()
    info.tensor_shape.unknown_rank = sizes is None
    for size in sizes or ():
        info.tensor_shape.dim.add(size=-1 if size is None else size)
