"""Every pass, on the programs of its file tests and of the smoke suite: valid, meaning kept, each rewrite counted."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import compiler
from compiler import inputs, pipeline
from compiler.ir.rewrite import Fuel
from compiler.pipeline import PASSES, PIPELINES, REQUIRED
from xlabench.cases.inputs import recipe_beside
from xlabench.cases.suite import load_suite
from xlabench.judging.differ import compare

FILETESTS = Path(__file__).parents[1] / "filetests" / "passes"
FILES = sorted(FILETESTS.rglob("*.hlo"))
OPTIONS = compiler.CompileOptions(verify_each=True)
OPTIONAL = [name for name in PASSES if name not in REQUIRED]
BISECTED = "mnist_softmax_step"


def small_programs():
    """The programs of the suite, those with a reduced twin as that."""
    paths = [next(iter(p.reduced.values())).path if p.reduced else p.path for p in load_suite("smoke").programs]
    return {path.name.partition(".")[0]: path for path in paths}


SMALL = small_programs()


@cache
def case(name):
    """A program with inputs and what it computes."""
    path = SMALL[name]
    module = compiler.parse(path.read_text(encoding="utf-8"))
    arrays = recipe_beside(path).make()
    return module, arrays, compiler.interpret(module, *arrays)


def same(module, arrays, expected):
    comparison = compare(expected, compiler.interpret(module, *arrays))
    assert comparison.agreement in ("bitwise", "within"), comparison.describe()


def name_of(path):
    return f"{path.parent.name}-{path.stem}" if isinstance(path, Path) else path


def normal_text(module):
    """The text without computations that nothing calls, whose order and presence mean nothing."""
    copy = module.clone()
    copy.sort_computations()
    return compiler.to_text(copy)


def run_pass(name, module, limit=None):
    fuel = Fuel(limit, name)
    changed = PASSES[name](module, fuel)
    compiler.verify(module)
    return changed, fuel.rewrites


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_spends_fuel(name):
    spent = [run_pass(name, compiler.parse(path.read_text()))[1] for path in (FILETESTS / name).glob("*.hlo")]
    assert any(spent)
    assert all(rewrite.pass_name == name for rewrites in spent for rewrite in rewrites)


@pytest.mark.parametrize("path", FILES, ids=name_of)
@pytest.mark.parametrize("name", PASSES)
def test_what_changes_a_program_is_counted(name, path):
    module = compiler.parse(path.read_text())
    before = normal_text(module)
    changed, rewrites = run_pass(name, module)
    if not changed:
        assert normal_text(module) == before
    elif name != "schedule":
        assert rewrites


@pytest.mark.parametrize("path", FILES, ids=name_of)
@pytest.mark.parametrize("name", OPTIONAL)
def test_without_fuel_nothing_changes(name, path):
    module = compiler.parse(path.read_text())
    before = normal_text(module)
    run_pass(name, module, limit=0)
    assert normal_text(module) == before


@pytest.mark.parametrize("name", SMALL)
def test_every_step_keeps_the_meaning(name):
    module, arrays, expected = case(name)
    seen = []

    def observe(step):
        if step.changed:
            seen.append(step.after)
            same(step.module, arrays, expected)

    pipeline.run(module.clone(), PIPELINES["compile"], OPTIONS, observe=observe)
    assert seen


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("pass_name", PASSES)
def test_every_pass_alone_keeps_the_meaning(pass_name, name):
    module, arrays, expected = case(name)
    copy = module.clone()
    changed, _ = run_pass(pass_name, copy)
    if changed:
        same(copy, arrays, expected)


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_disabled_pass_does_not_run(name):
    module, arrays, expected = case(BISECTED)
    copy = module.clone()
    done = pipeline.run(copy, PIPELINES["compile"], replace(OPTIONS, disable_passes=(name,)))
    assert name not in {rewrite.pass_name for rewrite in done.rewrites}
    same(copy, arrays, expected)


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_a_required_pass_cannot_be_disabled(name):
    with pytest.raises(compiler.InputError, match="cannot be disabled"):
        compiler.optimize(case(BISECTED)[0], replace(OPTIONS, disable_passes=(name,)))


@pytest.mark.slow
def test_fuel_stops_after_any_number_of_rewrites():
    module, arrays, expected = case(BISECTED)
    everything = pipeline.run(module.clone(), PIPELINES["compile"], OPTIONS).rewrites
    assert len(everything) > 20
    for limit in range(len(everything) + 1):
        copy = module.clone()
        done = pipeline.run(copy, PIPELINES["compile"], compiler.CompileOptions(fuel=limit)).rewrites
        compiler.verify(copy)
        assert done[:limit] == everything[:limit]
        assert {rewrite.pass_name for rewrite in done[limit:]} <= REQUIRED
        same(copy, arrays, expected)


@pytest.mark.slow
def test_running_a_pipeline_again_changes_nothing():
    for name in SMALL:
        once = compiler.optimize(case(name)[0], replace(OPTIONS, fusion=False))
        again = pipeline.run(once.clone(), PIPELINES["simplify"], OPTIONS)
        assert again.changed == [], name


@pytest.mark.slow
def test_the_drawn_inputs_fit_every_file_test():
    for path in FILES:
        module = compiler.parse(path.read_text())
        assert len(inputs.draw(module, 0)) >= len(module.entry.parameters)
