"""The page of a run, `index.html`: verdicts, failures, what changed, speed-ups and timings, kernels, environment.

It stands alone: style and charts are inline, no script, nothing fetched.  Every text that comes from a record goes
through `html.escape`, since messages quote the programs of strangers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from reports.changes import MOVED, Changes, VerdictChange, in_seconds
from reports.summary import Program, Summary
from reports.template import fill
from xlabench.results import UNJUDGED
from xlabench.timing.change import CLAIMS, FALSE_ALARMS, MOST_DRIFT, RELEVANCE, SpeedupChange, TimeChange
from xlabench.timing.stats import Ratio

_TONES = {
    **dict.fromkeys(("bitwise", "within"), "good"),
    **dict.fromkeys(("undecided", "bad-input", "timeout"), "warn"),
    **dict.fromkeys(("assembled", "unsupported"), "mute"),
}
_RATIO_TONES = {"faster": "good", "slower": "bad"}
_TELLING_ULP = 1000
_DASH = "&ndash;"
_HISTORY = "Line chart of the speed-up of each program over the nights"
_NONE = '<span class="v mute">none</span>'


def render(found: Summary, changed: Changes | None, speedups: bytes, nights: bytes | None) -> str:
    """The page; `speedups` and `nights` are charts as SVG files, the latter where there are nights enough."""
    run = found.run
    mean = found.geometric_mean
    return fill(
        "page.html",
        title=escape(f"{run['suite']}, run {run['id']}"),
        subtitle=escape(_subtitle(run)),
        cards="".join(_cards(found, changed)),
        verdicts_intro=_verdicts_intro(found),
        verdict_head=_row("th", ["Program", *map(_engine, found.engines)]),
        verdict_rows="".join(_verdict_row(program, found.engines) for program in found.programs),
        failures=_failures(found),
        changes=_changes(changed, nights) if changed else "",
        speedup_intro=_speedup_intro(found),
        chart_label=f"Bar chart of the speed-up per program, geometric mean {_ratio_text(mean)}",
        chart=_inline(speedups),
        timings_intro="Wall time per call, arguments and results included: the lower quartile of a process's rounds,"
        " and of those the geometric mean over processes; beside it how much the slowest process exceeds the fastest."
        " A speed-up is the quotient of two of these times.",
        timing_head=_timing_head(found),
        timing_rows="".join(_timing_row(program, found) for program in found.programs),
        kernels=_kernels(found),
        reduced=_reduced(found),
        opened=_opened(found),
        environment="".join(f"<dt>{escape(key)}</dt><dd>{escape(text)}</dd>" for key, text in _facts(run)),
    )


def _inline(chart: bytes) -> str:
    """A chart as part of the page."""
    return re.sub(r"^.*?(?=<svg)", "", chart.decode(), count=1, flags=re.DOTALL)


def _subtitle(run: Mapping[str, Any]) -> str:
    commit = run["environment"].get("commit")
    finished = run["finished_at"] or "not finished"
    words = [run["description"], f"started {_minute(run['started_at'])}, finished {_minute(finished)}"]
    return " · ".join([*words, f"commit {commit[:12]}"] if commit else words)


def _minute(stamp: str) -> str:
    """A UTC time stamp down to the minute; anything else as it is."""
    match = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)", stamp)
    return f"{match[1]} {match[2]} UTC" if match else stamp


def _cards(found: Summary, changed: Changes | None) -> list[str]:
    failures = found.total - found.right
    mean = found.geometric_mean
    interval = f"95% interval {mean.low:.2f} to {mean.high:.2f}" if mean else "nothing was timed"
    behind = sum(1 for p in found.programs if p.speedup and p.speedup.verdict == "slower")
    return [
        _card("plain", str(len(found.programs)), f"programs on {len(found.engines)} engines"),
        _card("good" if not failures else "plain", f"{found.right} / {found.total}", "verdicts right"),
        _card("bad" if failures else "good", str(failures), "failures, each listed below" if failures else "failures"),
        _card("plain", _ratio_text(mean), f"geometric mean speed-up of {found.speedup_of}, {interval}"),
        _card(
            "bad" if behind else "good", str(behind), f"programs slower on {found.candidate} than on {found.baseline}"
        ),
        *([_slower_card(changed)] if changed else []),
    ]


def _slower_card(changed: Changes) -> str:
    slower = len(changed.slower)
    undecided = sum(1 for time in changed.times if time.reason)
    less = f", {undecided} not decided" if undecided else ""
    words = f"of {len(changed.times)} times slower than in run {changed.earlier.run['id']}{less}"
    return _card("bad" if slower else "plain" if undecided else "good", str(slower), words)


def _card(tone: str, number: str, words: str) -> str:
    """A summary card; the number is ready HTML."""
    return f'<div class="card {tone}"><b>{number}</b><span>{escape(words)}</span></div>'


def _row(cell: str, contents: Sequence[str]) -> str:
    """A table row of ready HTML."""
    return "<tr>" + "".join(f"<{cell}>{content}</{cell}>" for content in contents) + "</tr>"


def _engine(spec: str) -> str:
    return f"<code>{escape(spec)}</code>"


def _verdicts_intro(found: Summary) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in found.counts.items()) or "none"
    seed = found.run["options"]["input_seed"]
    made = "from the seeds of their recipes" if seed is None else f"from seed {seed}"
    return (
        f"Each engine against {_engine(found.run['reference'])} on the same inputs, made {made}: "
        f"{escape(counts)}. <i>bitwise</i>: equal to the last bit; <i>within</i>: every element within the tolerance; "
        "beside it the largest difference of any element; <b>†</b> ran a reduced program."
    )


def _verdict_row(program: Program, engines: Sequence[str]) -> str:
    cells = "".join(f"<td>{_verdict_cell(program.verdicts.get(engine))}</td>" for engine in engines)
    return f"<tr><th>{escape(program.name)}</th>{cells}</tr>"


def _verdict_cell(verdict: Mapping[str, Any] | None) -> str:
    if verdict is None:
        return _NONE
    kind = verdict["verdict"]
    dagger = " †" if verdict["reduced"] else ""
    detail = _proven(verdict) if kind in UNJUDGED else _distance(verdict)
    return f'<span class="v {_TONES.get(kind, "bad")}">{escape(kind)}</span>{dagger}{detail}'


def _proven(verdict: Mapping[str, Any]) -> str:
    """What was found out without results to compare: in short, and in whole where the pointer rests."""
    message = verdict["message"]
    return f'<small title="{escape(message)}">{escape(message.partition(":")[0])}</small>'


def _distance(verdict: Mapping[str, Any]) -> str:
    """How far off the worst element is: in ULP, or as an error where terms that cancel make ULP say nothing."""
    ulp, error = verdict["max_ulp"], verdict["max_abs"]
    if verdict["verdict"] == "bitwise" or error is None:
        return ""
    both = f"{error:.3g} absolute" + (f", {ulp:,.4g} ULP" if ulp is not None else "")
    shown = f"{ulp:,.0f} ULP" if ulp is not None and ulp < _TELLING_ULP else f"error {error:.1e}"
    return f'<small title="largest difference: {both}">{shown}</small>'


def _failures(found: Summary) -> str:
    items = [_failure(program, verdict) for program in found.programs for verdict in program.failures]
    if not items:
        return ""
    return f'<section id="failures"><h2>Failures</h2><div class="sheet">{"".join(items)}</div></section>'


def _failure(program: Program, verdict: Mapping[str, Any]) -> str:
    engine = verdict["engine"]
    where = f" while in <code>{escape(verdict['stage'])}</code>" if verdict["stage"] else ""
    head = f"{escape(program.name)} on {_engine(engine)}: {_verdict_cell(verdict)}{where}"
    bundle = program.bundles.get(engine)
    return f'<div class="failure"><h3>{head}</h3><pre>{escape(verdict["message"])}</pre>{_bundle(bundle)}</div>'


def _bundle(bundle: Mapping[str, Any] | None) -> str:
    if bundle is None:
        return ""
    path = escape(bundle["path"])
    state = "it shows the failure again" if bundle["verified"] else f"not confirmed: {escape(bundle['message'])}"
    return f'<p>Bundle <a href="{path}/manifest.json">{path}</a>, {state}: <code>xlabench replay {path}</code></p>'


def _changes(found: Changes, chart: bytes | None) -> str:
    """What is better or worse than in the run before, and the nights before that; what stayed the same is a number."""
    earlier = f"run {found.earlier.run['id']}, started {_minute(found.earlier.run['started_at'])}"
    doubts = "".join(f"<li>{escape(doubt)}</li>" for doubt in found.doubts)
    rows = [_verdict_change(change) for change in found.verdicts]
    rows += [_time_change(time) for kind in CLAIMS for time in found.times if time.kind == kind]
    rows += [_speedup_change(one, found.later.speedup_of) for one in found.speedups if one.kind in MOVED]
    head = _row("th", ["Program", "On", "Change", "Before", "Now"])
    table = f'<div class="sheet"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'
    intro = f"Against {escape(earlier)}: {len(rows) or 'no'} changes. {_changes_rule(found) if found.times else ''}"
    listed = f"<ul>{doubts}</ul>" if doubts else ""
    drawn = f'<div class="sheet chart" role="img" aria-label="{_HISTORY}">{_inline(chart)}</div>' if chart else ""
    words = f"{listed}{table if rows else ''}{_engine_changes(found)}{drawn}"
    return f'<section id="changes"><h2>Changes</h2><p>{intro}</p>{words}</section>'


def _changes_rule(found: Changes) -> str:
    """What makes a change of time one, in words."""
    drifts = ", ".join(f"{escape(name)} {factor:.2f}&times;" for name, factor in found.canaries.items())
    canaries = f" The machine was as fast as before on its canaries: {drifts}." if drifts else ""
    return (
        "An engine is slower or faster by its own time, beside what the machine's canaries took in the same processes, "
        f"where the interval lies wholly beyond {RELEVANCE:.0%}; all intervals hold together with probability "
        f"{1 - FALSE_ALARMS:.0%}. A canary that changed more than {MOST_DRIFT:g}&times; leaves it undecided.{canaries}"
    )


def _engine_changes(found: Changes) -> str:
    """How many times of each engine changed in which way, and their mean."""
    kinds = (*CLAIMS, "same", "unclear")
    rows = []
    for engine in dict.fromkeys(time.engine for time in found.times):
        own = [time.kind for time in found.times if time.engine == engine]
        mean = found.means.get(engine)
        cells = [str(own.count(kind)) for kind in kinds]
        cells.append(f"{_ratio_text(mean)} ({mean.low:.2f} to {mean.high:.2f})" if mean else _DASH)
        numbers = "".join(f'<td class="n">{cell}</td>' for cell in cells)
        rows.append(f"<tr><th>{escape(engine)}</th>{numbers}</tr>")
    heads = [*kinds, "speed, geometric mean<br>&times; before (95% interval)"]
    names = "".join(f'<th class="n">{name}</th>' for name in heads)
    head = f"<tr><th>Times of</th>{names}</tr>"
    return (
        f'<div class="sheet"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>' if rows else ""
    )


def _verdict_change(change: VerdictChange) -> str:
    tone = {"failing": "bad", "mended": "good"}.get(change.kind, "mute")
    kind = f'<span class="v {tone}">{change.kind}</span>'
    cells = (_engine(change.engine), kind, escape(change.before), escape(change.after))
    return f"<tr><th>{escape(change.program)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _time_change(time: TimeChange) -> str:
    """An engine that is slower or faster, by how much, and its times."""
    kind = f'<span class="v {_RATIO_TONES[time.kind]}">{time.kind}</span>'
    factor = time.factor
    amount = f" <small>{_ratio_text(factor)} ({factor.low:.2f} to {factor.high:.2f})</small>"
    cells = (_engine(time.engine), kind + amount, in_seconds(time.before), in_seconds(time.after))
    return f"<tr><th>{escape(time.program)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _speedup_change(speedup: SpeedupChange, speedup_of: str) -> str:
    """A speed-up that says nothing of the candidate: no good or bad news."""
    kind = f'<span class="v mute">{speedup.kind}</span>'
    whose = " <small>whose time did is not decided</small>" if speedup.kind == "changed" else ""
    steps = [f"{ratio:.2f}&times;" for ratio in (speedup.before, speedup.after)]
    cells = (f"speed-up of {_engine(speedup_of)}", kind + whose, *steps)
    return f"<tr><th>{escape(speedup.program)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _speedup_intro(found: Summary) -> str:
    mean = found.geometric_mean
    count = sum(1 for program in found.programs if program.speedup)
    total = len(found.programs)
    said = (
        f"Geometric mean over {count} of {total} programs: <b>{_ratio_text(mean)}</b>" if mean else "Nothing was timed"
    )
    interval = f" (95% interval {mean.low:.2f} to {mean.high:.2f})" if mean else ""
    return (
        f"{said}{interval}: speed-up of {_engine(found.candidate)} over {_engine(found.baseline)}, beyond 1 where "
        f"{_engine(found.candidate)} is faster. A program is called faster or slower only when the whole interval lies "
        "more than 1% away from 1; slowdowns count in the mean as they are."
    )


def _timing_head(found: Summary) -> str:
    names = [f"{_engine(engine)}<br>µs per call" for engine in found.timed]
    speedup = f"Speed-up of<br>{_engine(found.speedup_of)}<br>&times; (95% interval)"
    heads = "".join(f'<th class="n">{name}</th>' for name in [*names, speedup])
    return f'<tr><th>Program</th>{heads}<th>Claim</th><th class="n">Samples</th><th>Doubts</th></tr>'


def _timing_row(program: Program, found: Summary) -> str:
    sides = [program.timed.get(engine) for engine in found.timed]
    cells = [f"{_micro(side.seconds)} <small>+{side.spread:.0%}</small>" if side else _DASH for side in sides]
    ratio = program.speedup
    cells.append(f"<b>{ratio.estimate:.2f}</b> ({ratio.low:.2f} to {ratio.high:.2f})" if ratio else _DASH)
    numbers = "".join(f'<td class="n">{cell}</td>' for cell in cells)
    samples = max((f"{side.samples} in {side.processes}" for side in sides if side), default=_DASH)
    doubts = "".join(f"<small>{escape(doubt)}</small>" for doubt in program.doubts) or "none"
    tail = (
        f'<td>{_claim(ratio)}</td><td class="n">{samples}</td><td class="doubts">{doubts if any(sides) else _DASH}</td>'
    )
    return f"<tr><th>{escape(program.name)}</th>{numbers}{tail}</tr>"


def _claim(ratio: Ratio | None) -> str:
    if ratio is None:
        return '<span class="v mute">none</span>'
    return f'<span class="v {_RATIO_TONES.get(ratio.verdict, "mute")}">{ratio.verdict}</span>'


def _micro(seconds: float) -> str:
    micro = seconds * 1e6
    return f"{micro:,.0f}" if micro >= 100 else f"{micro:.2f}" if micro < 10 else f"{micro:.1f}"


def _ratio_text(ratio: Ratio | None) -> str:
    return f"{ratio.estimate:.2f}&times;" if ratio else _DASH


def _kernels(found: Summary) -> str:
    """What the kernels take of a GPU, those that spill first."""
    rows = [(program, kernel) for program in found.programs for kernel in program.kernels]
    if not rows:
        return ""
    rows.sort(key=lambda row: -row[1]["spill_bytes"])
    spilling = sum(1 for _, kernel in rows if kernel["spill_bytes"])
    intro = f"By NVIDIA's assembler: {len(rows)} kernels, {spilling or 'none'} of which spill registers."
    numbers = ("registers", "shared_bytes", "stack_bytes", "spill_bytes")
    heads = "".join(f'<th class="n">{name.replace("_", " ")}</th>' for name in numbers)
    body = "".join(
        f"<tr><th>{escape(program.name)}</th><td>{_engine(kernel['engine'])}</td><td>{_engine(kernel['name'])}</td>"
        + "".join(f'<td class="n">{kernel[name]:,}</td>' for name in numbers)
        + "</tr>"
        for program, kernel in rows
    )
    head = f"<tr><th>Program</th><th>Engine</th><th>Kernel</th>{heads}</tr>"
    table = f'<div class="sheet"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'
    return f'<section id="kernels"><h2>Kernels</h2><p>{intro}</p>{table}</section>'


def _reduced(found: Summary) -> str:
    """Which engines ran a smaller program, and how much smaller."""
    items = [
        f"<li><code>{escape(program.name)}</code> on {_engine(engine)}: {escape(verdict['reduced'])}</li>"
        for program in found.programs
        for engine, verdict in program.verdicts.items()
        if verdict["reduced"]
    ]
    if not items:
        return ""
    intro = "† These engines ran a program of the same structure with smaller shapes, and so did their reference."
    listed = f'<div class="sheet"><ul>{"".join(items)}</ul></div>'
    return f'<section id="reduced"><h2>Reduced programs</h2><p>{intro}</p>{listed}</section>'


def _opened(found: Summary) -> str:
    """Which sizes programs that leave some open were run with."""
    items = [
        f"<li><code>{escape(program.name)}</code>: {escape(sizes)}</li>"
        for program in found.programs
        for sizes in program.opened.values()
    ]
    if not items:
        return ""
    intro = "These programs leave sizes open, as a model does that of its batch, and were run with the sizes said here."
    listed = f'<div class="sheet"><ul>{"".join(items)}</ul></div>'
    return f'<section id="opened"><h2>Open sizes</h2><p>{intro}</p>{listed}</section>'


def _facts(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The environment as words and values, in reading order."""
    environment = run["environment"]
    memory = environment["memory_bytes"]
    facts = [
        ("CPU", environment["cpu"] or environment["machine"]),
        ("CPU features", " ".join(environment["cpu_features"]) or "none known"),
        ("Cores", f"{environment['usable_cores']} usable of {environment['cores']}"),
        ("Memory", f"{memory / 2**30:.1f} GiB" if memory else "unknown"),
        ("Frequency governor", environment["governor"] or "unknown"),
        ("Load at the start", f"{environment['load_1m']:.2f} over one minute"),
        ("System", environment["system"]),
        ("Python", environment["python"]),
        *sorted(environment["versions"].items()),
        ("Commit", environment["commit"] or "unknown (installed copy)"),
        ("Options", ", ".join(f"{key} = {value}" for key, value in sorted(run["options"].items()))),
    ]
    return [(key, str(value)) for key, value in facts]
