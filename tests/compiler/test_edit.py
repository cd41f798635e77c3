"""Edits give valid programs, leave the original alone, and say where each parameter comes from."""

import numpy as np
import pytest
from edited_programs import MAIN, TEXT

import compiler
from compiler import edit

EDITS = {
    "keep results": (lambda m: edit.keep_results(m, [MAIN["v"]]), ["f32[6]"], (0, 1)),
    "keep two results": (lambda m: edit.keep_results(m, [MAIN["v"], MAIN["a"]]), ["f32[6]", "f32[6,4]"], (0, 1)),
    "to parameters": (lambda m: edit.to_parameters(m, [MAIN["b"]]), None, (MAIN["b"],)),
    "to constants": (
        lambda m: edit.to_constants(m, {MAIN["x"]: np.float32(2), MAIN["a"]: np.ones((6, 4), np.float32)}),
        None,
        (),
    ),
    "substitute": (lambda m: edit.substitute(m, {MAIN["a"]: MAIN["y"]}), None, (1,)),
    "expand call": (lambda m: edit.expand(m, {MAIN["b"]: 0}), None, (0, 1)),
    "expand loop": (lambda m: edit.expand(m, {MAIN["l"]: 0}), None, (0, 1)),
    "expand a call in halves": (lambda m: edit.expand(m, {MAIN["began"]: 0}), None, (0, 1)),
    "go on": (lambda m: edit.go_on(m, MAIN["l"], 2), None, (0, 1)),
    "write out": (lambda m: edit.write_out(m, MAIN["l"], 3), None, (0, 1)),
    "sum up": (lambda m: edit.sum_up(m, [MAIN["v"], MAIN["b"]]), None, (0, 1)),
    "share": (edit.share, None, (0, 1)),
    "drop arguments": (lambda m: edit.drop_arguments(m, [MAIN["b"], MAIN["v"]]), None, (0, 1)),
    "drop state": (lambda m: edit.drop_state(m, MAIN["l"], 2), None, (0, 1)),
    "isolate": (lambda m: edit.isolate(m, MAIN["v"]), ["f32[6]"], (MAIN["b"],)),
    "isolate in a body": (
        lambda m: edit.isolate(m, ("iteration", "iteration.y")),
        ["f32[6,4]"],
        (("iteration", "iteration.x"),),
    ),
    "isolate a tuple's user": (lambda m: edit.isolate(m, MAIN["l"]), None, (MAIN["b"], MAIN["v"])),
    "plain": (edit.plain, None, (0, 1)),
    "resize": (lambda m: edit.resize(edit.keep_results(m, [MAIN["v"]]).module, {6: 2}), ["f32[2]"], (0, 1)),
    "retype": (lambda m: edit.retype(m, "f32", "f64"), ["f64[6,4]", "f64[6]", "f64[3,2]"], (0, 1)),
    "attributes": (
        lambda m: edit.simplify_attributes(m, [MAIN["cut"]]),
        ["f32[6,4]", "f32[6]", "f32[3,2]"],
        (0, 1),
    ),
    "what is gone is passed over": (lambda m: edit.to_parameters(m, [("main", "nothing")]), None, (0, 1)),
}


@pytest.fixture
def module():
    module = compiler.parse(TEXT)
    compiler.verify(module)
    return module


@pytest.mark.parametrize(("change", "results", "sources"), EDITS.values(), ids=EDITS)
def test_an_edit_gives_another_valid_program(module, change, results, sources):
    before = compiler.to_text(module)
    edited = change(module)
    compiler.verify(edited.module)
    assert compiler.to_text(module) == before
    assert edited.sources == sources
    if results is not None:
        root = edited.module.entry.root
        shapes = root.shape.elements if root.opcode == "tuple" else (root.shape,)
        assert [str(shape) for shape in shapes] == results
