"""Every command says what it does, and all that judge give the same verdict, and excuse, on the same failure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import compiler
from xlabench import engines, nightly, running
from xlabench.bundles import bundle
from xlabench.bundles.failure import Failure
from xlabench.cases.suite import load_suite
from xlabench.cli import COMMANDS, SUMMARIES, cli
from xlabench.database import Records
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.isolate import examine
from xlabench.diagnosis.probe import Prober, Setup
from xlabench.diagnosis.triage import triage
from xlabench.fuzzing import fuzz_jobs
from xlabench.judging.tolerance import TolerancePolicy
from xlabench.worker import ENGINES, Worker

HERE = Path(__file__).resolve().parent
FACTORY = "imprecise_engines:engine"
SETUP = Setup("xla", factory=FACTORY)
WORDS = "as zeros for denormal numbers may explain"
Said = tuple[str, str]


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The engines; worker processes find them as well."""
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.syspath_prepend(HERE)
    return import_module("imprecise_engines")


def _inputs(module: Any) -> list[Any]:
    return [np.linspace(0.5, 3, parameter.shape.dims[0]) for parameter in module.entry.parameters]


def _case(text: str) -> running.Case:
    module = compiler.parse(text)
    return running.Case(module, _inputs(module), 0, "generated", TolerancePolicy())


def _run(text: str, _: Path) -> Iterator[Said]:
    with Worker(preload=ENGINES) as worker:
        said = running.judge_watched(_case(text), ("xla", "reference"), worker, timeout_s=120, factory=FACTORY)
    yield said.verdict, said.message


def _run_in_process(text: str, _: Path) -> Iterator[Said]:
    planted = import_module("imprecise_engines")
    said = running.judge_here(_case(text), planted.engine("xla"), engines.engine("reference"))
    yield said.verdict, said.message


def _nightly(text: str, folder: Path) -> Iterator[Said]:
    suite = folder / "suite"
    suite.mkdir()
    (suite / "one.hlo").write_text(text)
    shape = list(compiler.parse(text).entry.parameters[0].shape.dims)
    values = {"kind": "uniform", "lo": 0.5, "hi": 3}
    parameter = {"name": "x", "shape": shape, "dtype": "f64", "gen": values}
    (suite / "one.json").write_text(json.dumps({"seed": 1, "params": [parameter]}))
    config = nightly.Config(engines=("xla",), processes=0, factory=FACTORY)
    with Records(folder / "records.sqlite") as records:
        loaded = load_suite(str(suite))
        run = nightly.begin(records, loaded, config, resume=False)
        nightly.work(records, run, loaded, config, folder, lambda *_: None)
        (case,) = records.export(run)["cases"]
    for verdict in case["verdicts"]:
        yield verdict["verdict"], verdict["message"].partition("\n")[0]


def _bisect(text: str, _: Path) -> Iterator[Said]:
    """Also `reduce`, whose predicate this is, and `mutate`, which narrows by it."""
    case = _case(text)
    with Prober(SETUP) as prober:
        said = prober.judge(Case(case.module, tuple(case.arrays)))
    yield said.verdict, said.message


def _reduce(text: str, _: Path) -> Iterator[Said]:
    case = _case(text)
    found = triage(SETUP, text, case.arrays, max_probes=40)
    yield ("undecided", "") if found is None else (found.verdict, found.message)


def _isolate(text: str, _: Path) -> Iterator[Said]:
    case = _case(text)
    with Prober(SETUP) as prober:
        for row in examine(prober, Case(case.module, tuple(case.arrays))):
            if row.judgement.verdict not in ("bitwise", "within"):
                yield row.judgement.verdict, row.judgement.message


def _campaign(text: str, folder: Path, *, is_mutant: bool) -> Iterator[Said]:
    drawing = {"drawer": "imprecise_engines:draw", "text": text, "is_mutant": is_mutant}
    arguments = {"factory": FACTORY, "engines": ["xla"], "drawing": drawing, "folder": str(folder), "numbers": [1]}
    fuzz_jobs.batch(arguments, lambda _: None)
    for line in (folder / "records.jsonl").read_text().splitlines():
        for verdict, message, _ in json.loads(line).get("verdicts", {}).values():
            yield verdict, message


def _fuzz(text: str, folder: Path) -> Iterator[Said]:
    yield from _campaign(text, folder, is_mutant=False)


def _mutate(text: str, folder: Path) -> Iterator[Said]:
    yield from _campaign(text, folder, is_mutant=True)


def _replay(text: str, _: Path) -> Iterator[Said]:
    case = _case(text)
    expected = compiler.interpret(case.module, *case.arrays)
    failure = Failure(text, case.arrays, expected, expected, "xla", "reference", 0, "wrong", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle, "load", lambda _: failure)
        patch.setattr(bundle, "engine", import_module("imprecise_engines").engine)
        said = bundle.replay_job({"folder": ""}, lambda _: None)
    yield said["verdict"], said["message"]


JUDGING: Mapping[str, Callable[[str, Path], Iterator[Said]]] = {
    "run": _run,
    "run --in-process": _run_in_process,
    "nightly": _nightly,
    "bisect": _bisect,
    "reduce": _reduce,
    "isolate": _isolate,
    "fuzz": _fuzz,
    "mutate": _mutate,
    "replay": _replay,
}


@pytest.mark.slow
@pytest.mark.parametrize("command", JUDGING)
def test_every_command_gives_the_same_verdict(command: str, planted: ModuleType, tmp_path: Path) -> None:
    programs = {planted.IMPRECISE: "wrong", planted.FLUSHED: "undecided", planted.SPOILT: "wrong"}
    for number, (text, verdict) in enumerate(programs.items()):
        if command == "mutate" and text == planted.FLUSHED:
            continue  # the original is flushed as well
        folder = tmp_path / str(number)
        folder.mkdir()
        said = list(JUDGING[command](text, folder))
        assert verdict in [one for one, _ in said], said
        if verdict == "undecided":
            assert {one for one, _ in said} == {"undecided"}
            assert all(message.endswith(WORDS) for _, message in said if message)
        else:
            assert not any(WORDS in message for one, message in said if one == "wrong")


def asked(*arguments):
    return CliRunner().invoke(cli, arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_of_each_command_what_it_says_itself(name):
    command = import_module(COMMANDS[name]).command
    assert command.get_short_help_str(200) == SUMMARIES[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples_that_it_takes(name):
    done = asked(name, "--help")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = re.findall(
        rf"^ *(?:git bisect run )?xlabench ({name} .+)$", done.stdout.partition("Examples:")[2], re.MULTILINE
    )
    assert lines
    for line in lines:
        _, *arguments = shlex.split(line)
        import_module(COMMANDS[name]).command.make_context(name, arguments)
