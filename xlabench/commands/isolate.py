"""`xlabench isolate`: every instruction alone, on right operands."""

from __future__ import annotations

import json
import sys
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from xlabench.commands.examples import examples
from xlabench.commands.progress import counted
from xlabench.commands.target import Target, load, target_options
from xlabench.diagnosis.graph_blame import is_of_graphs
from xlabench.diagnosis.isolate import Row, isolate_each, judged
from xlabench.diagnosis.probe import Prober
from xlabench.engines import compiled_by
from xlabench.errors import BenchError, ExitCode, Undecidable
from xlabench.results import RIGHT

_FILE_COLUMNS = 140

_EXAMPLES = """
xlabench isolate step.hlo --engine cpu:opt=0
    the first line that is wrong is where to look
"""


@click.command(
    name="isolate",
    short_help="Run every instruction alone on the values it really gets.",
    epilog=examples(_EXAMPLES),
)
@target_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Run every instruction of FILE or BUNDLE alone, on the values it gets in the reference.

    Where the program says which lines of a source its instructions come from, as what JAX lowers does, these are shown.

    Exit 1 if one is wrong, 125 if none could be judged: there were no values, or the engine did nothing with them.
    """
    target = load(options)
    if is_of_graphs(target.setup.engine):
        spec = target.setup.engine
        said = f"engine {spec!r} runs graphs, and isolate runs instructions"
        raise BenchError(f"{said}: give --engine {compiled_by(spec)}, or ask bisect, which runs each op alone")
    with Prober(target.setup) as prober:
        rows = _rows(prober, target, is_quiet=options["as_json"])
    first = next((row for row in rows if row.judgement.is_failure), None)
    if options["as_json"]:
        click.echo(json.dumps(_to_json(target, rows, first)))
    else:
        _show(target, rows, first)
    ctx.exit(_exit_code(rows, first))


def _rows(prober: Prober, target: Target, *, is_quiet: bool) -> list[Row]:
    values = prober.record(target.case)
    if values.missing:
        raise Undecidable(f"{target.path}: the reference gave no values to run instructions on: {values.missing}")
    alone = list(isolate_each(target.case, values))
    rows = []
    with counted(len(alone), is_quiet=is_quiet) as say:
        for row in judged(prober, alone):
            rows.append(row)
            say("/".join(row.instruction_id))
    return rows


def _exit_code(rows: list[Row], first: Row | None) -> ExitCode:
    """Of a program without instructions that compute something all are right."""
    if first is not None:
        return ExitCode.WRONG
    return ExitCode.UNDECIDABLE if rows and not _judged(rows) else ExitCode.FINE


def _judged(rows: list[Row]) -> int:
    return sum(row.judgement.is_failure or row.judgement.verdict in RIGHT for row in rows)


def _to_json(target: Target, rows: list[Row], first: Row | None) -> dict[str, Any]:
    return {
        "file": str(target.path),
        "engine": target.setup.engine,
        "first": "/".join(first.instruction_id) if first else None,
        "judged": _judged(rows),
        "instructions": [
            {
                "place": "/".join(row.instruction_id),
                "opcode": row.opcode,
                "shape": row.shape,
                **({"source": row.source} if row.source else {}),
                "verdict": row.judgement.verdict,
                "message": row.judgement.message,
                "mismatches": row.judgement.mismatches,
                "max_ulps": row.judgement.max_ulps,
            }
            for row in rows
        ],
    }


def _show(target: Target, rows: list[Row], first: Row | None) -> None:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _FILE_COLUMNS)
    is_sourced = any(row.source for row in rows)
    columns = ("instruction", "opcode", "shape", "verdict", "wrong", "max ULP", *(["source"] if is_sourced else []))
    table = Table(*columns, box=box.SIMPLE_HEAD)
    for row in rows:
        ulps = "-" if row.judgement.max_ulps is None else f"{row.judgement.max_ulps:,}"
        cells = (
            "/".join(row.instruction_id),
            row.opcode,
            row.shape,
            row.judgement.verdict,
            f"{row.judgement.mismatches:,}",
            ulps,
            *([row.source] if is_sourced else []),
        )
        table.add_row(*map(escape, cells))
    console.print(table)
    console.print(f"{target.setup.engine}: {_conclusion(rows, first)}", markup=False, soft_wrap=True)


def _conclusion(rows: list[Row], first: Row | None) -> str:
    if first is not None:
        source = f", {first.source}" if first.source else ""
        return f"the first that diverges: {'/'.join(first.instruction_id)}{source}: {first.judgement.message}"
    count = _judged(rows)
    if count == len(rows):
        return "no instruction diverges alone"
    if not count:
        return f"none of {len(rows)} instructions could be judged: {rows[0].judgement.message}"
    return f"of {len(rows)} instructions {count} could be judged, and none of those diverges alone"
