"""The program of a graph as it is lowered now, for who runs a graph again.

An engine that runs graphs is held against what the whole is lowered to.  Where a lowering was to blame, and was mended,
the program that was kept is still the wrong one: replayed against that, the failure would never be gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import compiler
from compiler import aot
from xlabench.engines import OF_GRAPHS, build, engine, execute
from xlabench.engines.spec import split_spec
from xlabench.graphs.case import GraphCase
from xlabench.judging.tolerance import Array


def lowered_now(spec: str, reference: str, module_text: str, inputs: Sequence[Array]) -> dict[str, Any]:
    """What of a failure is another now: program, inputs, expected results and their bounds; nothing if none is.

    Args:
        spec: the engine that failed.
        reference: the engine that is believed.
        module_text: the program, which carries a graph where the engine runs graphs.
        inputs: its inputs.
    """
    if split_spec(spec)[0] not in OF_GRAPHS:
        return {}
    module = compiler.parse(module_text, filename="module.hlo")
    graph = GraphCase.of(module, inputs)
    if graph is None:
        return {}
    again, given = graph.program(module.name)
    if compiler.to_text(aot.without_graph(again)) == compiler.to_text(aot.without_graph(module)):
        return {}
    text, believed = compiler.to_text(again), engine(reference)
    expected = execute(believed, build(believed, text), given).results
    return {"module_text": text, "inputs": given, "expected": expected, "bounds": None}
