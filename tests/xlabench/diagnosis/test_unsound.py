"""A judge that is wrong says about which opcode, wherever in a program it stands."""

import numpy as np
import pytest

import compiler
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.unsound import Alone, told_about
from xlabench.judging.self_check import JudgeError

TEXT = """
more { s = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(2)
  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1) j = s32[] add(i, one) y = f32[4] cosine(x) ROOT r = (s32[], f32[4]) tuple(j, y) }
ENTRY main { x = f32[4] parameter(0) e = f32[4] exponential(x) o = s32[] constant(0) l = f32[4] log(e)
  t = (s32[], f32[4]) tuple(o, l) w = (s32[], f32[4]) while(t), condition=more, body=body
  z = f32[4] get-tuple-element(w), index=1 ROOT r = (f32[4], f32[4]) tuple(z, e) }
"""
CASE = Case(compiler.parse(TEXT), (np.linspace(0.5, 2, 4, dtype=np.float32),))


def _wrong_about(opcodes):
    def tries(case):
        if opcodes <= {instruction.opcode for instruction in case.module.instructions()}:
            raise JudgeError("it breaks its bounds")

    return tries


def _told(opcodes):
    again = _wrong_about(opcodes)
    with pytest.raises(JudgeError) as raised, told_about(CASE, again):
        again(CASE)
    assert isinstance(raised.value.__cause__, Alone)
    return str(raised.value), compiler.parse(str(raised.value.__cause__))


@pytest.mark.parametrize("opcode", ["exponential", "log", "cosine", "add", "compare"])
def test_the_opcode_is_told_and_a_program_of_it_alone(opcode):
    told, alone = _told({opcode})
    assert told == f"about {opcode}: it breaks its bounds"
    assert {i.opcode for i in alone.instructions()} - {"parameter", "constant"} == {opcode}


def test_what_only_shows_together_is_about_all_of_it():
    told, alone = _told({"log", "cosine"})
    assert told == "about add+compare+cosine+exponential+log+while: it breaks its bounds"
    assert str(alone) == str(CASE.module)


def test_where_it_was_noticed_stays_the_end_of_the_traceback():
    again = _wrong_about({"log"})
    with pytest.raises(JudgeError) as raised, told_about(CASE, again):
        again(CASE)
    assert raised.traceback[-1].name == "tries"


def test_what_is_right_and_what_else_is_raised_goes_its_way():
    with told_about(CASE, _wrong_about({"log"})):
        pass
    with pytest.raises(KeyError), told_about(CASE, _wrong_about({"log"})):
        raise KeyError("log")


@pytest.mark.parametrize("error", [ValueError, KeyError, TypeError, RecursionError])
def test_what_a_judge_breaks_down_with_is_about_the_opcode_with_which_it_does_alone(error):
    def tries(case):
        if "log" in {instruction.opcode for instruction in case.module.instructions()}:
            raise error("there is no such thing")

    with pytest.raises(JudgeError, match=rf"about log: {error.__name__}: ") as raised, told_about(CASE, tries):
        tries(CASE)
    assert raised.traceback[-1].name == "tries"
    assert {i.opcode for i in compiler.parse(str(raised.value.__cause__.__cause__)).instructions()} == {
        "parameter",
        "log",
    }
