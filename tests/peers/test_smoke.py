"""The programs of the smoke suite on XLA itself: who else could say that the reference is right?"""

import pytest

import compiler
from xlabench import engine
from xlabench.cases.inputs import recipe_beside
from xlabench.cases.suite import load_suite
from xlabench.judging.differ import compare
from xlabench.judging.tolerance import TolerancePolicy

pytest.importorskip("jaxlib", reason="jaxlib is not installed")

PROGRAMS = {p.name: next(iter(p.reduced.values())).path if p.reduced else p.path for p in load_suite("smoke").programs}
ENGINES = ("reference", "cpu", "cpu:fusion=off")


@pytest.mark.parametrize("name", PROGRAMS)
def test_engines_agree_with_xla(name):
    path = PROGRAMS[name]
    text = path.read_text(encoding="utf-8")
    recipe = recipe_beside(path)
    arrays = recipe.make()
    expected = engine("xla").compile(text)(*arrays)
    for spec in ENGINES:
        actual = engine(spec).compile(text)(*arrays)
        comparison = compare(expected, actual, policy=TolerancePolicy(recipe.rtol, recipe.atol))
        assert comparison.agreement in ("bitwise", "within"), f"{spec}: {comparison.describe()}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_xla_reads_what_we_print_and_means_the_same(name):
    path = PROGRAMS[name]
    text = path.read_text(encoding="utf-8")
    arrays = recipe_beside(path).make()
    written, printed = (engine("xla").compile(t)(*arrays) for t in (text, compiler.to_text(compiler.parse(text))))
    assert compare(written, printed).agreement == "bitwise"
