"""TensorFlow's just-in-time compilation: graphs cut into clusters, and what compiles and runs these.

    flags = flags_of(os.environ)
    run = for_execution(graph, feeds=["x"], fetches=["y"])
    optimized = optimize(inline_functions(run.graph), flags, Options(global_jit_level=ON_1))
    device_compiler = DeviceCompiler(optimized.graph, on_backend("cpu"), flags)

`optimize` puts `_XlaCompile`, `_XlaRun` and `_XlaMerge` into the graph, whose meaning is `DeviceCompiler`'s: who runs
the graph gives `compile` the cluster and what it takes, and gets what to call, or None where the cluster is to run op
by op.  `cluster` only finds clusters, and says why each other node is in none.

A function that must be compiled (`tf.function(jit_compile=True)`) needs no cluster: `compile` it in `Mode.STRICT`.

The passes are TensorFlow's, one a file, and decide as its release 2.21 does.
"""

from __future__ import annotations

from compiler.jit.attributes import cluster_of
from compiler.jit.device_compiler import Compiled, DeviceCompiler, Mode, on_backend, on_reference
from compiler.jit.execution import Execution, for_execution, needed
from compiler.jit.flags import Flags, flags_of, parse_flags
from compiler.jit.inline_functions import inline_functions
from compiler.jit.mark_for_compilation import Marking
from compiler.jit.options import DEFAULT, OFF, ON_1, ON_2, Options, Progress
from compiler.jit.pipeline import Optimized, cluster, optimize
from compiler.jit.profiler import Statistics
from compiler.tf2xla import Resource

__all__ = [
    "DEFAULT",
    "OFF",
    "ON_1",
    "ON_2",
    "Compiled",
    "DeviceCompiler",
    "Execution",
    "Flags",
    "Marking",
    "Mode",
    "Optimized",
    "Options",
    "Progress",
    "Resource",
    "Statistics",
    "cluster",
    "cluster_of",
    "flags_of",
    "for_execution",
    "inline_functions",
    "needed",
    "on_backend",
    "on_reference",
    "optimize",
    "parse_flags",
]
