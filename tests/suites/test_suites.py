"""The project's suites: every program has the inputs it asks for; a reduced one is the same program, smaller."""

import numpy as np
import pytest

import compiler
from xlabench.cases import inputs, programs
from xlabench.cases.suite import CONFIG, known_suites, load_suite

SUITES = {name: load_suite(name).programs for name in known_suites()}
PROGRAMS = {program.name: program for name in ("corpus", "smoke", "graphs") for program in SUITES[name]}
REDUCED = {name: variant.path for name, program in PROGRAMS.items() for variant in program.reduced.values()}


def opcodes(module):
    return [[instruction.opcode for instruction in computation.instructions] for computation in module.computations]


def elements(module):
    return sum(int(np.prod(parameter.shape.dims)) for parameter in module.entry.parameters)


@pytest.mark.parametrize("path", [*(p.path for p in PROGRAMS.values()), *REDUCED.values()], ids=lambda path: path.stem)
def test_the_recipe_makes_what_the_program_takes(path):
    recipe = inputs.recipe_beside(path)
    assert recipe is not None
    module = programs.read(path)
    shapes = [(parameter.shape, parameter.dtype) for parameter in recipe.parameters]
    assert shapes == [(p.shape.dims, inputs.DTYPES[p.shape.element_type.name]) for p in module.entry.parameters]


@pytest.mark.parametrize("name", REDUCED)
def test_a_reduced_program_has_the_same_structure_and_less_work(name):
    full, reduced = programs.read(PROGRAMS[name].path), programs.read(REDUCED[name])
    assert opcodes(reduced) == opcodes(full)
    assert elements(reduced) < elements(full)
    assert elements(reduced) <= 50_000


@pytest.mark.parametrize("name", REDUCED)
def test_a_reduced_program_computes_finite_results(name):
    recipe = inputs.recipe_beside(REDUCED[name])
    assert recipe is not None
    results = compiler.interpret(programs.read(REDUCED[name]), *recipe.make())
    assert all(np.isfinite(result).all() for result in results)


@pytest.mark.parametrize("name", SUITES)
def test_no_file_of_a_suite_is_forgotten(name):
    folder = known_suites()[name]
    named = {program.path.resolve() for program in SUITES[name]}
    named |= {variant.path for program in SUITES[name] for variant in program.reduced.values()}
    graphs = {path for path in folder.glob("*.pbtxt") if not path.name.endswith(CONFIG)}
    assert {*folder.glob("*.hlo"), *graphs} == {path for path in named if path.parent == folder}
    assert {path.stem for path in folder.glob("*.json")} == {path.stem for path in (*folder.glob("*.hlo"), *graphs)}


def test_every_suite_is_looked_at():
    assert {program.name for programs_ in SUITES.values() for program in programs_} == PROGRAMS.keys()
