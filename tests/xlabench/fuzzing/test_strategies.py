"""The generator under Hypothesis: valid programs that shrink to what matters."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis.errors import NoSuchExample

import compiler
from xlabench.fuzzing.strategies import small_modules

QUIET = settings(max_examples=40, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
PROGRAMS = small_modules(frozenset({"exponential", "dot", "add", "reshape", "transpose"}), frozenset({"f32"}))


@QUIET
@given(PROGRAMS)
def test_drawn_programs_are_valid(module):
    compiler.verify(module)


@pytest.mark.slow
def test_a_failure_shrinks_to_the_instructions_that_matter():
    def has_exponential_of_dot(module):
        pairs = [(i.opcode, o.opcode) for i in module.instructions() for o in i.operands]
        return ("exponential", "clamp") in pairs and "dot" in {i.opcode for i in module.instructions()}

    try:
        smallest = find(PROGRAMS, has_exponential_of_dot, settings=settings(QUIET, max_examples=1500))
    except NoSuchExample:
        raise AssertionError("no example was drawn") from None
    drawn = [i.opcode for i in smallest.instructions() if i.opcode not in ("parameter", "constant", "clamp")]
    assert len(drawn) <= 4
