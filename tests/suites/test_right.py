"""Every program of the suites natively: the reference's results however it is compiled, the same bits every time."""

import numpy as np
import pytest
from shared import share_everything

from xlabench import engine
from xlabench.cases import programs
from xlabench.cases.inputs import recipe_beside
from xlabench.cases.suite import known_suites, load_suite
from xlabench.judging.differ import compare

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
