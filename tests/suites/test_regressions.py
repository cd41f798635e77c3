"""Programs that once went wrong: each file is run on all engines and judged by the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler import edit
from xlabench.bundles import bundle
from xlabench.engines import build, engine, execute
from xlabench.fuzzing.values import KINDS, make_inputs
from xlabench.judging.judge import judge

FOLDER = Path(__file__).resolve().parents[2] / "suites" / "regressions"
FILES = sorted(FOLDER.glob("*.hlo"))
BUNDLES = sorted(path.parent for path in (FOLDER / "xla").glob("*/manifest.json"))
ENGINES = ("cpu", "cpu:fusion=off", "nvptx:sim")


@pytest.mark.parametrize("spec", ENGINES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_once_went_wrong_is_right_on_all_kinds_of_values(path: Path, spec: str) -> None:
    module = compiler.parse(path.read_text(encoding="utf-8"))
    subject = engine(spec)
    try:
        program = build(subject, module)
    except compiler.UnsupportedError as error:
        pytest.skip(str(error))
    for kind in KINDS:
        inputs = make_inputs(module, np.random.default_rng(0), kind)
        expected, actual = compiler.interpret(module, *inputs), execute(subject, program, inputs).results
        verdict = judge(module, inputs, expected, actual).verdict
        assert verdict in ("bitwise", "within", "undecided"), kind


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.name)
def test_a_bug_of_xla_is_a_whole_bundle_with_a_report_and_no_bug_of_ours(path: Path) -> None:
    failure = bundle.load(path)
    assert failure.engine == "xla"
    report = path.with_suffix(".md").read_text(encoding="utf-8")
    program = report.partition("```\n")[2].partition("```")[0]
    module = compiler.parse(failure.module_text)
    assert edit.canonical_text(compiler.parse(program)) == edit.canonical_text(module)
    for spec in ("reference", *ENGINES):
        actual = execute(engine(spec), build(engine(spec), module), failure.inputs).results
        assert judge(module, failure.inputs, failure.expected, actual).verdict in ("bitwise", "within")


def test_every_report_about_xla_has_its_bundle() -> None:
    reports = {path.stem for path in (FOLDER / "xla").glob("*.md")} - {"README"}
    assert reports == {path.name for path in BUNDLES}
