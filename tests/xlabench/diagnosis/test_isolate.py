"""Every instruction that computes stands alone on the values that it gets; in a loop on the first and the last."""

import numpy as np

import compiler
from xlabench.diagnosis.case import Case, recorded
from xlabench.diagnosis.isolate import isolate_each

LOOP = """body { p = (s32[], f32[2]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  x = f32[2] get-tuple-element(p), index=1  one = s32[] constant(1)  j = s32[] add(i, one)
  y = f32[2] add(x, x)  ROOT t = (s32[], f32[2]) tuple(j, y) }
more { p = (s32[], f32[2]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[2] parameter(0)  z = s32[] constant(0)  t = (s32[], f32[2]) tuple(z, x)
  w = (s32[], f32[2]) while(t), condition=more, body=body  v = f32[2] get-tuple-element(w), index=1
  ROOT r = f32[2] negate(v), metadata={op_name="last"} }"""


def found():
    case = Case(compiler.parse(LOOP), (np.array([1, 2], np.float32),))
    return {isolated.instruction_id: isolated for isolated in isolate_each(case, recorded(case))}


def test_only_what_computes_stands_alone_in_the_order_of_execution():
    assert list(found()) == [("more", "r"), ("body", "j"), ("body", "y"), ("e", "r")] or list(found()) == [
        ("body", "j"),
        ("body", "y"),
        ("more", "r"),
        ("e", "r"),
    ]


def test_what_runs_again_and_again_is_given_its_first_values_and_its_last():
    cases = found()["body", "y"].cases
    assert [[value.tolist() for value in case.inputs] for case in cases] == [[[1, 2]], [[4, 8]]]
    (once,) = found()["e", "r"].cases
    assert [value.tolist() for value in once.inputs] == [[8, 16]]


def test_each_is_a_program_that_gives_what_stood_there():
    (case,) = found()["e", "r"].cases
    compiler.verify(case.module)
    assert compiler.interpret(case.module, *case.inputs)[0].tolist() == [-8, -16]
