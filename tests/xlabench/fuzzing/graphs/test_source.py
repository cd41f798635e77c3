"""A campaign of graphs on a compiler with a wrong lowering: one finding, blamed on it, kept as a graph."""

from dataclasses import replace

import pytest
from in_process import Telling

import compiler
from compiler.tf2xla import RECORDS
from xlabench.bundles import bundle, saving
from xlabench.diagnosis import probe
from xlabench.engines import engine
from xlabench.fuzzing import campaign, worker_pool
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.graphs import cases
from xlabench.fuzzing.graphs.source import Graphs
from xlabench.graphs.case import GraphCase
from xlabench.tensorflow.runtime import programs

MUL = RECORDS["Mul"]


def _adds_what_is_the_same(operation):
    x, y = operation["x"], operation["y"]
    return x + y if x.instruction is y.instruction else MUL.lower(operation)


def _shows(case):
    try:
        results = engine("ops").compile(case.module)(*case.inputs)
    except compiler.UnsupportedError:
        return False
    pairs = zip(results, compiler.interpret(case.module, *case.inputs), strict=True)
    return any(one.tobytes() != other.tobytes() for one, other in pairs)


@pytest.mark.slow
def test_a_wrong_lowering_is_found_and_kept_as_a_graph(tmp_path, monkeypatch):
    for module in (probe, worker_pool):
        monkeypatch.setattr(module, "Worker", Telling)
    monkeypatch.setattr(programs, "_PROGRAMS", {})
    monkeypatch.setattr(saving, "_verify", lambda *_: "")
    monkeypatch.setitem(RECORDS, "Mul", replace(MUL, lower=_adds_what_is_the_same))
    seed = next(seed for seed in range(200) if _shows(cases.draw_case(seed, 0, varied=False)))
    summary = campaign.run(
        Config(engines=("ops",), seed=seed, count=1, max_probes=40),
        Graphs(varied=False),
        tmp_path,
        observe=lambda *_: None,
    )
    causes = {found["cause"] for found in summary["findings"]}
    assert causes == {"tf2xla/Mul"}
    kept = tmp_path / summary["findings"][0]["bundle"]
    assert "Mul" in (kept / "graph.pbtxt").read_text()
    loaded = bundle.load(kept)
    assert "Mul" in GraphCase.of(compiler.parse(loaded.module_text), loaded.inputs).graph.counts()
