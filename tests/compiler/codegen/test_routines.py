"""Routines: made once in a process, found by others where programs are kept, made again where files are broken."""

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.cache import Cache
from compiler.codegen import routines

SORT = """
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e { x = f32[LENGTH] parameter(0)  ROOT s = f32[LENGTH] sort(x), dimensions={0}, to_apply=less }
"""


@pytest.fixture
def processes(monkeypatch):
    """Begins a new process, as far as routines are concerned."""
    return lambda: monkeypatch.setattr(routines, "_COMPILED", {})


@pytest.fixture
def making():
    """What makes a routine, and counts."""

    class Making(list):
        def __call__(self):
            self.append(1)
            return b"code"

    return Making()


def test_a_process_makes_a_routine_once(processes, making):
    processes()
    assert [routines.compiled(("text", "target"), making, None) for _ in range(2)] == [b"code"] * 2
    assert routines.compiled(("text", "other"), making, None) == b"code"
    assert len(making) == 2


@pytest.mark.parametrize(("broken", "made"), [(False, 1), (True, 2)])
def test_another_process_finds_it_unless_it_is_broken(processes, making, tmp_path, broken, made):
    cache = Cache.open(str(tmp_path), 1 << 20)
    for _ in range(2):
        processes()
        assert routines.compiled(("text", "target"), making, cache) == b"code"
        (file,) = tmp_path.iterdir()
        if broken:
            file.write_bytes(b"something else")
    assert len(making) == made


@pytest.mark.slow
def test_a_program_that_was_never_compiled_finds_the_routines_of_others(processes, tmp_path):
    options, files = CompileOptions(cache=str(tmp_path)), []
    for length in (5000, 6000):
        processes()
        x = np.random.default_rng(length).standard_normal(length, np.float32)
        (found,) = compiler.compile(SORT.replace("LENGTH", str(length)), options=options)(x)
        np.testing.assert_array_equal(found, np.sort(x))
        files.append(set(tmp_path.iterdir()))
    assert len(files[0]) > 1
    assert len(files[1] - files[0]) == 1
