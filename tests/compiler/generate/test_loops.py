"""Loops are drawn that one kernel may do although they ask whether any element goes on."""

from __future__ import annotations

import pytest

import compiler
from compiler import CompileOptions
from compiler.analysis import iteration
from compiler.backends import BACKENDS
from compiler.backends.cpu.kernels.loop.iteration import _unchanging
from compiler.generate import Packing, RandomChoices, Space, space_of
from compiler.generate.choices import pick
from compiler.generate.kernels import KERNELS
from compiler.generate.loops import loop
from compiler.generate.scope import Program, Scope
from compiler.generate.table import step
from compiler.ir.module import Computation, Module
from compiler.ir.shape import leaves
from compiler.ir.types import F32, TYPES
from compiler.pipeline import PIPELINES, run

SPACE = Space(frozenset({"while", "add", "multiply", "maximum"}), frozenset({"f32", "s32", "u8"}), most_elements=64)


def program_of_a_loop(seed):
    """A program whose last value is that of a loop."""
    module = Module("m")
    module.entry = module.add_computation(Computation("main"))
    scope = Scope(Program(RandomChoices(seed), SPACE, module, step), module.entry, depth=0)
    module.entry.root = loop(scope, "while", F32)
    module.sort_computations()
    return module


def drawn(seed):
    """A loop, as one that one kernel may do, or None."""
    entry = program_of_a_loop(seed).entry
    return next(iteration.find(one) for one in entry.instructions if one.opcode == "while")


def one_kernel_loops(seed):
    """The loops of many elements that become one kernel, as a back end gets them."""
    choices, recipe = RandomChoices(seed), KERNELS["elements of a loop"]
    packing = Packing("m", space_of(("f32", "s8", "pred", "s32"), frozenset()))
    packing.kernel(recipe, TYPES[pick(choices, ("f32", "s8"))], choices)
    module = packing.finish()
    run(module, PIPELINES[BACKENDS["cpu"].pipeline], CompileOptions())
    loops = [instruction for instruction in module.instructions() if instruction.opcode == "while"]
    return [found for one in loops if (found := iteration.find(one)) is not None]


@pytest.mark.slow
def test_loops_of_many_elements_stop_by_what_any_of_them_says_and_read_arrays_that_stay_as_they_are():
    found = [one for seed in range(60) for one in one_kernel_loops(seed)]
    alive = [one for one in found if one.alive is not None]
    assert len(found) > 20
    assert len(alive) > 3
    assert sum(bool(_unchanging(one)) for one in found) > 3


@pytest.mark.slow
def test_loops_that_ask_whether_any_element_goes_on_may_be_one_kernel():
    found = [one for seed in range(150) if (one := drawn(seed)) is not None]
    assert sum(one.alive is not None for one in found) > 10


def test_some_loops_end_by_a_flag_that_their_body_only_writes():
    found = 0
    for seed in range(80):
        module = program_of_a_loop(seed)
        compiler.verify(module)
        for one in module.entry.instructions:
            if one.opcode == "while" and len(list(leaves(one.shape))) > 1:
                body, condition = one.attributes["body"], one.attributes["condition"]
                read = {u.attributes["index"] for u in condition.parameters[0].users}
                found += bool(read - {u.attributes["index"] for u in body.parameters[0].users if u.users})
    assert found > 5
