"""The engine `clusters`: a graph as a session with XLA runs it, what is in no cluster op by op on the reference.

    clusters:on=cpu,min=2,fuel=7

is `TF_XLA_FLAGS="--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit --tf_xla_min_cluster_size=2 --tf_xla_clustering_fuel=7"`,
and the engine `cpu` compiles the clusters; within the spec that `on` gives `/` stands for its own signs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from compiler.tf import Flags
from xlabench.engines.spec import FUEL, NAMES, SWITCH, Option, read_options, split_spec
from xlabench.errors import BenchError
from xlabench.graphs.ops import ON, runs_on
from xlabench.graphs.running import GraphEngine

OPTIONS: Mapping[str, Option] = {
    "on": ON,
    "min": FUEL,
    "max": FUEL,
    "fuel": FUEL,
    "only": NAMES,
    "exclude": NAMES,
    "lazy": SWITCH,
    "defer": SWITCH,
}
DEVICES: tuple[str, ...] = ()
_FLAGS = {
    "min": "min_cluster_size",
    "max": "max_cluster_size",
    "fuel": "clustering_fuel",
    "only": "ops_to_cluster",
    "exclude": "cluster_exclude_ops",
    "lazy": "enable_lazy_compilation",
    "defer": "always_defer_compilation",
}


def create(spec: str, options: Mapping[str, Any], *, dump_to: str) -> GraphEngine:
    """The engine; each cluster is another program, which leaves no room for a dump.

    Args:
        spec: as it was written.
        options: their values, by names.
        dump_to: refused if it is not "".
    """
    if dump_to:
        raise BenchError(f"engine {spec!r} compiles a program for each cluster: dump with the engine that it runs on")
    return GraphEngine(spec, "reference", runs_on(spec), _flags(options))


def flags_of(spec: str) -> Flags:
    """The flags that a spec stands for."""
    _, written = split_spec(spec)
    return _flags(read_options(spec, written, sys.modules[__name__]))


def _flags(options: Mapping[str, Any]) -> Flags:
    stated: dict[str, Any] = {_FLAGS[name]: value for name, value in options.items() if name in _FLAGS}
    return Flags(auto_jit=2, auto_jit_single_gpu=2, cpu_global_jit=True, **stated)
