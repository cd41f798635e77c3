"""`tf.summary`: what becomes of numbers while a model is trained, in files that TensorBoard shows.

Args:
    name: of the node, and the tag under which TensorBoard shows it.
    collections: keys of the collections that the node is added to; None for that of all summaries.
    family: what the tag begins with, so that TensorBoard shows tags of one family together; or None.
    global_step: the number of steps that were taken, at which something is shown; or None.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from compiler.tf import encoded, framed, message_class, require_protobuf, to_binary
from xlabench.tensorflow.config import RunMetadata
from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import Graph, get_default_graph
from xlabench.tensorflow.framework.imported import definition_of
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.tensor import Tensor

__all__ = ["FileWriter", "histogram", "image", "merge", "merge_all", "scalar"]

_REFUSED = {
    "audio": "sounds are not written to events files here",
    "text": "texts are not written to events files here",
    "tensor_summary": "tensors are not written to events files here; use tf.summary.histogram",
}
_MESSAGES = frozenset({"Event", "HistogramProto", "Summary"})
_NOT_A_TAG = re.compile(r"[^-/\w.]")
_NUMBERS = count()
_VERSION = "brain.Event:2"
"""What an events file begins with (TensorFlow, events_writer.cc)."""


def __getattr__(name: str) -> Any:
    """A class of messages; what is not here is refused."""
    if name in _MESSAGES:
        return message_class(name)
    said = _REFUSED.get(name, "it is not there; there are FileWriter, histogram, image, merge, merge_all and scalar")
    raise AttributeError(f"tf.summary.{name}: {said}")


def _tagged(
    op: str, name: str, values: Any, collections: Sequence[str] | None, family: str | None, **attributes: Any
) -> Tensor:
    """An op of values and a tag, which is the name of its node unless it has a family."""
    require_protobuf(f"tf.summary of {name!r}")
    graph = get_default_graph()
    cleaned = _NOT_A_TAG.sub("_", name).lstrip("/")
    if family:
        cleaned = f"{family}/{cleaned}"
    value = convert_to_tensor(values)
    with graph.name_scope(cleaned) as scope:
        own = scope.rstrip("/")
        tag = convert_to_tensor(
            f"{family}/{own}" if family else own, "string", "tags" if op == "ScalarSummary" else "tag"
        )
        made = apply(op, [tag, value], attributes, scope).outputs[0]
    graph.add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, made)
    return made


def scalar(name: str, tensor: Any, collections: Sequence[str] | None = None, family: str | None = None) -> Tensor:
    """What an events file is given for `tensor`, a number."""
    return _tagged("ScalarSummary", name, tensor, collections, family)


def histogram(name: str, values: Any, collections: Sequence[str] | None = None, family: str | None = None) -> Tensor:
    """What an events file is given for `values`, an array of any shape: how often there are some of each size."""
    return _tagged("HistogramSummary", name, values, collections, family)


def image(
    name: str, tensor: Any, max_outputs: int = 3, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """What an events file is given for `tensor`, images: [batch, height, width, channels] with 1, 3 or 4 channels.

    Of a batch the first `max_outputs` are taken. Floats are scaled so that the greatest is 255; where there are
    negative ones, so that 0 is 128.
    """
    return _tagged("ImageSummary", name, tensor, collections, family, max_images=max_outputs)


def merge(inputs: Sequence[Any], collections: Sequence[str] | None = None, name: str | None = None) -> Tensor:
    """Several of them, `inputs`, as one, which is added to the collections of these keys; of none by default."""
    graph = get_default_graph()
    with graph.name_scope(name or "Merge"):
        made = output_of("MergeSummary", list(inputs), name="MergeSummary")
    graph.add_to_collections(collections or [], made)
    return made


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """All of the collection `key` as one, None where there are none; of a `scope` only, where one is given."""
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


class FileWriter:
    """A file of events in a folder; a context that ends with it."""

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        """Begin a file.

        Args:
            logdir: the folder, which is made.
            graph: a graph to be shown.
            max_queue: how many events are kept before they are written.
            flush_secs: after how many seconds they are written at the latest, when another comes.
            graph_def: a graph as data.
            filename_suffix: what the file's name ends with.
            session: must be left out.
        """
        require_protobuf("writing events")
        folder = Path(logdir)
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_NUMBERS)}"
        self._path = folder / f"{name}{filename_suffix or ''}"
        self._logdir = str(folder)
        self._file = self._path.open("wb")
        self._most, self._seconds = max_queue, flush_secs
        self._waiting, self._flushed = 0, time.time()
        self._tags: set[str] = set()
        self._add(file_version=_VERSION)
        self.flush()
        given = graph if graph is not None else graph_def
        if given is not None:
            self.add_graph(given)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def _add(self, step: int | None = None, **what: Any) -> None:
        event = message_class("Event")(wall_time=time.time(), **what)
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def add_event(self, event: Any) -> None:
        """Write an event."""
        self.reopen()
        self._file.write(framed(event.SerializeToString()))
        self._waiting += 1
        if self._waiting >= self._most or time.time() - self._flushed >= self._seconds:
            self.flush()

    def add_summary(self, summary: Any, global_step: int | None = None) -> None:
        """Write what a run gave, or a `tf.Summary`, at a number of steps."""
        kind = message_class("Summary")
        self._add(global_step, summary=kind.FromString(summary) if isinstance(summary, bytes) else summary)

    def add_graph(self, graph: Any, global_step: int | None = None, graph_def: Any = None) -> None:
        """Write a graph, as a graph or in its older form as data (`graph_def`), at the step `global_step`."""
        given = graph if graph is not None else graph_def
        self._add(global_step, graph_def=to_binary(definition_of(given)))

    def add_run_metadata(self, run_metadata: RunMetadata, tag: str, global_step: int | None = None) -> None:
        """Write what a traced run recorded, `run_metadata`, under a `tag` that stands once, at the step `global_step`.

        Raises:
            ValueError: there is something of this tag.
        """
        if tag in self._tags:
            raise ValueError("The provided tag was already used for this event type")
        self._tags.add(tag)
        held = encoded("RunMetadata", str(run_metadata))
        self._add(global_step, tagged_run_metadata=message_class("TaggedRunMetadata")(tag=tag, run_metadata=held))

    def flush(self) -> None:
        """See that what was added is in the file."""
        self._file.flush()
        self._waiting, self._flushed = 0, time.time()

    def close(self) -> None:
        """End; what is added later opens the file again."""
        self._file.close()

    def reopen(self) -> None:
        """Go on writing."""
        if self._file.closed:
            self._file = self._path.open("ab")
