"""What the measured mutants come to, as JSON and as a table to read."""

import json
import statistics

from recall.sites import FOLDERS, GRAPH_FOLDERS

from xlabench import environment

KINDS = {
    "found": "found by the campaign",
    "missed": "makes some program's results wrong, and is not found",
    "moved": "changes bits of results, all within their error bounds",
    "open": "changes no result of any program on record",
    "pending": "not found, and not yet looked up in the programs on record",
    "stillborn": "cannot be imported, or an engine is right on no small program",
}
"""What can come of a mutant; those of the first two kinds count."""


def kind(row):
    """What came of a mutant."""
    if row.get("stillborn"):
        return "stillborn"
    if row["found"]:
        return "found"
    if row.get("changed"):
        return "missed"
    if "changed" not in row:
        return "pending"
    return "moved" if row.get("moved") else "open"


def line(row):
    """A mutant in a line."""
    parts = [kind(row), row["site"], f"{row['old'][:80]} -> {row['new'][:80]}"]
    if row.get("changed"):
        parts.append("shown by {program} on {engine}: {verdict}".format(**row["changed"]))
    if "cpu_s" in row:
        parts.append(f"{row['cpu_s']} s, {_reached(row)}")
    return "  ".join(parts)


def summary(rows):
    """The figures of some rows."""
    by_kind = {name: [row for row in rows if kind(row) == name] for name in KINDS}
    found, counted = by_kind["found"], len(by_kind["found"]) + len(by_kind["missed"])
    soon = [row for row in found if row["found_in_limit"]]
    triaged = [row for row in found if "right" in row]
    sizes = [row["instructions"] for row in triaged if "instructions" in row]
    return {
        "mutants": len(rows),
        **{name: len(some) for name, some in by_kind.items()},
        "counted": counted,
        "found_in_limit": len(soon),
        "share_in_limit": round(len(soon) / counted, 2) if counted else None,
        "share": round(len(found) / counted, 2) if counted else None,
        "never_run": sum(row.get("reached") == 0 for row in rows),
        "at_least": round(len(found) / born, 2) if (born := len(rows) - len(by_kind["stillborn"])) else None,
        "median_cpu_s": statistics.median([row["cpu_s"] for row in found]) if found else None,
        "triaged": len(triaged),
        "blamed_rightly": sum(row["right"] for row in triaged),
        "one_bundle": sum(row["bundles"] == 1 for row in triaged),
        "median_instructions": statistics.median(sizes) if sizes else None,
    }


def write(folder, drawn, asked):
    """Write what the rows of a sample come to; returns the figures of all."""
    stored = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json")) if path.stem != "recall"]
    order = {str(site): number for number, site in enumerate(drawn)}
    rows = sorted((row for row in stored if row["site"] in order), key=lambda row: order[row["site"]])
    by_folder = {name: summary([row for row in rows if row["folder"] == name]) for name in (*FOLDERS, *GRAPH_FOLDERS)}
    made = {
        "environment": environment.capture().to_json(),
        "asked": {
            name: value for name, value in asked.items() if name in ("seed", "count", "limit", "longer", "profile")
        },
        "summary": summary(rows),
        "folders": by_folder,
        "rows": rows,
    }
    (folder / "recall.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(_markdown(made, len(drawn)), encoding="utf-8")
    return made["summary"]


def _markdown(made, of):
    asked, whole, rows = made["asked"], made["summary"], made["rows"]
    lines = f"""# Mutants by rule, looked for by campaigns

Seed {asked["seed"]} draws {of} mutants, of which {len(rows)} are measured here; profile `{asked["profile"]}`.
Limits are CPU seconds of the campaign's processes, {asked["limit"]:g} and {asked["longer"]:g}; 120 are a minute of two
cores.  Instructions are those of all computations, parameters aside.  Made by `tests/recall/campaigns.py`.

A mutant counts if it makes results of some program wrong: it was found, or a program on record shows it.  The share is
of those, the least that it can be of all that are not stillborn, equivalent ones included.  What is never run is code
that no program of the campaign came to.  Of what was reduced: rightly blamed, in a single bundle, median size.

| folder | drawn | stillborn | never run | counts | soon | found | share | at least | blamed | single | size |
|---|---|---|---|---|---|---|---|---|---|---|---|""".splitlines()
    lines += [_row(f"`{name}`", figures) for name, figures in made["folders"].items() if figures["mutants"]]
    lines.append(_row("all", whole))
    for name, said in KINDS.items():
        some = [row for row in rows if kind(row) == name]
        lines += ["", f"## {name.capitalize()}: {said} ({len(some)})", ""] if some else []
        lines += [f"- {_told(row)}" for row in some]
    return "\n".join(lines) + "\n"


def _reached(row):
    """How often the code was run."""
    times = "when it is loaded" if row["reached"] is None else f"{row['reached']:,} times"
    return f"run {times} in {row['programs']:,} programs"


_CELLS = ("mutants", "stillborn", "never_run", "counted", "found_in_limit", "found", "share", "at_least")


def _row(name, figures):
    triaged = figures["triaged"]
    cells = [figures[key] for key in _CELLS]
    cells += [f"{figures[key]} of {triaged}" if triaged else "" for key in ("blamed_rightly", "one_bundle")]
    cells.append(figures["median_instructions"])
    return f"| {name} | {' | '.join('' if cell is None else str(cell) for cell in cells)} |"


def _told(row):
    """A mutant in the list of its kind."""
    said = f"`{row['site']}`: `{row['old']}` becomes `{row['new']}`"
    if kind(row) == "stillborn":
        return f"{said} ({row['stillborn']})"
    if kind(row) == "found":
        blame = f", blamed on `{row['blamed'].splitlines()[-1]}`" if row.get("blamed") else ""
        return f"{said}; {row['verdict']} after {row['cpu_s']} s, {row['programs']} programs{blame}"
    parts = [said, _reached(row)]
    if met := row.get("changed") or row.get("moved"):
        parts.append(f"`{met['program']}` on {met['engine'] or 'some engine'}: {met['verdict']}")
    if row.get("tests"):
        parts.append(f"the test {row['tests']} fails")
    return "; ".join(parts)
