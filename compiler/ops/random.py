"""Random numbers.

`rng-bit-generator` is bit exact: ThreeFry 2x32 with 20 rounds and Philox 4x32 with 10 (Salmon et al., "Parallel random
numbers: as easy as 1, 2, 3", SC 2011), counting and laying out as XLA does; `rng_default` is Philox.  The values of
`rng` are left open by the language; here they depend on the instruction's name and shape alone, so that runs repeat.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, narrow, saturate
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ir.shape_rules import operand, require, stated, stated_array
from compiler.ir.traits import Trait
from compiler.ir.types import PRED, TYPES, U64, ElementType, Kind

_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)

THREE_FRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""Bits by which Threefry-2x32 rotates in four rounds, by turns (Salmon et al., SC11)."""
PARITY = np.uint32(0x1BD11BDA)
PHILOX_FACTORS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
PHILOX_STEPS = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))


def _low_high(value: Array) -> tuple[Array, Array]:
    wide = np.asarray(value, np.uint64)
    return (wide & _MASK).astype(np.uint32), (wide >> _HALF).astype(np.uint32)


def _joined(low: Array, high: Array) -> Array:
    return np.asarray(low.astype(np.uint64) | (high.astype(np.uint64) << _HALF))


def _three_fry(counter: tuple[Array, Array], key: tuple[Array, Array]) -> tuple[Array, Array]:
    keys = (*key, key[0] ^ key[1] ^ PARITY)
    x, y = counter[0] + keys[0], counter[1] + keys[1]
    for block in range(5):
        for rotation in THREE_FRY_ROTATIONS[block % 2]:
            x = x + y
            y = ((y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation))) ^ x
        x, y = x + keys[(block + 1) % 3], y + keys[(block + 2) % 3] + np.uint32(block + 1)
    return x, y


def _philox(counter: Sequence[Array], key: tuple[Array, Array]) -> list[Array]:
    state = list(counter)
    left, right = key
    for _ in range(10):
        low0, high0 = _low_high(state[0].astype(np.uint64) * PHILOX_FACTORS[0])
        low1, high1 = _low_high(state[2].astype(np.uint64) * PHILOX_FACTORS[1])
        state = [high1 ^ state[1] ^ left, low1, high0 ^ state[3] ^ right, low0]
        left, right = left + PHILOX_STEPS[0], right + PHILOX_STEPS[1]
    return state


