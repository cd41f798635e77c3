"""`tf.train.Saver`: variables of a session as checkpoints, which TensorFlow reads and writes too.

The nodes are those of TensorFlow, under its names, so that a graph that was written with a saver can be restored by
the names in its `.meta`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compiler.tf import AttributeList, require_protobuf
from xlabench.tensorflow import errors
from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import constant
from xlabench.tensorflow.framework.graph import Graph, get_default_graph
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops.control import group
from xlabench.tensorflow.training.checkpoint_state import (
    STATE,
    FilePath,
    checkpoint_exists,
    remove_checkpoint,
    update_checkpoint_state,
)
from xlabench.tensorflow.training.meta_graph_files import message_of, written

_FAILED = (
    "Restoring from checkpoint failed. This is most likely due to {} the checkpoint. Please ensure that you have not "
    "altered the graph expected based on the checkpoint. Original error:\n\n{}"
)
_MISSING = "a Variable name or other graph key that is missing from"
_MISMATCH = "a mismatch between the current graph and the graph from"


class Saver:
    """Saves and restores variables."""

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: Any = None,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        """Add the nodes that save and restore.

        Args:
            var_list: variables, or variables by the keys that they are saved under; by default all.
            reshape: whether a value may have other sizes than its variable, as long as they fit.
            sharded: must be left out, as must `saver_def` and `builder`.
            max_to_keep: how many checkpoints are kept, all with 0 or None.
            keep_checkpoint_every_n_hours: how often one is kept for good.
            name: the scope of the nodes, by default `save`.
            restore_sequentially: changes nothing: one node restores all.
            saver_def: must be left out.
            builder: must be left out.
            defer_build: whether nodes are added by `build`, or when something is saved, instead.
            allow_empty: whether there may be no variables.
            write_version: changes nothing: what is written is version 2.
            pad_step_number: whether numbers of steps have eight digits in names of files.
            save_relative_paths: whether the file `checkpoint` says where they are from its own folder.
            filename: the file's name, where none is given.

        Raises:
            ValueError: there are no variables, or two have one key.
            NotHereError: savers are to be made of what is not here.
        """
        for word, given in (("saver_def", saver_def), ("builder", builder), ("sharded", sharded)):
            if given:
                raise errors.NotHereError(f"tf.train.Saver({word}=) is not there: leave it out")
        require_protobuf("saving variables")
        self._listed = var_list
        self._reshapes = reshape
        self._kept_count = max_to_keep or 0
        self._hours = keep_checkpoint_every_n_hours
        self._name = name
        self._allow_empty = allow_empty
        self._pads = pad_step_number
        self._relative = save_relative_paths
        self._filename = filename or "model"
        self._last: list[tuple[str, float]] = []
        self._next_for_good = time.time() + self._hours * 3600
        self._nodes: Mapping[str, Any] = {}
        self._is_built = False
        if not defer_build:
            self.build()

    @classmethod
    def of_nodes(cls, file: Tensor, path: Tensor, restore: Any) -> Saver:
        """The saver of nodes that are there.

        Args:
            file: the tensor that is the file's name.
            path: the tensor that is it, too, once all is saved.
            restore: the operation that restores.
        """
        saver = cls(defer_build=True)
        saver._nodes = {"file": file, "path": path, "restore": restore}
        saver._is_built = True
        return saver

    def build(self) -> None:
        """Add the nodes, if that was put off."""
        if self._is_built:
            return
        keyed = self._by_key()
        self._is_built = True
        if keyed:
            self._nodes = self._built(keyed)

    def _by_key(self) -> dict[str, Variable]:
        given = self._listed
        if given is None:
            given = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
        pairs = list(given.items()) if isinstance(given, Mapping) else [(one.op.name, one) for one in given]
        if not pairs and not self._allow_empty:
            raise ValueError("No variables to save")
        keyed: dict[str, Variable] = {}
        for key, variable in pairs:
            if not isinstance(variable, Variable):
                raise TypeError(f"Variable to save is not a Variable: {variable!r}")
            if key in keyed:
                raise ValueError(f"At least two variables have the same name: {key}")
            keyed[key] = variable
        return dict(sorted(keyed.items()))

    def _built(self, keyed: Mapping[str, Variable]) -> Mapping[str, Any]:
        graph = get_default_graph()
        keys = list(keyed)
        with graph.control_dependencies(None), graph.name_scope(self._name or "save"):
            given = output_of("PlaceholderWithDefault", self._filename, shape=[], name="filename")
            file = output_of("PlaceholderWithDefault", given, shape=[], name="Const")
            held = [one.graph_element for one in keyed.values()]
            saved = apply("SaveV2", [file, *_whole("SaveV2", keys), held], {}, "SaveV2")
            with graph.control_dependencies([saved]):
                path = output_of("Identity", file, name="control_dependency")
            types = AttributeList("type", tuple(one.dtype.data_type for one in keyed.values()))
            found = apply("RestoreV2", [file, *_whole("RestoreV2", keys)], {"dtypes": types}, "RestoreV2").outputs
            restored = group(
                *(self._put(*pair) for pair in zip(keyed.values(), found, strict=True)), name="restore_all"
            )
        return {"file": file, "path": path, "restore": restored}

    def _put(self, variable: Variable, value: Tensor) -> Any:
        if self._reshapes:
            value = output_of("Reshape", value, variable.shape.as_list())
        else:
            value = output_of("EnsureShape", value, shape=variable.shape, name="Identity")
        return apply(variable.writer("AssignVariableOp"), [variable.handle, value], {}, "AssignVariableOp")

    # Saving.

    def save(
        self,
        sess: Any,
        save_path: FilePath,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Write the variables of a session.

        Args:
            sess: the session.
            save_path: the path of the checkpoint, without the endings of its files.
            global_step: the number of steps, or a variable that holds it, which is added to the path.
            latest_filename: the file that says which checkpoint is the last one.
            meta_graph_suffix: the ending of the file with the graph.
            write_meta_graph: whether that is written.
            write_state: whether it is said which checkpoint is the last one.
            strip_default_attrs: changes nothing.
            save_debug_info: changes nothing.

        Returns:
            The path of the checkpoint, None where there are no variables.

        Raises:
            ValueError: the folder that its folder lies in is not there.
        """
        self.build()
        path = str(os.fspath(save_path))
        if global_step is not None:
            step = (
                sess.run(global_step) if hasattr(global_step, "dtype") and hasattr(global_step, "op") else global_step
            )
            path = f"{path}-{int(step):08d}" if self._pads else f"{path}-{int(step)}"
        try:
            Path(path).parent.mkdir(exist_ok=True)
        except OSError as error:
            raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.") from error
        if not self._nodes:
            return None
        sess.run(self._nodes["path"], {self._nodes["file"]: path})
        if write_state:
            self._note(path, latest_filename or STATE, meta_graph_suffix)
        if write_meta_graph:
            self.export_meta_graph(f"{path}.{meta_graph_suffix}")
        return path

    def export_meta_graph(
        self,
        filename: FilePath | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        **_options: Any,
    ) -> Any:
        """The graph, with the names of the nodes that save and restore, as a message `MetaGraphDef`.

        It is written to `filename` where that is not None, as text where `as_text`; `collection_list`, `export_scope`
        and `clear_devices` are as of `tf.train.export_meta_graph`, and what else TensorFlow takes (`_options`) changes
        nothing.

        Raises:
            NotHereError: a scope is to be written alone.
        """
        if export_scope is not None:
            raise errors.NotHereError("Saver.export_meta_graph of a scope is not there: leave export_scope out")
        graph = self._nodes["file"].graph if self._nodes else get_default_graph()
        options = {"collection_list": collection_list, "as_text": as_text, "clear_devices": clear_devices}
        return written(self._message(graph), filename, options)

    def exported(self, graph: Graph) -> bytes:
        """A `MetaGraphDef` of a graph, its collections, and the names of the nodes that save and restore, as bytes."""
        encoded: bytes = self._message(graph).SerializeToString(deterministic=True)
        return encoded

    def _message(self, graph: Graph) -> Any:
        names = {}
        if self._nodes:
            words = {"filename_tensor_name": "file", "save_tensor_name": "path", "restore_op_name": "restore"}
            names = {field: self._nodes[word].name for field, word in words.items()}
        return message_of(graph, names)

    def _note(self, path: str, filename: str, suffix: str) -> None:
        """Say that this is the last checkpoint, and remove those that are not kept."""
        self._last = [one for one in self._last if one[0] != path] + [(path, time.time())]
        while self._kept_count and len(self._last) > self._kept_count:
            oldest, written = self._last.pop(0)
            if written > self._next_for_good:
                self._next_for_good += self._hours * 3600
                continue
            remove_checkpoint(oldest, meta_graph_suffix=suffix)
        update_checkpoint_state(Path(path).parent, path, self.last_checkpoints, filename, relative=self._relative)

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of the checkpoints that are kept, the oldest first."""
        return [path for path, _ in self._last]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Say which checkpoints there are, the oldest first."""
        self._last = [(one, time.time()) for one in last_checkpoints]

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Say which checkpoints there are; those whose files are gone are left out."""
        self.set_last_checkpoints([one for one in checkpoint_paths if checkpoint_exists(one)])

    # Restoring.

    def restore(self, sess: Any, save_path: FilePath | None) -> None:
        """Give the variables of a session the values of a checkpoint.

        Raises:
            ValueError: there is no such checkpoint.
            NotFoundError: it has no value for a variable.
            InvalidArgumentError: a value has other sizes, or another type, than its variable.
        """
        self.build()
        if not self._nodes:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = str(os.fspath(save_path))
        if not checkpoint_exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        try:
            sess.run(self._nodes["restore"], {self._nodes["file"]: path})
        except (errors.NotFoundError, errors.InvalidArgumentError) as error:
            is_missing = isinstance(error, errors.NotFoundError)
            cause = _MISSING if is_missing else _MISMATCH
            raise type(error)(error.node_def, error.op, _FAILED.format(cause, error.message)) from error


def _whole(op: str, keys: Sequence[str]) -> list[Tensor]:
    """What tells an op which tensors it saves or restores: their keys, and that each is one whole."""
    said = {"tensor_names": keys, "shape_and_slices": [""] * len(keys)}
    return [constant(list(values), "string", name=f"{op}/{word}") for word, values in said.items()]
