"""The project's suites: every program has the inputs it asks for; a reduced one is the same program, smaller.

However it is compiled it gives the reference's results, the same bits every time, from the same code every time, in
whatever order sets of instructions are walked, and in little more memory than is possible at all.
"""

import numpy as np
import pytest
from shared import share_everything

import compiler
from compiler.ir.module import Computation, Instruction
from xlabench import engine
from xlabench.cases import inputs, programs
from xlabench.cases.inputs import recipe_beside
from xlabench.cases.suite import CONFIG, known_suites, load_suite
from xlabench.judging.differ import compare

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


PATHS = {program.name: program.path for name in known_suites() for program in load_suite(name).programs}
SETTINGS = ("threads=2", "threads=2,fusion=off", "threads=2,fusion=off,opt=0", "threads=2,opt=3")


def results(spec, module, arrays):
    return [np.array(result) for result in engine(spec).compile(module)(*arrays)]


@pytest.mark.slow
@pytest.mark.parametrize("name", PATHS)
def test_every_setting_agrees_with_the_reference(name):
    module, recipe = programs.read(PATHS[name]), recipe_beside(PATHS[name])
    arrays, policy = recipe.make(), recipe.policy(module)
    expected = results("reference", module, arrays)
    for setting in SETTINGS:
        comparison = compare(expected, results(f"cpu:{setting}", module, arrays), policy=policy)
        assert comparison.agreement in {"bitwise", "within"}, f"{setting}: {comparison.describe()}"


@pytest.mark.slow
@pytest.mark.parametrize("share", [lambda _: None, share_everything], ids=["what is worth it", "everything"])
@pytest.mark.parametrize("name", PATHS)
def test_threads_and_repetition_change_no_bit(name, share, monkeypatch):
    share(monkeypatch)
    module, arrays = programs.read(PATHS[name]), recipe_beside(PATHS[name]).make()
    executables = [engine(f"cpu:threads={threads}").compile(module) for threads in (2, 1)]
    first, *others = [[np.array(r) for r in executable(*arrays)] for executable in (*executables, *executables)]
    for other in others:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(first, other, strict=True))


OPTIONS = {"cpu": compiler.CompileOptions(threads=2, opt=0), "nvptx": compiler.CompileOptions(device="sim")}
_LARGEST = (1 << 60) - 1


class Numbered:
    """Hashes by the order in which objects are first asked for theirs."""

    def __init__(self, *, upwards):
        self.upwards = upwards
        self.objects = {}

    def __call__(self, asked):
        number, _ = self.objects.setdefault(id(asked), (len(self.objects), asked))
        return number if self.upwards else _LARGEST - number


def artifacts(text, backend, numbered, monkeypatch):
    with monkeypatch.context() as patch:
        for class_ in (Instruction, Computation):
            patch.setattr(class_, "__hash__", lambda self: numbered(self))
        found = compiler.compile(text, backend, OPTIONS[backend]).artifacts
    return {name: value for name, value in found.items() if isinstance(value, str)}


@pytest.mark.slow
@pytest.mark.parametrize("backend", OPTIONS)
@pytest.mark.parametrize("name", PATHS)
def test_the_same_text_comes_to_the_same_code(name, backend, monkeypatch):
    text = programs.read_text(PATHS[name])
    one, other = (artifacts(text, backend, Numbered(upwards=upwards), monkeypatch) for upwards in (True, False))
    assert [name for name in one if one[name] != other[name]] == []


CORPUS = {program.name: program.path for program in load_suite("corpus").programs}


@pytest.mark.parametrize("fusion", [True, False], ids=["fused", "unfused"])
@pytest.mark.parametrize("name", CORPUS)
def test_the_arena_is_hardly_larger_than_what_is_alive_at_once(name, fusion):
    options = compiler.CompileOptions(fusion=fusion, threads=2, opt=0)
    arena, lower_bound = compiler.compile(programs.read(CORPUS[name]), options=options).memory_bytes
    assert lower_bound <= arena <= 1.25 * lower_bound