def layout_of_words(dims: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """ThreeFry's 32-bit words: the dimensions of the counts, and the one along which both words of each lie together.

    That is the first even dimension, else the longest.
    """
    even = [d for d, n in enumerate(dims) if n % 2 == 0]
    along = even[0] if even else int(np.argmax(dims)) if dims else 0
    return tuple(-(-n // 2) if d == along else n for d, n in enumerate(dims)) or (1,), along


def _three_fry_bits(state: Array, dims: tuple[int, ...], bits: int) -> tuple[Array, Array]:
    """Bits as unsigned integers of 32 or 64 bits, and the state after them."""
    key, start = _low_high(state[0]), state[1]
    if bits == 64:
        count = math.prod(dims)
        x, y = _three_fry(_low_high(start + np.arange(count, dtype=np.uint64)), key)
        return _joined(x, y).reshape(dims), np.array([state[0], start + np.uint64(count)])
    half, along = layout_of_words(dims)
    count = math.prod(half)
    words = _three_fry(_low_high(start + np.arange(count, dtype=np.uint64)), key)
    after = np.array([state[0], start + np.uint64(count)])
    if not dims:
        return words[0].reshape(()), after
    paired = np.stack([word.reshape(half) for word in words], axis=along + 1)
    merged = paired.reshape([2 * n if d == along else n for d, n in enumerate(half)])
    return merged[tuple(slice(0, n) for n in dims)], after


def philox_bits(state: Array, dims: tuple[int, ...], bits: int) -> tuple[Array, Array]:
    """Philox's bits as unsigned integers, and the state after them.

    Args:
        state: the key, and the counter's two halves.
        dims: the sizes of what is drawn.
        bits: of each number, 32 or 64.
    """
    key, low, high = _low_high(state[:1]), state[1], state[2]
    count = math.prod(dims)
    blocks = -(-count * (2 if bits == 64 else 1) // 4)
    lows = low + np.arange(blocks, dtype=np.uint64)
    highs = high + (lows < low).astype(np.uint64)
    words = _philox([*_low_high(lows), *_low_high(highs)], key)
    if bits == 64:
        drawn = np.stack([_joined(words[0], words[1]), _joined(words[2], words[3])], axis=-1)
    else:
        drawn = np.stack(words, axis=-1)
    after = low + np.uint64(blocks)
    carried = high + (after < low).astype(np.uint64)
    return drawn.reshape(-1)[:count].reshape(dims), np.array([state[0], after, carried])


_GENERATORS = {
    "rng_three_fry": (_three_fry_bits, (2,)),
    "rng_philox": (philox_bits, (3, 2)),
    "rng_default": (philox_bits, (2, 3)),
}


def _infer_bit_generator(instruction: Instruction) -> Shape:
    state = instruction.operands[0].shape
    algorithm = instruction.attributes["algorithm"]
    require(algorithm in _GENERATORS, f"algorithm={algorithm} is none of {', '.join(_GENERATORS)}")
    shape = stated(instruction)
    if isinstance(shape, ArrayShape):
        return shape
    bits = shape.elements[1] if isinstance(shape, TupleShape) and len(shape.elements) == 2 else None
    require(isinstance(bits, ArrayShape), f"rng-bit-generator yields bits or (state, bits), not {shape}")
    return TupleShape((state, bits)) if bits is not None else shape


def check_state(instruction: Instruction) -> None:
    """Refuse a state that the algorithm does not have (some targets' generators take others), and bits of no number."""
    state, algorithm = instruction.operands[0].shape, instruction.attributes["algorithm"]
    sizes = _GENERATORS[algorithm][1]
    if not isinstance(state, ArrayShape) or state.element_type is not U64 or state.dims not in [(n,) for n in sizes]:
        reason = f"the state of {algorithm} is u64[{sizes[0]}], not {state}"
        raise instruction.unsupported(reason)
    bits = list(leaves(instruction.shape))[-1]
    if bits.element_type.is_complex or bits.element_type is PRED:
        raise instruction.unsupported(f"random bits are drawn as integers or real numbers, not {bits}")
    if f"u{bits.element_type.bits}" not in TYPES:
        raise instruction.unsupported(f"there is no integer of as many bits as an element of {bits} has")


def _bit_generator(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Value:
    check_state(instruction)
    wanted = list(leaves(instruction.shape))[-1]
    state, bits = values[0], wanted.element_type.bits
    # A Philox state of two words has its key for the upper half of the counter, too.
    padded = np.concatenate([state, state[:1]]) if state.size < 3 else state
    generate, sizes = _GENERATORS[instruction.attributes["algorithm"]]
    drawn, after = generate(padded if 3 in sizes else state, wanted.dims, bits)
    random = _as_type(drawn, wanted.element_type)
    return (after[: state.size], random) if isinstance(instruction.shape, TupleShape) else random


def _as_type(drawn: Array, element_type: ElementType) -> Array:
    if element_type.bits < 8 and element_type.is_integer:
        return narrow(drawn.astype(np.uint8), element_type)
    if element_type.bits < 8:
        return narrow(drawn.astype(np.uint8), TYPES[f"u{element_type.bits}"]).view(element_type.dtype)
    return (
        np.ascontiguousarray(drawn.astype(f"u{element_type.size_bytes}")).view(element_type.dtype).reshape(drawn.shape)
    )


_EVEN_CHANCE = 0.5
"""The chance of true where a distribution of booleans says none."""
_DISTRIBUTIONS = ("rng_uniform", "rng_normal")


def _infer_rng(instruction: Instruction) -> Shape:
    distribution = instruction.attributes["distribution"]
    require(distribution in _DISTRIBUTIONS, f"distribution={distribution} is none of {', '.join(_DISTRIBUTIONS)}")
    # Others follow where the dialect that it comes from names the result's shape once more.
    for index in range(2):
        shape = operand(instruction, index)
        require(not shape.dims, f"operand {index} of rng must be a scalar, not {shape}")
    return stated_array(instruction)


def check_distribution(instruction: Instruction) -> None:
    """Refuse what XLA has no distribution of: complex numbers, and normal ones of a type that is no float."""
    element_type = instruction.array.element_type
    is_normal = instruction.attributes["distribution"] == "rng_normal"
    if element_type.is_complex or (is_normal and not element_type.is_float):
        kind = "normal" if is_normal else "random"
        raise instruction.unsupported(f"{kind} numbers of {element_type} have no distribution")


def state_of(instruction: Instruction) -> Array:
    """The Philox state from which an `rng` is drawn: the language leaves it open, here name and shape decide."""
    return np.array([zlib.crc32(f"{instruction.name} {instruction.array.dims}".encode()), 0, 0], np.uint64)


def _rng(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    check_distribution(instruction)
    shape = instruction.array
    is_normal = instruction.attributes["distribution"] == "rng_normal"
    bits, _after = philox_bits(state_of(instruction), (2, *shape.dims) if is_normal else shape.dims, 64)
    drawn = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    if shape.element_type.kind is Kind.PRED:
        return np.asarray(drawn < _EVEN_CHANCE)
    first, second = (value.astype(np.float64) for value in values[:2])
    if is_normal:
        # Box and Muller: a point in the plane by its distance and its angle.
        normal = np.sqrt(np.log1p(-drawn[0]) * -2.0) * np.cos(drawn[1] * (2 * math.pi))
        value = normal * second + first
    else:
        value = drawn * (second - first) + first
    if shape.element_type.is_integer:
        return saturate(np.floor(value), shape.element_type)  # it may have been rounded to a number beyond the type
    return narrow(value, shape.element_type)


def _infer_update_state(instruction: Instruction) -> Shape:
    shape = stated_array(instruction)
    require(shape.element_type is U64 and shape.dims == (2,), f"the state is u64[2], not {shape}")
    return shape


OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "rng-bit-generator",
            (1, 1),
            _infer_bit_generator,
            _bit_generator,
            "Random bits and the state after them.",
            required=("algorithm",),
            traits=Trait.STRICT_TYPES | Trait.STATED_SHAPE,
        ),
        Op(
            "rng",
            (2, None),
            _infer_rng,
            _rng,
            "Random numbers of a distribution.",
            required=("distribution",),
            traits=Trait.RANDOM | Trait.STRICT_TYPES | Trait.STATED_SHAPE,
        ),
        Op(
            "rng-get-and-update-state",
            (0, 0),
            _infer_update_state,
            None,
            "The state of the process's generator, which then moves on.",
            required=("delta",),
            traits=Trait.SIDE_EFFECT | Trait.RANDOM | Trait.STRICT_TYPES | Trait.STATED_SHAPE,
        ),
    )
}
