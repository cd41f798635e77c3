"""The smoke suite: every program has the inputs it asks for, and its reduced twin is the same program, smaller."""

import numpy as np
import pytest

import compiler
from xlabench.cases import inputs, programs
from xlabench.cases.suite import load_suite

PROGRAMS = {program.name: program for program in load_suite("smoke").programs}
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


def test_no_file_of_the_suite_is_forgotten():
    folder = next(iter(PROGRAMS.values())).path.parent
    assert set(folder.glob("*.hlo")) == {*(program.path for program in PROGRAMS.values()), *REDUCED.values()}
    assert {path.with_suffix(".hlo") for path in folder.glob("*.json")} == set(folder.glob("*.hlo"))
