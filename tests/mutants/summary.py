"""What the measured mutants come to, as JSON and as a table to read."""

import json
import statistics

from xlabench import environment


def write(folder, of, how):
    """Write what all rows in a folder come to, of so many mutants, and how they were measured; returns it."""
    rows = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    rows.pop("mutants", None)
    found = {name: row for name, row in rows.items() if row["found"]}
    triaged = [row for row in found.values() if "right" in row]
    right = [row for row in triaged if row["right"]]
    single = [row for row in triaged if row["bundles"] == 1]
    sizes, probes = ([row[key] for row in triaged] for key in ("instructions", "probes"))
    begun = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted((folder / ".begun").glob("*.json"))}
    begun = {name: round(row["spent_s"], 1) for name, row in begun.items() if name not in rows}
    summary = {
        "mutants": len(rows),
        "of": of,
        "begun": begun,
        "found": len(found),
        "triaged": len(triaged),
        "blamed_rightly": len(right),
        "one_bundle": len(single),
        "median_instructions": statistics.median(sizes) if sizes else None,
        "most_instructions": max(sizes, default=None),
        "most_probes": max(probes, default=None),
        "median_cpu_s": statistics.median([row["cpu_s"] for row in found.values()]) if found else None,
    }
    machine = environment.capture().to_json()
    text = json.dumps({"environment": machine, "summary": summary, "rows": rows}, indent=1) + "\n"
    (folder / "mutants.json").write_text(text, encoding="utf-8")
    (folder / "README.md").write_text(_markdown(summary, rows, how), encoding="utf-8")
    return summary


def _markdown(summary, rows, how):
    text = f"""# Planted bugs, looked for by campaigns

{how}
Instructions are those of all computations, parameters aside.

{summary["mutants"]} of the {summary["of"]} in the catalogue are measured here, and {summary["found"]} of them found.
Of {summary["triaged"]} that were looked into {summary["blamed_rightly"]} are blamed on the right step and
{summary["one_bundle"]} in one bundle; reduced to {summary["median_instructions"]} instructions (median),
{summary["most_instructions"]} at most, in at most {summary["most_probes"]} probes.

| mutant | CPU s | programs | verdict | blamed | right | instructions | probes | bundles |
|---|---|---|---|---|---|---|---|---|"""
    lines = text.splitlines()
    for name, row in rows.items():
        if not row["found"]:
            lines.append(f"| `{name}` | not in {row['cpu_s']} | {row['programs']} | | | | | | |")
            continue
        if "right" not in row:
            lines.append(f"| `{name}` | {row['cpu_s']} | {row['programs']} | {row['verdict']} | | | | | |")
            continue
        mark = "yes" if row["right"] else f"no: {row['blamed_should']}"
        cells = (row[key] for key in ("cpu_s", "programs", "verdict"))
        after = f"`{row['blamed']}` | {mark} | {row['instructions']} | {row['probes']} | {row['bundles']}"
        lines.append(f"| `{name}` | {' | '.join(map(str, cells))} | {after} |")
    lines += [""] * bool(summary["begun"])
    lines += [f"- `{name}` not found in {spent_s} s so far" for name, spent_s in summary["begun"].items()]
    return "\n".join(lines) + "\n"
