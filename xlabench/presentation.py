"""What `xlabench run` says: for people as tables, for programs as one JSON object."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from xlabench.cases import inputs
from xlabench.cases.layouts import ALIGNED
from xlabench.judging.bounds import Basis
from xlabench.judging.differ import Comparison, ResultDiff
from xlabench.running import Report

_FILE_COLUMNS = 140
_HLO_NAMES = {dtype.name: name for name, dtype in inputs.DTYPES.items()}


def to_json(file: Path, report: Report) -> dict[str, Any]:
    """The report as what JSON can say."""
    case, judgement, saved = report.case, report.judgement, report.saved
    comparison = judgement.comparison
    return {
        "file": str(file),
        "module": case.module.name,
        "engine": report.specs[0],
        "reference": report.specs[1],
        "inputs": case.source,
        "seed": case.seed,
        "layout": case.layout,
        "filled": case.filled or None,
        "rtol": case.policy.rtol,
        "atol": case.policy.atol,
        "verdict": judgement.verdict,
        "exit_code": int(judgement.exit_code),
        "stage": judgement.stage or None,
        "message": judgement.message,
        "ran": judgement.ran or None,
        "elements": comparison.elements if comparison else None,
        "mismatches": comparison.mismatches if comparison else None,
        "results": [_result_json(result, comparison.basis) for result in comparison.results] if comparison else [],
        "bundle": {"path": str(saved.path), "verified": saved.verified} if saved else None,
        "notes": list(report.notes),
    }


def _result_json(result: ResultDiff, basis: Basis) -> dict[str, Any]:
    """Every field, with numbers that JSON does not have as text; results that are equal to the bit nothing judges."""
    judged_by = "tolerance" if basis.of(result.index) is None else "bounds"
    judged_by = judged_by if result.differing else "bits"
    fields = {**asdict(result), "agreement": str(result.agreement), "share": result.share, "judged_by": judged_by}
    fields["worst"] = [{**element, "error": _json_float(element["error"])} for element in fields["worst"]]
    return {key: _json_float(value) if isinstance(value, float) else value for key, value in fields.items()}


def _json_float(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def show(report: Report) -> None:
    """Print the report; a terminal is as wide as it is, a file wide enough that no table is folded."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _FILE_COLUMNS)
    case, judgement, saved = report.case, report.judgement, report.saved
    seed = "" if case.seed is None else f", seed {case.seed}"
    console.print(f"{case.module.name}: {report.specs[0]} against {report.specs[1]}", markup=False)
    layout = "" if case.layout == ALIGNED else f", {case.layout} in memory"
    console.print(f"inputs: {case.source}{seed}{layout}", markup=False, soft_wrap=True)
    if case.filled:
        console.print(f"constants: {case.filled}", markup=False)
    if judgement.comparison is not None:
        console.print(_results_table(judgement.comparison))
        for result in judgement.comparison.results:
            if result.worst:
                console.print(_worst_table(result))
    console.print(f"{judgement.verdict}: {judgement.message}", markup=False, soft_wrap=True)
    if judgement.ran:
        console.print(judgement.ran, markup=False, soft_wrap=True)
    if saved is not None:
        state = "verified by a replay" if saved.verified else f"not verified: {saved.message}"
        console.print(f"bundle: {saved.path} ({state})", markup=False, soft_wrap=True)


def _results_table(comparison: Comparison) -> Table:
    table = Table("result", "type", "verdict", "wrong", "share", "max abs", "max rel", "max ULP", box=box.SIMPLE_HEAD)
    for result in comparison.results:
        table.add_row(
            str(result.index),
            escape(f"{_HLO_NAMES.get(result.dtype, result.dtype)}[{','.join(map(str, result.shape))}]"),
            str(result.agreement),
            f"{result.mismatches:,} of {result.size:,}",
            f"{result.share:.3%}",
            f"{result.max_abs:.3g}",
            f"{result.max_rel:.3g}",
            "-" if result.max_ulps is None else f"{result.max_ulps:,}",
        )
    return table


def _worst_table(result: ResultDiff) -> Table:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in result.kinds.items())
    table = Table("index", "expected", "actual", "ULP", "kind", box=box.SIMPLE_HEAD, title_justify="left")
    table.title = f"worst of result {result.index} ({kinds})"
    for element in result.worst:
        index = ",".join(map(str, element.index)) or "scalar"
        ulps = "-" if element.ulps is None or element.kind == "nan" else f"{element.ulps:,}"
        table.add_row(index, element.expected, element.actual, ulps, element.kind)
    return table
