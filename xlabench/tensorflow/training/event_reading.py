"""`tf.train.summary_iterator`: the events that a file of `tf.summary.FileWriter` holds."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compiler.tf import framed, message_class, require_protobuf
from xlabench.tensorflow.errors import DataLossError, NotFoundError

_COUNT, _SUM = 8, 4
"""Bytes of a record's length and of each checksum (TensorFlow, record_writer.cc)."""


def summary_iterator(path: str | os.PathLike[str]) -> Iterator[Any]:
    """The events of a file, one after the other; a last one that is not whole is left out.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: a record is damaged.
    """
    require_protobuf("tf.train.summary_iterator")
    event = message_class("Event")
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise NotFoundError(None, None, f"{os.fspath(path)}; No such file or directory") from error
    at = 0
    while at + _COUNT + _SUM <= len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        begin, end = at + _COUNT + _SUM, at + _COUNT + _SUM + size
        if end + _SUM > len(data):
            return
        if framed(data[begin:end]) != data[at : end + _SUM]:
            raise DataLossError(None, None, f"corrupted record at {at}")
        yield event.FromString(data[begin:end])
        at = end + _SUM
