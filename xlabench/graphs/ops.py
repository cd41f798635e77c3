"""The engine `ops`: each op of a graph alone, by its lowering, in the order of the graph.

`ops` runs them on the reference, `ops:on=cpu` compiles each for itself; within the spec that `on` gives `/` stands for
its own signs: `ops:on=cpu/opt=0`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xlabench.engines import OF_GRAPHS, compiled_by, engine
from xlabench.engines.spec import Option, split_spec
from xlabench.errors import BenchError
from xlabench.graphs.running import GraphEngine

ON = Option("the spec of an engine, with / for : and ,", str)
OPTIONS: Mapping[str, Option] = {"on": ON}
DEVICES: tuple[str, ...] = ()


def create(spec: str, _options: Mapping[str, Any], *, dump_to: str) -> GraphEngine:
    """The engine; each op is another program, which leaves no room for a dump.

    Args:
        spec: the engine's, as it is written.
        _options: none; what it runs on is in the spec.
        dump_to: the folder for dumps, which must be "".

    Raises:
        BenchError: a folder for dumps is given.
    """
    if dump_to:
        raise BenchError(f"engine {spec!r} compiles a program for each op: dump with the engine that it runs on")
    inner = runs_on(spec)
    return GraphEngine(spec, inner, inner)


def runs_on(spec: str) -> str:
    """The spec of the engine that compiles for that of a spec, in its normal form.

    Raises:
        BenchError: there is none, or it is one of graphs itself.
    """
    inner = engine(compiled_by(spec)).spec
    if split_spec(inner)[0] in OF_GRAPHS:
        raise BenchError(f"engine {spec!r}: what it runs on must compile programs; give on=cpu, or on=nvptx/sim")
    return inner
