"""Whatever comes in kinds stands in a table, each member in a file of its own: a file without a row is dead."""

import inspect
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import compiler
from compiler import pipeline
from compiler.__main__ import cli as by_hand
from compiler.backends import BACKENDS
from compiler.backends.cpu.kernels.linear_algebra.lapack import METHODS
from compiler.expansion.lapack import KERNELS
from compiler.ops import OPS
from compiler.passes import algebraic_simplification, data_movement_simplification
from xlabench import cli
from xlabench.engines import ENGINES, OF_GRAPHS

ROOT = Path(__file__).parents[2]
FILETESTS = ROOT / "tests" / "filetests" / "passes"
RULES = {
    "algebraic-simplification": algebraic_simplification.RULES,
    "data-movement-simplification": data_movement_simplification.RULES,
}
NOT_ENGINES = {"compiled", "spec"}
NOT_COMMANDS = {
    "target",
    "engine_lists",
    "examples",
    "campaign_options",
    "interruption",
    "judging_options",
    "progress",
}  # what several commands share
NOT_BY_HAND = {"ending", "files", "options"}
MOST_NAMES = 40


def modules(*folder, but=()):
    files = (ROOT.joinpath(*folder)).glob("*.py")
    return {path.stem for path in files} - {"__init__", *but}


def rules():
    return [
        (name, rule)
        for name, table in RULES.items()
        for rule in dict.fromkeys(r for row in table.values() for r in row)
    ]


def test_every_pass_is_a_file_of_the_same_name():
    names = {name.replace("-", "_") for name in pipeline.PASSES}
    assert modules("compiler", "passes") == names
    for name, run in pipeline.PASSES.items():
        assert run.__module__ == f"compiler.passes.{name.replace('-', '_')}"


def test_pipelines_name_passes_that_exist():
    used = {name for stages in pipeline.PIPELINES.values() for stage in stages for name in stage.passes}
    assert used == set(pipeline.PASSES)


@pytest.mark.parametrize("name", pipeline.PASSES)
def test_every_pass_has_file_tests(name):
    assert list((FILETESTS / name).glob("*.hlo"))


def test_every_folder_of_file_tests_is_about_a_pass():
    assert {path.name for path in FILETESTS.iterdir()} == set(pipeline.PASSES)


@pytest.mark.parametrize(("name", "rule"), rules(), ids=lambda value: getattr(value, "__name__", value))
def test_every_rule_is_an_equation_with_a_file_test(name, rule):
    assert "->" in rule.__doc__
    assert (FILETESTS / name / f"{rule.__name__.strip('_')}.hlo").exists()


def test_routines_that_are_left_to_kernels_have_one():
    assert set(METHODS) == set(KERNELS)


def test_every_back_end_is_a_folder():
    folders = {path.parent.name for path in (ROOT / "compiler" / "backends").glob("*/__init__.py")}
    assert folders == set(BACKENDS)
    assert {backend.pipeline for backend in BACKENDS.values()} <= set(pipeline.PIPELINES)


def test_every_engine_is_a_file():
    folders = {name: "graphs" if name in OF_GRAPHS else "engines" for name in ENGINES}
    assert modules("xlabench", "engines", but=NOT_ENGINES) == {name for name in ENGINES if folders[name] == "engines"}
    assert all(module == f"xlabench.{folders[name]}.{name}" for name, module in ENGINES.items())


def test_every_back_end_is_an_engine():
    assert set(BACKENDS) <= set(ENGINES)


def test_every_subcommand_is_a_file():
    files = {name: name.replace("-", "_") for name in cli.COMMANDS}
    assert modules("xlabench", "commands", but=NOT_COMMANDS) == set(files.values())
    assert all(module == f"xlabench.commands.{files[name]}" for name, module in cli.COMMANDS.items())
    assert cli.SUMMARIES.keys() == cli.COMMANDS.keys()


def test_every_subcommand_by_hand_is_a_file():
    assert modules("compiler", "commands", but=NOT_BY_HAND) == set(by_hand.commands)
    for name, command in by_hand.commands.items():
        assert command is import_module(f"compiler.commands.{name}").command


@pytest.mark.parametrize("package", ["compiler", "xlabench"])
def test_every_layer_is_on_the_map(package):
    """The README of a package names each member of its contract."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    [layers] = [one["layers"] for one in contracts if one.get("containers") == [package]]
    members = {name.strip() for layer in layers for name in layer.split("|")}
    text = (ROOT / package / "README.md").read_text()
    assert {name for name in members if f"`{name}/`" not in text and f"`{name}.py`" not in text} == set()


def test_the_front_door_is_narrow():
    assert len(compiler.__all__) <= MOST_NAMES
    assert all(hasattr(compiler, name) for name in compiler.__all__)


@pytest.mark.parametrize("opcode", OPS)
def test_records_are_complete(opcode):
    op = OPS[opcode]
    least, most = op.operands
    assert op.opcode == opcode
    assert op.doc.strip()
    assert callable(op.rule)
    assert least >= 0
    assert most is None or most >= least
    assert not set(op.required) & set(op.optional)


def test_what_has_no_meaning_on_one_host_is_listed():
    without = {opcode for opcode, op in OPS.items() if op.evaluate is None}
    assert without == WITHOUT_EVALUATE.keys(), "give the op a meaning, or a reason here"


WITHOUT_EVALUATE = {
    "parameter": "its value is given by the caller",
    "rng-get-and-update-state": "the generator's state belongs to the process",
    "infeed": "the host's queue is outside the program",
    "outfeed": "the host's queue is outside the program",
    "send": "there is no other side",
    "send-done": "there is no other side",
    "recv": "there is no other side",
    "recv-done": "there is no other side",
}


def test_public_names_have_docstrings():
    missing = [name for name in compiler.__all__ if not inspect.getdoc(getattr(compiler, name))]
    assert not missing
