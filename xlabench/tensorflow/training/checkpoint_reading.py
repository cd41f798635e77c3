"""What is in a checkpoint, without a graph: names, types, sizes and values of its tensors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from compiler.tf import BY_NAME, CompilerError, read_checkpoint
from xlabench.tensorflow.errors import DataLossError, NotFoundError
from xlabench.tensorflow.framework.dtypes import DType, of_data_type
from xlabench.tensorflow.training.checkpoint_state import FilePath, checkpoint_exists, latest_checkpoint


class CheckpointReader:
    """The tensors of a checkpoint, by their names."""

    def __init__(self, filepattern: FilePath) -> None:
        """Open the checkpoint whose path without its ending is `filepattern`.

        Raises:
            NotFoundError: it is not there.
            DataLossError: it cannot be read.
        """
        path = os.fspath(filepattern)
        if not checkpoint_exists(path):
            said = "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for"
            raise NotFoundError(None, None, f"{said} {path}")
        try:
            self._bundle = read_checkpoint(Path(path))
        except CompilerError as error:
            raise DataLossError(None, None, str(error)) from error

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether a tensor is there."""
        return tensor_str in self._bundle

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The sizes of each."""
        return {name: list(self._bundle.dims(name)) for name in self._bundle}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """The type of each."""
        return {name: of_data_type(self._bundle.type(name)) for name in self._bundle}

    def get_tensor(self, tensor_str: str) -> Any:
        """The value of one.

        Raises:
            NotFoundError: it is not there.
        """
        if tensor_str not in self._bundle:
            raise NotFoundError(None, None, f"Key {tensor_str} not found in checkpoint")
        is_text = self._bundle.type(tensor_str) == BY_NAME["string"]
        value = self._bundle.texts(tensor_str) if is_text else self._bundle.array(tensor_str)
        return value if value.ndim else value[()]


def load_checkpoint(ckpt_dir_or_file: FilePath) -> CheckpointReader:
    """A checkpoint, or the last one of a folder.

    Raises:
        ValueError: the folder has none.
    """
    path = os.fspath(ckpt_dir_or_file)
    if not Path(path).is_dir():
        return CheckpointReader(path)
    found = latest_checkpoint(path)
    if found is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
    return CheckpointReader(found)


def list_variables(ckpt_dir_or_file: FilePath) -> list[tuple[str, list[int]]]:
    """Names and sizes of the tensors of a checkpoint, or of the last one of a folder."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: FilePath, name: str) -> Any:
    """The value of a tensor of a checkpoint, or of the last one of a folder; `name` may end with `:0`."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))
