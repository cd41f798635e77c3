"""Generated programs: valid, repeatable, varied."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.generate import lapack, sized
from compiler.generate.choices import RandomChoices, permutation, turned
from compiler.generate.elementwise import DOMAINS, takes
from compiler.generate.scope import Space
from compiler.generate.table import NOT_DRAWN, PAIRS, RECIPES, evaluated, program
from compiler.inputs import draw
from compiler.ops.custom_call import routine_of

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
        "xor",
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


def _crosswise(i):
    pairs = zip(i.attributes.get("lhs_batch_dims", ()), i.attributes.get("rhs_batch_dims", ()), strict=True)
    by_left = [right for _, right in sorted(pairs)]
    sizes = {i.operands[0].array.dims[d] for d in i.attributes.get("lhs_batch_dims", ())}
    return by_left != sorted(by_left) and len(sizes) == 1


def _is_minus_zero(i):
    return i.opcode == "constant" and i.array.element_type.is_float and bool(np.signbit(i.literal.array).any())


def _changes_places(i):
    state = enumerate(i.attributes["body"].root.operands)
    return any(v.opcode == "get-tuple-element" and v.attributes["index"] != place for place, v in state)


def _repeats(i):
    state = i.attributes["body"].root.operands
    return len(set(state)) < len(state)


def _comes_from(value, source):
    return value is source or any(_comes_from(operand, source) for operand in value.operands)


def _of_itself(place):
    return lambda i: _comes_from(i.operands[place], i.operands[0])


def _out_of_order(i):
    return any(list(group) != sorted(group) for group in i.attributes["replica_groups"].groups())


def _has_bare_indices(i):
    return i.attributes["index_vector_dim"] == i.operands[1].array.rank


def _combines(i):
    return i.attributes["to_apply"].root


def _count(i, kind):
    return i.attributes.get(f"{kind}_group_count", 1)


def _condition(i):
    return i.attributes["condition"].root


def _fills_rows(i):
    return any(v.opcode == "dynamic-update-slice" for v in i.attributes["body"].root.operands)


def _runs_what_others_run(i):
    users = [other for other in i.parent.instructions if other.opcode == i.opcode]
    return len(users) > len({other.attributes["to_apply"] for other in users})


def _is_dynamic(instruction):
    leaves = [leaf for operand in instruction.operands for leaf in compiler.edit.leaves(operand.shape)]
    return any(getattr(leaf, "is_dynamic", False) for leaf in leaves)


SELDOM = {
    "a transpose by an order that is not its own inverse, of a cube": (
        {"transpose"},
        lambda i: (
            i.opcode == "transpose"
            and len(set(i.array.dims)) == 1
            and any(i.attributes["dimensions"][d] != place for place, d in enumerate(i.attributes["dimensions"]))
        ),
    ),
    "a broadcast along the first dimension of a square": (
        {"broadcast"},
        lambda i: (
            i.opcode == "broadcast"
            and i.attributes["dimensions"] == (0,)
            and len(set(i.array.dims)) == 1 < i.array.rank
        ),
    ),
    "a broadcast along the last dimension of a square": (
        {"broadcast"},
        lambda i: (
            i.opcode == "broadcast"
            and i.attributes["dimensions"] == (1,)
            and len(set(i.array.dims)) == 1 < i.array.rank
        ),
    ),
    "batches of a dot that are paired crosswise": ({"dot"}, lambda i: i.opcode == "dot" and _crosswise(i)),
    "three batch dimensions": (
        {"dot"},
        lambda i: i.opcode == "dot" and len(i.attributes.get("lhs_batch_dims", ())) == 3,
    ),
    "padding that differs at the two ends": (
        {"pad"},
        lambda i: i.opcode == "pad" and any(part.low != part.high for part in i.attributes["padding"]),
    ),
    "a loop whose state changes places": ({"while"}, lambda i: i.opcode == "while" and _changes_places(i)),
    "a loop whose state repeats": ({"while"}, lambda i: i.opcode == "while" and _repeats(i)),
    "a scatter whose indices are made of its operand": (
        {"scatter"},
        lambda i: i.opcode == "scatter" and _of_itself(1)(i),
    ),
    "a scatter whose updates are made of its operand": (
        {"scatter"},
        lambda i: i.opcode == "scatter" and _of_itself(2)(i),
    ),
    "an update made of what it changes": (
        {"dynamic-update-slice"},
        lambda i: i.opcode == "dynamic-update-slice" and _of_itself(1)(i),
    ),
    "indices of few bits": (
        {"dynamic-slice"},
        lambda i: i.opcode == "dynamic-slice" and i.operands[1].array.element_type.bits == 8,
    ),
    "groups of devices out of order": (
        {"all-gather", "all-to-all", "reduce-scatter"},
        lambda i: "replica_groups" in i.attributes and _out_of_order(i),
    ),
    "a quotient by a constant zero with a sign": (
        {"divide"},
        lambda i: i.opcode == "divide" and any(_is_minus_zero(o) for o in (i.operands[1], *i.operands[1].operands)),
    ),
    **{
        f"a {opcode} of an array whose size is known at run time only": (
            {"set-dimension-size"},
            lambda i, opcode=opcode: i.opcode == opcode and _is_dynamic(i),
        )
        for opcode in sized.STEPS
        if opcode
    },
    "transposes that do not commute, of a cube": (
        {"transpose"},
        lambda i: i.opcode == i.operands[0].opcode == "transpose" and _does_not_commute(i),
    ),
    "a loop that iterates as often as an input says": (
        {"while", "sine"},
        lambda i: i.opcode == "while" and i.operands[0].operands[0].opcode == "and",
    ),
    "an extremum of what lies on one side of 0": (
        {"reduce"},
        lambda i: i.opcode == "reduce" and i.operands[0].opcode == "clamp",
    ),
    **{f"LAPACK's {name}": ({"custom-call"}, lambda i, name=name: routine_of(i) == name) for name in lapack.ROUTINES},
    "matrices of LAPACK's in a batch": ({"custom-call"}, lambda i: routine_of(i) == "trsm" and i.array.rank > 2),
    **{
        f"{name}": ({opcode}, lambda i, opcode=opcode, holds=holds: i.opcode == opcode and bool(holds(i)))
        for name, opcode, holds in (
            ("a gather along with its operand", "gather", lambda i: i.attributes.get("operand_batching_dims")),
            ("an index map out of order", "gather", lambda i: i.attributes["start_index_map"] == (1, 0)),
            ("indices without a dimension of 1", "scatter", _has_bare_indices),
            ("a scatter along with its operand", "scatter", lambda i: i.attributes.get("input_batching_dims")),
            ("a scatter of places that differ", "scatter", lambda i: i.attributes.get("unique_indices")),
            ("a scatter whose order matters", "scatter", lambda i: _combines(i).opcode in ("subtract", "parameter")),
            ("a sort by two keys", "sort", lambda i: _combines(i).opcode == "or"),
            (
                "several arrays reduced at once",
                "reduce",
                lambda i: {o.opcode for o in _combines(i).operands} >= {"add"},
            ),
            ("a transform of three dimensions", "fft", lambda i: len(i.attributes["fft_length"]) > 2),
            ("a convolution in groups of its batch", "convolution", lambda i: _count(i, "batch") > 1),
            ("a convolution without a window", "convolution", lambda i: i.array.rank == 2),
            (
                "groups of terms",
                "ragged-dot",
                lambda i: i.attributes["lhs_ragged_dims"] == (i.operands[0].array.rank - 1,),
            ),
            ("reduced by what minds the order", "reduce", lambda i: _combines(i).parent.name.startswith("last_set")),
            ("four arrays that are reduced together", "reduce", lambda i: len(_combines(i).operands) == 4),
            ("windows of what minds the order", "reduce-window", lambda i: "affine" in _combines(i).parent.name),
            ("a window that takes away", "reduce-window", lambda i: any(d.pad_low < 0 for d in i.attributes["window"])),
            ("reducers that are one", "reduce", _runs_what_others_run),
            ("a computation that is called twice", "call", _runs_what_others_run),
            ("the least of a row", "topk", lambda i: not i.attributes.get("largest", True)),
            (
                "bytes summed in more bits",
                "dot",
                lambda i: i.array.element_type.bits > i.operands[0].array.element_type.bits,
            ),
            ("a loop that counts down", "while", lambda i: _condition(i).attributes.get("direction") == "GT"),
            ("a loop to a bound it reaches", "while", lambda i: _condition(i).attributes.get("direction") == "GE"),
            ("a loop that counts in bytes", "while", lambda i: _condition(i).operands[0].array.element_type.bits == 8),
            ("a loop that ends when no element goes on", "while", lambda i: _condition(i).opcode == "and"),
            ("a loop that fills rows", "while", _fills_rows),
            ("an outer product", "dot", lambda i: not i.attributes["lhs_contracting_dims"]),
            ("an upper factor", "cholesky", lambda i: not i.attributes["lower"]),
            (
                "a unit triangle in a batch",
                "triangular-solve",
                lambda i: i.attributes["unit_diagonal"] and i.array.rank > 2,
            ),
        )
    },
    "reflections that are known to the bit": (
        {"custom-call"},
        lambda i: routine_of(i) == "orgqr" and i.operands[0].opcode == "select",
    ),
    "a quotient that overflows in places that an input says": (
        {"divide"},
        lambda i: i.opcode == "divide" and i.operands[1].opcode == "select",
    ),
}


@pytest.mark.parametrize(("opcodes", "is_it"), SELDOM.values(), ids=SELDOM)
def test_what_shows_some_bugs_only_is_drawn(opcodes, is_it):
    types = frozenset({"f32", "s32", "s8"})
    space = Space(
        frozenset(opcodes),
        types,
        cube_percent=60,
        edge_percent=60,
        again_percent=30,
        guard_percent=20,
        devices_percent=30,
    )
    drawn = (i for seed in range(200) for i in module(seed, space).instructions())
    assert any(i.operands and is_it(i) for i in drawn)


@pytest.mark.parametrize("length", [3, 4, 5])
def test_a_turn_is_another_order_than_its_inverse(length):
    for seed in range(200):
        order = turned(RandomChoices(seed), length)
        assert sorted(order) == list(range(length))
        assert [order.index(place) for place in range(length)] != order


def test_what_programs_for_several_devices_exchange_all_of_them_reach():
    space = Space(frozenset({"all-reduce", "while", "conditional"}), frozenset({"f32", "s32"}), devices_percent=100)
    inner = 0
    for seed in range(40):
        made = module(seed, space)
        inner += sum(i.opcode == "all-reduce" and i.parent is not made.entry for i in made.instructions())
        assert compiler.interpret(made, *draw(made, seed))
    assert inner


def test_of_sizes_known_at_run_time_no_result_is_left_open():
    space = Space(frozenset({"set-dimension-size", "reverse", "add"}), frozenset({"f32", "s32"}))
    for seed in range(60):
        made = module(seed, space)
        results = compiler.interpret(made, *draw(made, seed))
        for leaf, result in zip(compiler.edit.leaves(made.entry.root.shape), results, strict=True):
            assert leaf.is_dynamic or leaf.dims == result.shape
        wide = compiler.interpret(made, *draw(made, seed), wide=True)
        assert all(bound.allows(result).all() for bound, result in zip(wide, results, strict=True))
