"""What processes are asked beside running programs: to record values, and to show what passes or LLVM make of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import compiler
from compiler import aot
from xlabench import jobs
from xlabench.diagnosis.case import Case, recorded
from xlabench.graphs.running import values_of
from xlabench.worker import OnStage


def record_values(arguments: dict[str, Any], on_stage: OnStage) -> dict[str, Any]:
    """A job: interpret a program and write every array that a place of it yields, then those of places that ran again.

    The answer names the places, and says the numbers of those that ran `again`.
    """
    on_stage("record")
    module = jobs.module_of(jobs.read_program(Path(arguments["program"])))
    values = recorded(Case(module, tuple(jobs.read_arrays(Path(arguments["inputs"])))))
    instruction_ids = list(values.first)
    again = [
        number
        for number, instruction_id in enumerate(instruction_ids)
        if values.last[instruction_id] is not values.first[instruction_id]
    ]
    jobs.write_arrays(
        Path(arguments["results"]), [*values.first.values(), *(values.last[instruction_ids[n]] for n in again)]
    )
    return {"places": instruction_ids, "again": again}


def record_graph(arguments: dict[str, Any], on_stage: OnStage) -> dict[str, Any]:
    """A job: run the graph that a program carries op by op and write what outputs of its nodes are, of those alive."""
    on_stage("record")
    carried = aot.carried_by(jobs.module_of(jobs.read_program(Path(arguments["program"]))))
    assert carried is not None, "only of graphs that carry one this is asked"
    found = values_of(carried, arguments["places"], jobs.read_arrays(Path(arguments["inputs"])))
    jobs.write_arrays(Path(arguments["results"]), list(found.values()))
    return {"places": list(found)}


def evaluate_listing_llvm(arguments: dict[str, Any], on_stage: OnStage) -> dict[str, Any]:
    """A job: evaluate, with standard error, where LLVM lists its passes, in a file."""
    with Path(arguments["listing"]).open("wb") as listing:
        os.dup2(listing.fileno(), 2)
    return jobs.evaluate(arguments, on_stage)


def show_llvm(arguments: dict[str, Any], on_stage: OnStage) -> dict[str, Any]:
    """A job: what LLVM's optimiser makes of a program."""
    on_stage("compile")
    source = jobs.read_program(Path(arguments["program"]))
    program: Any = jobs.engine_of(arguments["factory"], arguments["engine"]).compile(source)
    return {"text": getattr(program, "artifacts", {}).get("ir-with-opt.ll", "")}


def show_passes(arguments: dict[str, Any], on_stage: OnStage) -> dict[str, Any]:
    """A job: the modules between an engine's passes as text, or as files; nothing if the engine does not show them."""
    on_stage("passes")
    subject = jobs.engine_of(arguments["factory"], arguments["engine"])
    source = jobs.read_program(Path(arguments["program"]))
    if hasattr(subject, "dump_passes"):
        subject.dump_passes(source, arguments["dumps"])
    if not hasattr(subject, "trace"):
        return {}
    required = arguments["withhold_required"]
    trace = subject.trace(source, lambda name: on_stage(f"pass {name}"), withhold_required=required)
    return {
        "steps": [[s.number, s.pass_name, s.rewrites, compiler.to_text(s.module)] for s in trace.snapshots],
        "rewrites": [[r.number, r.pass_name, r.rule, r.where] for r in trace.rewrites],
        "broken_pass": trace.broken_pass,
        "error": trace.error,
    }
