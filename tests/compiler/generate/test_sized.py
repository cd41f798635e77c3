"""Arrays of sizes known at run time only go through every step that there is, and mean something to the reference."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.generate import RandomChoices, Space, program, sized
from compiler.ir.shape import leaves
from xlabench.fuzzing.values import make_inputs

SPACE = Space(
    frozenset({"set-dimension-size", "dynamic-reshape"}),
    frozenset({"s32", "f32"}),
    most_instructions=3,
    most_elements=64,
)


def is_sized(value):
    return any(getattr(leaf, "is_dynamic", False) for operand in value.operands for leaf in leaves(operand.shape))


@pytest.mark.slow
def test_every_step_is_taken_and_has_a_meaning():
    taken = Counter()
    for seed in range(100):
        module = program(RandomChoices(seed), SPACE)
        compiler.verify(module)
        taken.update(i.opcode for i in module.instructions() if is_sized(i))
        zeros = [np.zeros(p.shape.dims, p.shape.element_type.dtype) for p in module.entry.parameters]
        assert compiler.interpret(module, *zeros)
    assert taken.keys() >= sized.STEPS.keys() - {""}


@pytest.mark.slow
def test_what_is_beyond_a_size_is_summed_over_and_counted_and_stands_before_others():
    forms = Counter()
    for seed in range(60):
        for i in program(RandomChoices(seed), SPACE).instructions():
            if i.opcode == "dot" and is_sized(i):
                (along,) = i.attributes["lhs_contracting_dims"]
                forms["summed over"] += i.operands[0].array.dynamic[along]
            if i.opcode == "concatenate" and is_sized(i):
                forms["before another"] += i.operands[0] is not i.operands[1]
    assert set(forms) == {"summed over", "before another"}


def flags_of(value):
    return value.array.dynamic or (False,) * value.array.rank


@pytest.mark.slow
def test_slices_make_some_sizes_known_and_leave_others_before_and_behind_them():
    forms, slices = Counter(), 0
    for seed in range(200):
        for i in program(RandomChoices(seed), SPACE).instructions():
            if i.opcode != "slice" or sum(flags_of(i.operands[0])) < 2:
                continue
            slices += 1
            pairs = list(zip(flags_of(i.operands[0]), flags_of(i), strict=True))
            known = [d for d, flags in enumerate(pairs) if flags == (True, False)]
            left = [d for d, flags in enumerate(pairs) if flags == (True, True)]
            forms["some known"] += bool(known and left)
            forms["one before"] += bool(known and left) and min(left) < max(known)
            forms["one behind"] += bool(known and left) and max(left) > min(known)
    assert slices >= 20
    assert forms["some known"] >= slices / 3
    assert min(forms["one before"], forms["one behind"]) >= slices / 10


@pytest.mark.slow
def test_elements_take_other_sizes_some_of_which_are_known_and_sizes_become_known_in_any_order():
    forms = Counter()
    for seed in range(60):
        for i in program(RandomChoices(seed), SPACE).instructions():
            if i.opcode == "dynamic-reshape":
                forms["reshaped"] += 1
                forms["some known"] += 0 < sum(flags_of(i)) < i.array.rank
                forms["known first"] += flags_of(i) > flags_of(i)[::-1]
            if i.opcode == "set-dimension-size" and sum(flags_of(i)) < sum(flags_of(i.operands[0])):
                (at,) = i.attributes["dimensions"]
                forms["set back, others before"] += any(flags_of(i)[:at])
                forms["set back, others behind"] += any(flags_of(i)[at:])
    assert forms["some known"] >= forms["reshaped"] / 4
    assert min(forms.values()) >= 5


@pytest.mark.slow
def test_sizes_are_seldom_none_or_all():
    """Of an array without elements, or with all, little shows: neither is more than half of all sizes that are cut."""
    found = Counter()
    for seed in range(100):
        module = program(RandomChoices(seed), SPACE)
        given = make_inputs(module, np.random.default_rng(seed), "tame")

        def seen(instruction, value):
            if instruction.opcode != "set-dimension-size" or instruction.operands[1].opcode != "add":
                return
            (along,) = instruction.attributes["dimensions"]
            bound, size = instruction.array.dims[along], np.shape(value)[along]
            found.update(
                ["of several"] if bound > 2 else [], none=bound > 2 and not size, all=bound > 2 and size == bound
            )

        compiler.interpret(module, *given, trace=seen)
    assert found["of several"] > 50
    assert found["none"] < found["of several"] / 4
    assert found["all"] < found["of several"] / 2


def entries(seed):
    """The dynamic dimensions of what a program takes, and of what it gives."""
    entry = program(RandomChoices(seed), SPACE).entry
    given = [p.array.dynamic for p in entry.parameters if p.array.is_dynamic]
    return given, [leaf.dynamic for leaf in leaves(entry.root.shape) if leaf.is_dynamic]


def test_programs_take_and_give_arrays_of_sizes_that_are_known_at_run_time_only():
    forms = Counter()
    for seed in range(80):
        given, results = entries(seed)
        forms.update(given=bool(given), both=bool(given and results), several=len(given) > 1)
        forms.update(results=bool(results), neither=not (given or results))
        forms["two sizes of one"] += any(sum(flags) > 1 for flags in given + results)
        forms["not the first"] += any(flags[-1] and not flags[0] for flags in given)
    assert all(forms[form] > 4 for form in ("given", "both", "several", "results", "neither")), forms
    assert all(forms[form] > 2 for form in ("two sizes of one", "not the first")), forms


def test_several_devices_are_given_and_give_arrays_of_known_sizes():
    """What they take is given to each of them, and so are results."""
    space = replace(SPACE, opcodes=SPACE.opcodes | {"all-reduce"}, devices_percent=60)
    several = 0
    for seed in range(60):
        module = program(RandomChoices(seed), space)
        if compiler.device_count(module) > 1:
            shapes = [*(p.shape for p in module.entry.parameters), module.entry.root.shape]
            assert not any(getattr(leaf, "is_dynamic", False) for shape in shapes for leaf in leaves(shape))
            several += 1
    assert several > 5
