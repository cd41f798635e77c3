"""Pipelines: which passes run, in which order, what is observed of them, and options that name what does not exist."""

import pytest

import compiler
from compiler import CompileOptions
from compiler.diagnostics import InputError
from compiler.pipeline import PIPELINES, Stage, check_options, run, stages_of

TEXT = """ENTRY e { x = f32[4] parameter(0)  a = f32[4] negate(x)  b = f32[4] negate(a)  zero = f32[] constant(0)
  z = f32[4] broadcast(zero), dimensions={}  ROOT y = f32[4] add(b, b) }"""


def observed(names, text=TEXT, **options):
    module, steps = compiler.parse(text), []
    result = run(module, stages_of(names), CompileOptions(**options), observe=steps.append)
    return module, steps, result


def test_passes_run_in_the_order_that_they_are_given():
    _, steps, result = observed(["dce", "cse", "dce"])
    assert [(one.number, one.after, one.before) for one in steps] == [
        (0, "dce", "cse"),
        (1, "cse", "dce"),
        (2, "dce", ""),
    ]
    assert result.changed == ["dce"]


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_leaves_a_module_that_is_in_order(name):
    module, steps, _ = observed([name], verify_each=True)
    compiler.verify(module)
    assert [one.rewrites for one in steps] == sorted(one.rewrites for one in steps)


def test_simplification_ends_when_nothing_changes():
    _, steps, _ = observed(["simplify"])
    rounds = [one for one in steps if one.pipeline == "simplification"]
    last = rounds[-len(PIPELINES["simplify"][1].passes) :]
    assert not any(one.changed for one in last)


@pytest.mark.parametrize("fuel", [0, 1])
def test_no_more_is_rewritten_than_there_is_fuel_for(fuel):
    _, _, result = observed(["optimize"], fuel=fuel)
    assert len(result.rewrites) == fuel


def test_a_pass_that_is_disabled_does_not_run():
    _, steps, _ = observed(["optimize"], disable_passes=("dce",))
    assert "dce" not in {one.after for one in steps}


def test_names_are_of_one_pipeline_or_of_passes():
    assert stages_of(["simplify"]) == PIPELINES["simplify"]
    assert stages_of(["dce"]) == (Stage("passes", ("dce",)),)
    assert stages_of([]) == (Stage("passes", ()),)
    with pytest.raises(InputError, match=r"unknown pass 'dec'.*dce"):
        stages_of(["dec"])
    with pytest.raises(InputError, match="unknown pass 'simplify'"):
        stages_of(["dce", "simplify"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"disable_passes": ("dec",)}, "unknown pass 'dec'"),
        ({"disable_passes": ("copy-insertion",)}, "cannot be disabled"),
        ({"fuel": -1}, "fuel=-1"),
        ({"threads": -1}, "threads=-1"),
        ({"opt": 4}, "opt=4"),
        ({"dump_pass_re": "("}, "is not a regular expression"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        check_options(CompileOptions(**options))
