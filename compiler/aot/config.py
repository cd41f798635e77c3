"""What of a graph is compiled: which tensors are fed, which are fetched, which variables the caller keeps.

TensorFlow's tfcompile takes it as a message, `tensorflow.tf2xla.Config`, as text or in binary form.  Of a SavedModel it
follows from a signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from compiler.diagnostics import InputError, UnsupportedError, did_you_mean
from compiler.graph import (
    DataType,
    Graph,
    PartialShape,
    is_saved_model,
    read_graph,
    read_saved_model,
    require_protobuf,
)
from compiler.graph.lookup import with_constant_tables

if TYPE_CHECKING:
    from compiler.graph.savedmodel import SavedModel

_UNKNOWN = PartialShape(None)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Feed:
    """A tensor that the caller gives.

    Attributes:
        endpoint: the output of a node, `node:port`.
        name: what the caller calls it, "" if nothing.
        shape: its sizes.
        type: None where the graph says it.
    """

    endpoint: str
    name: str = ""
    shape: PartialShape = _UNKNOWN
    type: DataType | None = None


@dataclass(frozen=True, slots=True)
class Fetch:
    """A tensor that the caller gets; `endpoint` and `name` are as in `Feed`."""

    endpoint: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable whose value the caller keeps, or the program.

    Attributes:
        node: the name of its node.
        name: what the caller calls it, as the node if "".
        is_constant: whether the program may not write it.
        value: what it holds, where the program is to hold it as a constant and nobody keeps it.
    """

    node: str
    name: str = ""
    is_constant: bool = False
    value: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The inputs and outputs of a graph that is compiled."""

    feeds: Sequence[Feed] = ()
    fetches: Sequence[Fetch] = ()
    variables: Sequence[Variable] = ()

    def check(self, context: str) -> None:
        """See that there is something to compute, and what `check_names` sees.

        Raises:
            InputError: it is not so; `context` says where it stands.
        """
        if not self.fetches:
            raise InputError(f"{context}: nothing is fetched: give at least one `fetch {{ id {{ node_name: ... }} }}`")
        self.check_names(context)

    def check_names(self, context: str) -> None:
        """See that names are C++'s, and that none stands for two things; raises as `check` does."""
        for what, said in self._said():
            twice = sorted({one for one in said if one and said.count(one) > 1})
            if twice:
                raise InputError(f"{context}: {what} {twice[0]!r} stands there twice: give each its own")
            bad = [one for one in said if "name" in what and one and not _IDENTIFIER.fullmatch(one)]
            if bad:
                raise InputError(f"{context}: {what} {bad[0]!r} is no name in C++: take letters, digits and _")

    def _said(self) -> Iterator[tuple[str, list[str]]]:
        yield "the fed tensor", [one.endpoint for one in self.feeds]
        yield "the variable", [one.node for one in self.variables]
        yield "the name of a feed", [one.name for one in self.feeds]
        yield "the name of a fetch", [one.name for one in self.fetches]
        yield "the name of a variable", [one.name or one.node for one in self.variables]


def read_config(path: Path) -> Config:
    """A config from a file, as text or in binary form.

    Raises:
        InputError: it cannot be read, is no config, or makes no sense.
        UnsupportedError: the library `protobuf` is not installed.
    """
    require_protobuf(str(path))
    config: Config = import_module("compiler.aot.files").read_config(path)
    return config


def parse_config(source: str | bytes, filename: str = "<string>") -> Config:
    """A config from text, or from the bytes of a file; raises as `read_config` does."""
    require_protobuf(filename)
    config: Config = import_module("compiler.aot.files").parse_config(source, filename)
    return config


def read_graph_and_config(path: Path, config: Path | None, signature: str) -> tuple[Graph, Config]:
    """The graph that is to be compiled, with its config.

    Args:
        path: a GraphDef, or a SavedModel.
        config: what of it is compiled.  Of a SavedModel it may be None, and one that fetches nothing adds to what the
            signature says: sizes of its feeds, variables that the caller keeps.
        signature: of a SavedModel, what is compiled where no config says it.

    Raises:
        InputError: something cannot be read or makes no sense.
        VerifyError: the graph breaks rules.
        UnsupportedError: the library `protobuf` is not installed, or the checkpoint's form is not read here.
    """
    if not is_saved_model(path):
        graph = with_constant_tables(read_graph(path))
        if config is None:
            raise InputError(f"{path}: a graph does not say what is fed and fetched: give --config")
        read = read_config(config)
        read.check(str(config))
        return graph, read
    model = read_saved_model(path)
    graph = with_constant_tables(model.graph)
    of_signature = config_of_model(model, signature, str(path))
    if config is None:
        return graph, of_signature
    read = read_config(config)
    kept = {one.node for one in read.variables}
    constants = [one for one in of_signature.variables if one.node not in kept]
    asked = read if read.fetches else replace(of_signature, feeds=_with_sizes(of_signature, read.feeds, str(config)))
    return graph, replace(asked, variables=(*read.variables, *constants))


def _with_sizes(of_signature: Config, said: Sequence[Feed], context: str) -> tuple[Feed, ...]:
    """The feeds of a signature, with what a config says of some."""
    shapes = {feed.endpoint: feed.shape for feed in said}
    known = [feed.endpoint for feed in of_signature.feeds]
    for text in shapes:
        if text not in known:
            raise InputError(
                f"{context}: {text!r} is no feed of the signature; there are: {', '.join(known) or 'none'}"
            )
    return tuple(replace(feed, shape=shapes.get(feed.endpoint, feed.shape)) for feed in of_signature.feeds)


def config_of_model(model: SavedModel, signature: str, context: str) -> Config:
    """What a signature of a SavedModel says: its inputs and outputs under their names; variables are constants.

    Args:
        model: what was read of the SavedModel.
        signature: the name of the signature.
        context: what messages begin with, the model's path.

    Raises:
        InputError: the model has no such signature.
        UnsupportedError: an input or output of it is several tensors.
    """
    if signature not in model.signatures:
        hint = did_you_mean(signature, model.signatures) or f"; there are: {', '.join(model.signatures) or 'none'}"
        raise InputError(f"{context}: no signature {signature!r}{hint}")
    found = model.signatures[signature]
    if found.several:
        raise UnsupportedError(
            f"{context}: {found.several[0]!r} of signature {signature!r}",
            "this compiler",
            "it is no tensor but several (sparse, ragged)",
        )
    config = Config(
        tuple(Feed(port.name, _identifier(name), port.shape, port.type) for name, port in found.inputs.items()),
        tuple(Fetch(port.name, _identifier(name)) for name, port in found.outputs.items()),
        tuple(Variable(node, _identifier(node), value=model.variable(node)) for node in model.keys),
    )
    config.check(f"{context}: signature {signature!r}")
    return config


def _identifier(name: str) -> str:
    made = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"_{made}" if made[:1].isdigit() else made
