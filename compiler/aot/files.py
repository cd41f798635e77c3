"""Configs from files; loaded when the first is read, since it needs `protobuf`."""

from __future__ import annotations

from pathlib import Path

from compiler.aot.config import Config, Feed, Fetch, Variable
from compiler.frontends import read_program
from compiler.graph import DataType
from compiler.graph.attrdef import shape_of
from compiler.graph.files import parse_message
from compiler.graph.messages import Message


def read_config(path: Path) -> Config:
    """See `compiler.aot.read_config`."""
    return parse_config(read_program(path, "a config"), str(path))


def parse_config(source: str | bytes, filename: str) -> Config:
    """See `compiler.aot.parse_config`."""
    read = parse_message("Config", source, filename)
    config = Config(
        tuple(_feed(one, filename) for one in read.feed),
        tuple(Fetch(_endpoint(one.id), one.name) for one in read.fetch),
        tuple(Variable(one.node_name, one.name, one.readonly) for one in read.variable),
    )
    config.check_names(filename)
    return config


def _feed(read: Message, filename: str) -> Feed:
    name_ = _endpoint(read.id)
    shape = shape_of(read.shape, f"{filename}: feed {name_!r}")
    return Feed(name_, read.name, shape, DataType(read.type) if read.type else None)


def _endpoint(identifier: Message) -> str:
    return f"{identifier.node_name}:{identifier.output_index}"
