"""Lists of engines are read alike by every command that takes one."""

from importlib import import_module
from importlib.util import find_spec

import pytest
from click.testing import CliRunner

from xlabench.cli import cli
from xlabench.commands.engine_lists import engines_of, split
from xlabench.engines import ENGINES, engine
from xlabench.errors import BenchError

TAKE_LISTS = {"nightly": ["--suite", "smoke"], "fuzz": ["--count", "1"], "mutate": ["smoke", "--count", "1"]}


@pytest.mark.parametrize(
    ("given", "specs"),
    [
        (["reference,cpu"], ["reference", "cpu"]),
        (["reference cpu"], ["reference", "cpu"]),
        (["reference, cpu"], ["reference", "cpu"]),
        (["reference", "cpu"], ["reference", "cpu"]),
        (["cpu:threads=1,opt=0,reference"], ["cpu:threads=1,opt=0", "reference"]),
        (["cpu:opt=0,fusion,xla,cpu:opt=1"], ["cpu:opt=0,fusion", "xla", "cpu:opt=1"]),
        (["nvptx:check_races=on,sim,cpu"], ["nvptx:check_races=on,sim", "cpu"]),
        (["cpu nvptx:sim"], ["cpu", "nvptx:sim"]),
        (["cpu,cpu:fusion=off,nvptx:sim,xla"], ["cpu", "cpu:fusion=off", "nvptx:sim", "xla"]),
        (["cpu:opt=0,cpu:fusion=off,opt=0"], ["cpu:opt=0", "cpu:fusion=off,opt=0"]),
        ([" "], []),
    ],
)
def test_a_comma_separates_engines_where_it_separates_no_options(given, specs):
    assert split(given) == specs


def test_no_option_is_called_like_an_engine_but_for_a_device_which_comes_first():
    there = {name: path for name, path in ENGINES.items() if name != "xla" or find_spec("jaxlib")}
    modules = [import_module(path) for path in there.values()]
    assert ENGINES.keys().isdisjoint(word for module in modules for word in module.OPTIONS)
    for module in modules:
        for device in module.DEVICES:
            spec = f"{module.__name__.rpartition('.')[2]}:{device}"
            assert split([f"{spec},reference"]) == [spec, "reference"]


@pytest.mark.parametrize("given", ["cpu,opt=0", "cpu:opt=0,cuda", "cuda,cpu"])
def test_where_commas_cannot_be_told_the_form_that_can_is_said(given):
    with pytest.raises(BenchError, match=r"separate engines by spaces, such as --x 'cpu:threads=1,opt=0 reference'"):
        engines_of([given], lambda text: engine(text).spec, "--x")
    assert engines_of(["cpu:threads=1,opt=0 reference"], lambda text: engine(text).spec)


@pytest.mark.parametrize("name", TAKE_LISTS)
@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["cpu,reference cpu"], "an engine is given twice"),
        (["cpu", "--engines", "reference,cpu"], "an engine is given twice"),
        ([" "], "no engine is named"),
        (["cpu:threads=1,opt=0,cuda"], "separate engines by spaces"),
    ],
)
def test_every_command_takes_the_same_lists(name, given, says, tmp_path):
    out = tmp_path / "out"
    done = CliRunner().invoke(cli, [name, *TAKE_LISTS[name], "--out", str(out), "--engines", *given])
    assert (done.exit_code, says in done.stderr, out.exists()) == (2, True, False), done.stderr


def test_every_command_with_a_list_of_engines_is_tested():
    found = {
        name
        for name in cli.list_commands(None)
        if any("--engines" in parameter.opts for parameter in cli.get_command(None, name).params)
    }
    assert found == set(TAKE_LISTS)
