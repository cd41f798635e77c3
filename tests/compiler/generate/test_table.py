"""Forms are drawn that rules look for, or must not take for theirs; whatever is drawn is a valid program."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.generate import RandomChoices, Space, lapack, program
from compiler.generate.kernels import KERNELS
from compiler.generate.scope import Program, Scope
from compiler.generate.table import RECIPES, step
from compiler.ir.module import Computation, Module, computed_from
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import F32
from compiler.ops.custom_call import routine_of

SPACE = Space(
    frozenset({"add", "multiply", "maximum", "minimum"}),
    frozenset({"f32", "s32", "u8"}),
    most_elements=1 << 12,
    budget=1 << 20,
)
MOST_TRIES = 100


def is_nested(value):
    shape = value.shape
    return isinstance(shape, TupleShape) and any(isinstance(inner, TupleShape) for inner in shape.elements)


def is_beside_extremum(compare):
    users = (user for user in compare.operands[0].users if user.opcode in ("maximum", "minimum"))
    return any(user.operands == compare.operands for user in users)


def is_turned_slice(value, starts):
    return value.opcode == "reverse" and value.operands[0].operands[1:] == starts


def is_of_turned_slice(update):
    value, starts = update.operands[1], update.operands[2:]
    return any(is_turned_slice(one, starts) for one in (value, *value.operands))


def reduces_otherwise(reduce):
    others = (user for user in reduce.operands[0].users if user.opcode == "reduce")
    return any(other.attributes["dimensions"] != reduce.attributes["dimensions"] for other in others)


def is_read_in_another_order(bitcast):
    layouts = (value.array.layout for value in (bitcast, *bitcast.operands))
    return any(layout and layout.minor_to_major != tuple(range(bitcast.array.rank))[::-1] for layout in layouts)


def is_read_as_another_type(bitcast):
    return bitcast.array.element_type.bits != bitcast.operands[0].array.element_type.bits


def only_adds_units(reshape):
    new, old = (reshape.array.dims, reshape.operands[0].array.dims)
    return new != old and [n for n in new if n != 1] == [n for n in old if n != 1]


def is_by_a_far_power_of_two(divide):
    divisor = divide.operands[1]
    if divisor.opcode != "broadcast" or divisor.operands[0].opcode != "constant":
        return False
    mantissa, exponent = math.frexp(float(divisor.operands[0].literal.array))
    return mantissa == 0.5 and abs(exponent) > 20


def is_grid(scatter):
    return len(scatter.attributes["scatter_dims_to_operand_dims"]) == 2


def is_turned_grid(scatter):
    named = scatter.attributes["scatter_dims_to_operand_dims"]
    order = [*named, *(d for d in range(scatter.array.rank) if d not in named)]
    return is_grid(scatter) and any(order[order[d]] != d for d in order)


FORMS = {
    "memory read in another order": ("bitcast", is_read_in_another_order),
    "memory read as wider or narrower elements": ("bitcast", is_read_as_another_type),
    "a reshape that only adds or drops dimensions of size 1": ("reshape", only_adds_units),
    "a quotient by a power of two far from 1": ("divide", is_by_a_far_power_of_two),
    "a comparison beside an extremum of the same two": ("compare", is_beside_extremum),
    "a slice that is turned round in its own array": ("dynamic-update-slice", is_of_turned_slice),
    "branches that take tuples of tuples": ("conditional", lambda one: any(map(is_nested, one.operands))),
    "branches that yield tuples of tuples": ("conditional", is_nested),
    "a loop whose state has tuples in it": ("while", is_nested),
    "batches of ragged products in another order": (
        "ragged-dot",
        lambda dot: list(dot.attributes.get("lhs_batch_dims", ())) != sorted(dot.attributes.get("lhs_batch_dims", ())),
    ),
    "groups of each batch": ("ragged-dot", lambda dot: dot.operands[2].array.rank > 1),
    "rows that are reduced in two ways": ("reduce", reduces_otherwise),
    "dimensions that are reduced, in another order than theirs": (
        "reduce",
        lambda one: list(one.attributes["dimensions"]) != sorted(one.attributes["dimensions"]),
    ),
    "updates of a grid that lies in an order that is not its own inverse": ("scatter", is_turned_grid),
    "numbers of a grid's elements side by side": ("scatter", lambda one: one.attributes["index_vector_dim"] == 0),
    "updates of a grid side by side": (
        "scatter",
        lambda one: is_grid(one) and one.attributes["update_window_dims"] == (0,),
    ),
}
OF_KERNELS = {
    "rows that are reduced in two ways": "rows",
    "updates of a grid that lies in an order that is not its own inverse": "scatter",
    "numbers of a grid's elements side by side": "scatter",
    "updates of a grid side by side": "scatter",
}


def drawn(opcode, seed, kernel=""):
    """The instructions of an opcode in a program of one draw, which is valid."""
    module = Module("m")
    module.entry = module.add_computation(Computation("main"))
    scope = Scope(Program(RandomChoices(seed), SPACE, module, step), module.entry, depth=0)
    recipe = KERNELS[kernel] if kernel else RECIPES[opcode]
    module.entry.root = recipe.draw(scope, opcode, F32) or scope.fresh(scope.array(F32).array)
    module.sort_computations()
    compiler.verify(module)
    return [one for one in module.entry.instructions if one.opcode == opcode]


@pytest.mark.parametrize("form", FORMS)
def test_forms_that_rules_ask_for_are_drawn(form: str):
    opcode, is_one = FORMS[form]
    kernel = OF_KERNELS.get(form, "")
    assert any(is_one(one) for seed in range(MOST_TRIES) for one in drawn(opcode, seed, kernel))


@pytest.mark.slow
def test_each_routine_of_lapack_has_its_share():
    """Those that iterate too, however long they take to compile: half of their code is for what few matrices need."""
    space = Space(frozenset({"custom-call"}), frozenset({"f32"}), most_instructions=2, most_elements=256)
    drawn = Counter(
        routine_of(i)
        for seed in range(400)
        for i in program(RandomChoices(seed), space).instructions()
        if routine_of(i)
    )
    fair = sum(drawn.values()) / len(lapack.ROUTINES)
    assert all(drawn[name] > fair / 2 for name in lapack.ROUTINES), drawn


@pytest.mark.slow
def test_what_is_drawn_reaches_a_result_however_much_it_is():
    """Loops of several values leave many that nothing uses: each is a result, or all that it was made of is dead."""
    space = replace(SPACE, opcodes=frozenset({"while", "call", "add", "sort"}), most_instructions=30)
    drawn = dead = 0
    for seed in range(60):
        entry = program(RandomChoices(seed), space).entry
        work = {one for one in entry.instructions if one.opcode not in ("parameter", "constant", "get-tuple-element")}
        drawn, dead = drawn + len(work), dead + len(work - computed_from([entry.root]))
    assert dead < drawn / 10, (dead, drawn)


def test_numbers_of_a_constant_are_at_times_the_same_but_for_a_sign():
    kinds = Counter()
    for seed in range(200):
        module, space = Module("m"), replace(SPACE, most_parameters=0)
        module.entry = module.add_computation(Computation("e"))
        scope = Scope(Program(RandomChoices(seed), space, module, step), module.entry, depth=0)
        made = scope.fresh(ArrayShape(F32, (3,)))
        if made.opcode == "constant":
            array = made.literal.array
            signs, sizes = {*np.signbit(array)}, {*np.abs(array)}
            kinds["any" if len(sizes) > 1 else "the same" if len(signs) == 1 else "but for a sign"] += 1
            kinds["zeros of both signs"] += sizes == {0} and len(signs) == 2
    assert set(kinds) == {"the same", "but for a sign", "any", "zeros of both signs"}
    assert min(kinds.values()) > 0
