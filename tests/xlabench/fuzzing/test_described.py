"""What is recorded of a case follows from its program, and is asked of some of them only."""

import numpy as np

import compiler
from compiler.generate import Decisions
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.described import made_of, shares, tellingly, told
from xlabench.fuzzing.telling import Told

TEXT = """ENTRY e { x = f32[2] parameter(0)  y = f32[2] parameter(1)  zero = f32[] constant(0)
  z = f32[2] broadcast(zero), dimensions={}  a = f32[2] multiply(y, z)  ROOT b = f32[2] add(x, a) }"""
INPUTS = [np.array([1, 2], np.float32), np.array([3, 4], np.float32)]


def case(number=0, **more):
    return Case(number, compiler.parse(TEXT), INPUTS, **more)


def test_a_case_is_made_of_opcodes_on_types():
    found = made_of(case(changes=("swap",), options={"cpu": {"opt": "0"}}), 0.5)
    assert (found["instructions"], found["changes"], found["seconds"]) == (6, ["swap"], {"drawing": 0.5})
    assert found["variants"] == ["cpu opt=0"]
    assert {"multiply f32", "add f32", "parameter f32"} <= set(found["pairs"])


def test_a_graph_is_made_of_its_ops():
    assert made_of(case(ops=("MatMul", "Add")), 0.0)["pairs"] == ["Add", "MatMul"]


def test_one_of_several_cases_is_asked_what_tells():
    found = {one.instruction_id: one.tells for one in told(case(), Decisions())}
    assert any(found.values())
    assert told(case(number=1), Decisions()) == []


def row(opcode, folder, *, tells):
    return Told(opcode, folder, tells)


def test_shares_are_counted_by_opcode_and_rules_tell_where_their_instruction_does():
    rows = [row("add", "e/a", tells=True), row("add", "e/b", tells=False), row("tanh", "e/c", tells=False)]
    assert shares(rows) == {"asked": {"add": 2, "tanh": 1}, "told": {"add": 1}}
    decided = Decisions(rules={"p: one": {"e/a", "e/c"}, "p: two": {"e/b"}})
    assert tellingly(decided, rows) == ["p: one"]
