"""Nights on scripted engines, for tests of what they record and of what they survive."""

import json

from xlabench import nightly
from xlabench.cases.suite import load_suite
from xlabench.database import Records
from xlabench.nightly import Config
from xlabench.timing.measure import Plan

QUICK = Config(
    engines=("cpu", "cpu:fusion=off", "nvptx:sim"),
    timeout_s=30.0,
    processes=1,
    plan=Plan(rounds=5, batch_s=1e-5, warmup_s=0.01),
    factory="fake_engines:engine",
)
RECIPE = {"seed": 1, "params": [{"name": "x", "shape": [4], "dtype": "f32", "gen": {"kind": "normal"}}]}


PROGRAM = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x, x)\n}\n"


def add(folder, name, text="sum"):
    """A program whose comment tells the fake engines what to do."""
    (folder / f"{name}.hlo").write_text(f"// {text}\n{PROGRAM}")
    (folder / f"{name}.json").write_text(json.dumps(RECIPE))


def run(suite_folder, out, config=QUICK, *, resume=False):
    out.mkdir(exist_ok=True)
    suite = load_suite(str(suite_folder))
    with Records(out / "records.sqlite") as records:
        run_id = nightly.begin(records, suite, config, resume=resume)
        steps = []
        nightly.work(records, run_id, suite, config, out, lambda *step: steps.append(step))
        return records.export(run_id), steps


def verdicts(exported):
    return {case["name"]: {v["engine"]: v["verdict"] for v in case["verdicts"]} for case in exported["cases"]}
