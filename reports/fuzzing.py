"""The page of a fuzzing campaign: what was run, what was reached, what went wrong; from the summary alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from reports.template import fill

_BAD = frozenset({"wrong", "flaky", "crash", "compile-error", "timeout", "error"})


def page(summary: Mapping[str, Any]) -> str:
    """The page of a campaign's summary; links lead to the bundles beside it."""
    config, coverage = summary["config"], summary["coverage"]
    return fill(
        "fuzzing.html",
        title=escape(f"{_source(config)}, seed {config['seed']}"),
        reached_what=escape(coverage["of"]),
        engines=escape(", ".join(config["engines"])),
        cases=f"{summary['cases']:,}",
        rate=f"{summary['cases_per_s']:.1f}",
        instructions=f"{summary['instructions_per_case']:.0f}",
        findings=f"{len(summary['findings']):,}",
        tone="bad" if summary["findings"] else "good",
        reached=f"{coverage['reached']:,} of {coverage['allowed']:,}",
        finding_rows="".join(_finding(finding) for finding in summary["findings"]) or _row("none"),
        verdict_rows="".join(_verdicts(summary)),
        time_rows="".join(_times(summary["seconds"], summary["cases"])),
        telling=_telling(summary.get("telling", {})),
        variants=_table("Variants of engines", Counter(summary.get("variants", {})).most_common()),
        core_rate=f"{summary['cases_per_s_and_core']:.1f}",
        changes=_changes(coverage),
        rule_rows="".join(_rules(coverage)),
        never=_never(coverage),
        missing=escape(", ".join(coverage["missing"]) or "nothing"),
    )


def _source(config: Mapping[str, Any]) -> str:
    if "profile" in config:
        return f"fuzzing, profile {config['profile']}"
    return f"mutating {len(config['corpus'])} programs, up to {config['most_changes']} changes each"


def _changes(coverage: Mapping[str, Any]) -> str:
    """The kinds of changes that were made, and the programs left out, of a campaign on a corpus."""
    counts = [(name, f"{count:,}") for name, count in Counter(coverage.get("changes", {})).most_common()]
    skipped = coverage.get("skipped", {}).items()
    left_out = "Programs left out, as the reference does not evaluate them"
    return _table("Changes", counts) + _table(left_out, skipped)


def _finding(finding: Mapping[str, Any]) -> str:
    trace = finding.get("traceback", "")
    file = "traceback.txt" if trace else "manifest.json"
    link = f'<a href="{escape(finding["bundle"])}/{file}">{escape(finding["name"])}</a>'
    state = "verified" if finding["verified"] else f"not verified: {finding['doubt']}"
    state = finding["doubt"] if trace else state
    cells = [link, *map(escape, (", ".join(finding["engines"]), finding["verdict"], str(len(finding["cases"])), state))]
    bug = finding.get("bug", "")
    known = f"known: {bug}" if bug else ""
    behind = ", ".join(filter(None, [known, finding["cause"], *finding["signature"], finding.get("note", "")]))
    what = f"{escape(finding['message'])}<br><small>{escape(behind)}</small>"
    what += f"<details><summary>traceback</summary><pre>{escape(trace)}</pre></details>" if trace else ""
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in (*cells, what)) + "</tr>"


def _verdicts(summary: Mapping[str, Any]) -> list[str]:
    rows = []
    for entry, count in sorted(summary["verdicts"].items()):
        spec, _, verdict = entry.rpartition(" ")
        tone = "bad" if verdict in _BAD else "good"
        rows.append(
            f'<tr><td>{escape(spec)}</td><td><span class="v {tone}">{escape(verdict)}</span></td>'
            f'<td class="n">{count:,}</td></tr>'
        )
    return rows


def _times(seconds: Mapping[str, float], cases: int) -> list[str]:
    """Seconds by stage, their shares, and how many programs a second a core does of each alone; the most first."""
    whole = sum(seconds.values()) or 1.0
    stages = sorted(seconds.items(), key=lambda item: -item[1])
    return [
        _row(stage, f"{spent:,.1f}", f"{spent / whole:.0%}", f"{cases / spent:,.1f}" if spent else "")
        for stage, spent in [*stages, ("all", sum(seconds.values()))]
    ]


def _telling(telling: Mapping[str, Any]) -> str:
    """The share of the instructions whose values show in results, and of which opcodes few do."""
    if not telling.get("asked"):
        return ""
    shares = sorted((told / asked, opcode, asked) for opcode, (asked, told) in telling["by_opcode"].items())
    rows = [(opcode, f"{asked:,}", f"{share:.0%}") for share, opcode, asked in shares]
    title = f"Instructions whose values show in a result: {telling['share']:.0%} of {telling['asked']:,}"
    return _table(title, rows)


def _rules(coverage: Mapping[str, Any]) -> list[str]:
    """Rules with how often they fired, and how often where a result would show it; those that hardly did come first."""
    told = coverage.get("tellingly", {})
    counts = sorted(coverage["rules"].items(), key=lambda item: (item[1], item[0]))
    return [_row(rule, f"{count:,}", f"{told.get(rule, 0):,}") for rule, count in counts]


def _never(coverage: Mapping[str, Any]) -> str:
    """What small programs of the project's own come to, and none of the campaign did."""
    return _table("Never come to: holes of the campaign", ((key,) for key in coverage.get("never", ())))


def _table(title: str, rows: Iterable[Sequence[Any]]) -> str:
    """A table under a heading; nothing where it has no rows."""
    cells = "".join(_row(*map(str, row)) for row in rows)
    return (
        f'<h2>{escape(title)}</h2>\n<div class="sheet"><table><tbody>{cells}</tbody></table></div>\n' if cells else ""
    )


def _row(*cells: str) -> str:
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
