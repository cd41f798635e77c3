"""How much memory compiled programs take: near the least that is possible at all."""

import pytest

import compiler
from xlabench.cases import programs
from xlabench.cases.suite import load_suite

PATHS = {program.name: program.path for program in load_suite("corpus").programs}


@pytest.mark.parametrize("fusion", [True, False], ids=["fused", "unfused"])
@pytest.mark.parametrize("name", PATHS)
def test_the_arena_is_hardly_larger_than_what_is_alive_at_once(name, fusion):
    options = compiler.CompileOptions(fusion=fusion, threads=2, opt=0)
    arena, lower_bound = compiler.compile(programs.read(PATHS[name]), options=options).memory_bytes
    assert lower_bound <= arena <= 1.25 * lower_bound
