"""Replace random numbers by the integer arithmetic that makes them.

`rng-bit-generator` becomes the rounds of its algorithm on whole arrays of counters, bit for bit what the reference
draws: ThreeFry 2x32 with 20 rounds, Philox 4x32 with 10.  `rng`, whose values the language leaves open, is drawn as the
reference draws it: by Philox, from a state that its name and shape decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.expansion.expression import Expression, concatenate, iota
from compiler.expansion.philox import Pair, joined, low_high, philox
from compiler.expansion.replacement import expand
from compiler.ir.literal import array_literal
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import TupleShape, leaves
from compiler.ir.types import F64, TYPES, U32, U64, ElementType, Kind
from compiler.ops.build import build, constant
from compiler.ops.random import (
    PARITY,
    THREE_FRY_ROTATIONS,
    check_distribution,
    check_state,
    layout_of_words,
    state_of,
)


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return expand(module, fuel, _EXPANSIONS)


def _three_fry(counter: Pair, key: Pair) -> Pair:
    keys = (*key, key[0] ^ key[1] ^ int(PARITY))
    x, y = counter[0] + keys[0], counter[1] + keys[1]
    for block in range(5):
        for rotation in THREE_FRY_ROTATIONS[block % 2]:
            x = x + y
            y = ((y << rotation) | (y >> (32 - rotation))) ^ x
        x, y = x + keys[(block + 1) % 3], y + (keys[(block + 2) % 3] + (block + 1))
    return x, y


def _words(state: Expression) -> list[Expression]:
    """The words of a state, each a scalar."""
    return [state.slice((index, index + 1)).reshape() for index in range(state.dims[0])]


def _stack(scalars: Sequence[Expression]) -> Expression:
    return concatenate([scalar.reshape(1) for scalar in scalars], 0)


def _three_fry_bits(state: Expression, dims: tuple[int, ...], bits: int) -> Pair:
    """Bits as unsigned integers of 32 or 64 bits, and the state after them."""
    words = _words(state)
    key = low_high(words[0])
    half, along = (dims, 0) if bits == 64 else layout_of_words(dims)
    count = math.prod(half)
    counters = iota(state.instruction.computation, U64, (count,)) + words[1]
    x, y = _three_fry(low_high(counters), key)
    after = _stack([words[0], words[1] + count])
    if bits == 64:
        return joined(x, y).reshape(*dims), after
    if not dims:
        return x.reshape(), after
    # The two words of each count lie next to each other.
    outer, inner = math.prod(half[: along + 1]), math.prod(half[along + 1 :])
    paired = concatenate([word.reshape(outer, 1, inner) for word in (x, y)], 1)
    merged = paired.reshape(*(2 * n if d == along else n for d, n in enumerate(half)))
    return merged if merged.dims == dims else merged.slice(*((0, n) for n in dims)), after


def _philox_bits(state: Expression, dims: tuple[int, ...], bits: int) -> Pair:
    """Bits as unsigned integers of 32 or 64 bits, and the state after them."""
    words = _words(state)
    # A state of two words has its key for the upper half of the counter, too.
    first, low, high = words if len(words) == 3 else (*words, words[0])
    count = math.prod(dims)
    blocks = -(-count * (2 if bits == 64 else 1) // 4)
    lows = iota(state.instruction.computation, U64, (blocks,)) + low
    carry = lows.compare("LT", low)
    drawn = philox([*low_high(lows), *low_high(carry.to(U64) + high)], low_high(first))
    # Which word an element takes is chosen from all of its block, not by a branch: six times as fast.
    if bits == 64:
        drawn = [joined(*drawn[:2]), joined(*drawn[2:])]
    each = len(drawn)
    position = iota(state.instruction.computation, U32, (blocks, each), 1)
    spread = [word.spread((blocks, each), (0,)) for word in drawn]
    chosen = spread[-1]
    for index in reversed(range(each - 1)):
        chosen = position.compare("EQ", index).where(spread[index], chosen)
    flat = chosen.reshape(blocks * each)
    kept = flat if flat.dims == (count,) else flat.slice((0, count))
    after = low + blocks
    carried = high + after.compare("LT", low).to(U64)
    return kept.reshape(*dims), _stack([first, after, carried][: len(words)])


_GENERATORS = {"rng_three_fry": _three_fry_bits, "rng_philox": _philox_bits, "rng_default": _philox_bits}


def _bit_generator(instruction: Instruction) -> Instruction:
    check_state(instruction)
    wanted = list(leaves(instruction.shape))[-1]
    generate = _GENERATORS[instruction.attributes["algorithm"]]
    drawn, after = generate(Expression(instruction.operands[0]), wanted.dims, wanted.element_type.bits)
    bits = _as_type(drawn, wanted.element_type).instruction
    if not isinstance(instruction.shape, TupleShape):
        return bits
    return build(instruction.computation, "tuple", [after.instruction, bits])


def _as_type(drawn: Expression, element_type: ElementType) -> Expression:
    """The lowest bits as a type: integers narrower than a byte are wrapped, others have the bits themselves."""
    if element_type.bits < 8 and element_type.is_integer:
        return drawn.to(element_type)
    return drawn.to(TYPES[f"u{element_type.bits}"]).bits_as(element_type)


def _rng(instruction: Instruction) -> Instruction:
    check_distribution(instruction)
    shape, computation = instruction.array, instruction.computation
    state = Expression(constant(computation, array_literal(state_of(instruction), U64)))
    is_normal = instruction.attributes["distribution"] == "rng_normal"
    bits, _ = _philox_bits(state, (2, *shape.dims) if is_normal else shape.dims, 64)
    uniform = (bits >> 11).to(F64) * 2.0**-53
    if shape.element_type.kind is Kind.PRED:
        return uniform.compare("LT", 0.5).instruction
    first, second = (Expression(operand).to(F64) for operand in instruction.operands[:2])
    if is_normal:
        rest = [(0, n) for n in shape.dims]
        radius, angle = (uniform.slice((row, row + 1), *rest).reshape(*shape.dims) for row in (0, 1))
        size = ((-radius).apply("log-plus-one") * -2.0).apply("sqrt")
        value = size * (angle * (2 * math.pi)).apply("cosine") * second + first
    else:
        value = uniform * (second - first) + first
    return (value.apply("floor") if shape.element_type.is_integer else value).to(shape.element_type).instruction


_EXPANSIONS = {"rng-bit-generator": _bit_generator, "rng": _rng}
