"""Generated programs: valid, repeatable, varied."""

from __future__ import annotations

import pytest

import compiler
from compiler.generate.choices import RandomChoices, permutation
from compiler.generate.elementwise import DOMAINS, takes
from compiler.generate.scope import Space
from compiler.generate.table import NOT_DRAWN, PAIRS, RECIPES, evaluated, program
from compiler.inputs import draw

EVERYTHING = Space(frozenset(RECIPES), frozenset(kind for _, kind in PAIRS), empty_percent=1)


def module(seed: int, space: Space = EVERYTHING):
    return program(RandomChoices(seed), space)


def test_every_opcode_that_can_be_evaluated_is_drawn_or_says_why_not():
    assert evaluated() == set(RECIPES) | set(NOT_DRAWN)
    assert not set(RECIPES) & set(NOT_DRAWN)


@pytest.mark.parametrize("seed", range(60))
def test_a_generated_program_is_valid_and_survives_its_text(seed):
    made = module(seed)
    compiler.verify(made)
    assert compiler.parse(compiler.to_text(made)) == made


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 600, 20))
def test_the_reference_evaluates_what_is_generated(seed):
    for number in range(seed, seed + 20):
        made = module(number)
        assert compiler.interpret(made, *draw(made, number))


def test_equal_choices_give_equal_programs():
    assert module(7) == module(7)
    assert module(7) != module(8)


@pytest.mark.slow
def test_a_space_bounds_what_is_drawn():
    space = Space(frozenset({"add", "reduce"}), frozenset({"f32"}), most_elements=64)
    opcodes = {i.opcode for seed in range(40) for i in module(seed, space).instructions()}
    assert opcodes <= {"add", "reduce", "parameter", "constant", "broadcast", "iota", "tuple", "get-tuple-element"} | {
        "maximum",
        "minimum",
        "multiply",
        "compare",
        "select",
        "and",
        "or",
        "not",
        "clamp",
    }
    sizes = {i.array.size for seed in range(40) for i in module(seed, space).entry.parameters}
    assert max(sizes) <= 64


def test_banned_pairs_are_not_drawn():
    space = Space(frozenset({"add", "negate"}), frozenset({"f32", "s32"}), banned=frozenset({("add", "f32")}))
    for seed in range(60):
        sums = [i for i in module(seed, space).instructions() if i.opcode == "add"]
        assert all(str(i.array.element_type) == "s32" for i in sums)


@pytest.mark.slow
def test_every_pair_of_opcode_and_type_is_reached():
    missing = set(PAIRS)
    for opcode, kind in PAIRS:
        space = Space(frozenset({opcode}), frozenset({kind, "pred", "s32"}), most_instructions=1, most_elements=16)
        others = frozenset((opcode, other) for other in ("pred", "s32") if other != kind)
        banned = Space(space.opcodes, space.element_types, others, 1, 16)
        if any(opcode in {i.opcode for i in module(seed, banned).instructions()} for seed in range(12)):
            missing.discard((opcode, kind))
    assert not missing


@pytest.mark.slow
def test_one_space_reaches_nearly_all_pairs_in_a_few_thousand_programs():
    common = frozenset({"pred", "s32", "f32"})
    wanted = {pair for pair in PAIRS if pair[1] in common}
    space = Space(frozenset(RECIPES), common, most_elements=64)
    reached = set()
    for seed in range(700):
        for i in module(seed, space).instructions():
            shapes = [o.shape for o in i.operands] or [i.shape]
            reached |= {(i.opcode, s.element_type.name) for s in shapes if hasattr(s, "element_type")}
    assert len(wanted - reached) <= len(wanted) // 10


@pytest.mark.parametrize("opcode", DOMAINS)
def test_functions_with_a_domain_take_floats(opcode):
    assert {"f32", "f64", "bf16"} <= {str(kind) for kind in takes(opcode)}


def test_a_permutation_holds_every_number_once():
    orders = {tuple(permutation(RandomChoices(seed), 4)) for seed in range(200)}
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    assert len(orders) == 24


def _does_not_commute(i):
    first, second = (t.attributes["dimensions"] for t in (i.operands[0], i))
    return tuple(first[d] for d in second) != tuple(second[d] for d in first) and len(set(i.array.dims)) == 1


SELDOM = {
    "transposes that do not commute, of a cube": (
        {"transpose"},
        lambda i: i.opcode == i.operands[0].opcode == "transpose" and _does_not_commute(i),
    ),
    "a loop that turns as often as an input says": (
        {"while", "sine"},
        lambda i: i.opcode == "while" and i.operands[0].operands[0].opcode == "and",
    ),
    "an extremum of what lies on one side of 0": (
        {"reduce"},
        lambda i: i.opcode == "reduce" and i.operands[0].opcode == "clamp",
    ),
    "a quotient that overflows in places that an input says": (
        {"divide"},
        lambda i: i.opcode == "divide" and i.operands[1].opcode == "select",
    ),
}


@pytest.mark.parametrize(("opcodes", "is_it"), SELDOM.values(), ids=SELDOM)
def test_what_shows_some_bugs_only_is_drawn(opcodes, is_it):
    space = Space(frozenset(opcodes), frozenset({"f32", "s32"}), cube_percent=60, edge_percent=60, again_percent=30)
    drawn = (i for seed in range(100) for i in module(seed, space).instructions())
    assert any(i.operands and is_it(i) for i in drawn)
