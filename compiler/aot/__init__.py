"""Graphs of TensorFlow compiled ahead of time, as its tfcompile does: an object file, and a C++ class that calls it.

    graph, config = read_graph_and_config(Path("graph.pb"), Path("graph.config.pbtxt"), "")
    files = tfcompile(graph, config, CppClass.parse("foo::bar::MatMul"), "aarch64")

What is linked needs libc and libm, nothing of TensorFlow's; who calls `error_msg` needs C++'s library, whose string it
gives.
"""

from compiler.aot.carried import (
    KEY,
    VALUE,
    Carried,
    carried_by,
    carry,
    lower_with_graph,
    with_values,
    without_graph,
)
from compiler.aot.config import Config, Feed, Fetch, Variable, parse_config, read_config, read_graph_and_config
from compiler.aot.header import CppClass
from compiler.aot.program import is_graph, read_program_of_graph, with_open_sizes
from compiler.aot.tfcompile import tfcompile

__all__ = [
    "KEY",
    "VALUE",
    "Carried",
    "Config",
    "CppClass",
    "Feed",
    "Fetch",
    "Variable",
    "carried_by",
    "carry",
    "is_graph",
    "lower_with_graph",
    "parse_config",
    "read_config",
    "read_graph_and_config",
    "read_program_of_graph",
    "tfcompile",
    "with_open_sizes",
    "with_values",
    "without_graph",
]
