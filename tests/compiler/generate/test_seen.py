"""Values are seen through one move or several in a row, of every kind, in arrays that are larger as well."""

from __future__ import annotations

import itertools
from collections import Counter

import compiler
from compiler.generate import RandomChoices, Space
from compiler.generate.around import read
from compiler.generate.scope import Program, Scope
from compiler.generate.seen import seen
from compiler.ir.module import Computation, Module
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32

MOVES = ("transpose", "reshape", "slice", "dynamic-slice")
SHAPE = ArrayShape(F32, (2, 3, 4))


def drawn(seed, banned=frozenset()):
    """The moves before a value, the last of them first."""
    module, space = Module("m"), Space(frozenset(), frozenset({"f32", "s32"}), banned, most_elements=512)
    module.entry = module.add_computation(Computation("e"))
    scope = Scope(Program(RandomChoices(seed), space, module, lambda _: None), module.entry, depth=0)
    value = seen(scope, SHAPE)
    assert value.array.dims == SHAPE.dims
    module.entry.root = value
    compiler.verify(module)
    found = []
    while value.opcode in MOVES:
        found.append(value)
        value = value.operands[0]
    return found, value


def test_every_move_comes_and_every_two_of_them_in_a_row():
    pairs, lengths = Counter(), Counter()
    for seed in range(400):
        moves, source = drawn(seed)
        lengths[len(moves)] += 1
        lengths["larger"] += source.array.size > SHAPE.size
        pairs.update((one.opcode, other.opcode) for one, other in itertools.pairwise(moves))
    assert all(lengths[count] > 30 for count in (1, 2, 3, "larger")), lengths
    assert all(pairs[one, other] for one in MOVES for other in MOVES), pairs


def test_what_is_banned_is_not_used():
    banned = frozenset((opcode, "f32") for opcode in MOVES[1:])
    assert {move.opcode for seed in range(40) for move in drawn(seed, banned)[0]} == {"transpose"}


def test_kernels_read_what_is_seen_so():
    moves = Counter()
    for seed in range(300):
        module, space = Module("m"), Space(frozenset(), frozenset({"f32", "s32"}), most_elements=1 << 14)
        module.entry = module.add_computation(Computation("e"))
        scope = Scope(Program(RandomChoices(seed), space, module, lambda _: None), module.entry, depth=0)
        moves[read(scope, F32, (17, 33)).opcode] += 1
    assert all(moves[move] for move in MOVES), moves
