"""Random numbers as TensorFlow's kernels on CPUs draw them: the same bits for the same seeds.

A generator is a counter and a key of Philox.  Numbers come in groups, of as many as four words of 32 bits make; group
i is drawn at counter + i.  A normal number comes by Box and Muller's formula, two at a time, so that these agree as far
as logarithms, sines and roots do.  Truncated normal numbers are drawn until enough lie within two deviations, which
takes a loop; each group has its own 256 counters for each word.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.expansion.expression import Expression, concatenate, element, iota
from compiler.expansion.philox import joined, low_high, philox
from compiler.ir.module import Computation, Module
from compiler.ir.shape import TupleShape
from compiler.ir.types import BF16, F16, F32, F64, S32, TYPES, U32, U64, ElementType
from compiler.ops.build import build, parameter

WORDS = 4
"""Words of 32 bits that Philox gives at a time (Salmon et al., SC11)."""
RESERVED = 256
"""Counters for each word that a number may take."""
_EPSILON = 1e-7  # no logarithm is taken of less
_CUT = 2.0
"""Standard deviations beyond which a truncated normal is drawn again (TensorFlow, random_distributions.h)."""
_U16 = TYPES["u16"]
_MANTISSAS = {F32: (U32, 23, 127), F16: (_U16, 10, 15), BF16: (_U16, 7, 127), F64: (U64, 52, 1023)}


@dataclass(frozen=True, slots=True)
class Generator:
    """A counter, as two numbers of 64 bits, and a key, as one; scalars."""

    low: Expression
    high: Expression
    key: Expression

    def words(self, index: Expression) -> list[Expression]:
        """The four words at the counter plus an index, or many."""
        low = index + self.low
        carry = low.compare("LT", self.low).to(U64)
        counter = [*low_high(low), *low_high(carry + self.high)]
        first, second = low_high(self.key)
        return philox(counter, (first, second))

    def after(self, count: Expression | int) -> Generator:
        """The generator that goes on so many counters later."""
        low = self.low + count
        return Generator(low, self.high + low.compare("LT", self.low).to(U64), self.key)


def scrambled(seed: Expression) -> Generator:
    """The generator that ops without a state make of a seed of two numbers."""
    first, second = (seed.slice((n, n + 1)).reshape().to(U64) for n in (0, 1))
    key = (first.literal(0x3EC8F720).to(U32), first.literal(0x02461E29).to(U32))
    mixed = philox([*low_high(first), *low_high(second)], key)
    return Generator(first.literal(0), joined(*mixed[2:]), joined(*mixed[:2]))


def _interleaved(words: Sequence[Expression], count: int) -> Expression:
    """Numbers of several arrays in turn, as many as are wanted."""
    joint = concatenate([one.reshape(*one.dims, 1) for one in words], 1)
    flat = joint.reshape(joint.dims[0] * len(words))
    return flat if flat.dims == (count,) else flat.slice((0, count))


def _groups(generator: Generator, count: int, each: int) -> list[Expression]:
    """The words of all groups that make so many numbers."""
    groups = -(-count // each)
    return generator.words(iota(generator.low.instruction.computation, U64, (groups,)))


def bits(generator: Generator, count: int, element_type: ElementType) -> Expression:
    """Whole numbers of all bits, unsigned.

    Args:
        generator: the state that is drawn from.
        count: how many.
        element_type: u32 or u64.
    """
    if element_type.bits == 64:
        words = _groups(generator, count, 2)
        return _interleaved([joined(*words[:2]), joined(*words[2:])], count)
    return _interleaved(_groups(generator, count, WORDS), count)


def unit(words: Sequence[Expression], kind: ElementType) -> list[Expression]:
    """Numbers from 0 to 1, 1 excluded: the mantissas of numbers from 1 to 2.

    Args:
        words: of 32 bits.
        kind: of the numbers.
    """
    holder, digits, exponent = _MANTISSAS[kind]
    if kind is F64:  # the first word of two has the upper bits
        whole = [joined(words[n + 1], words[n]) for n in range(0, len(words), 2)]
    else:
        whole = [word.to(holder) for word in words]
    return [(((one & ((1 << digits) - 1)) | (exponent << digits)).bits_as(kind)) - 1 for one in whole]


def uniform(generator: Generator, count: int, kind: ElementType) -> Expression:
    """Numbers from 0 to 1.

    Args:
        generator: the state that is drawn from.
        count: how many.
        kind: their type.
    """
    words = _groups(generator, count, 2 if kind is F64 else WORDS)
    return _interleaved(unit(words, kind), count)


def normals(words: Sequence[Expression], kind: ElementType) -> list[Expression]:
    """Normal numbers of four words, by pairs of numbers from 0 to 1.

    Args:
        words: of 32 bits.
        kind: of the numbers.
    """
    wide = F64 if kind is F64 else F32
    units = unit(words, wide)
    found = []
    for first, second in zip(units[::2], units[1::2], strict=True):
        angle = (second.to(F64) * (2 * math.pi)).to(wide)
        length = (first.apply("maximum", _EPSILON).apply("log") * -2).apply("sqrt")
        found += [angle.apply("sine") * length, angle.apply("cosine") * length]
    return found


def normal(generator: Generator, count: int, kind: ElementType) -> Expression:
    """Numbers drawn from the normal distribution.

    Args:
        generator: the state that is drawn from.
        count: how many.
        kind: their type.
    """
    words = _groups(generator, count, 2 if kind is F64 else WORDS)
    return _interleaved(normals(words, kind), count).to(kind)


def truncated(generator: Generator, count: int, kind: ElementType) -> Expression:
    """Normal numbers that lie within two deviations.

    Args:
        generator: the state that is drawn from.
        count: how many.
        kind: their type.
    """
    each = 2 if kind is F64 else WORDS
    groups = -(-count // each)
    computation = generator.low.instruction.computation
    module = computation.module
    assert module is not None
    wide = F64 if kind is F64 else F32
    filled = generator.key.literal(0).to(S32).spread((groups,), ())
    values = generator.key.literal(0).to(wide).spread((groups, each), ())
    iteration = generator.low.literal(0)
    state = [iteration, filled, values, generator.low, generator.high, generator.key]
    start = build(computation, "tuple", [one.instruction for one in state])
    shape = start.shape
    assert isinstance(shape, TupleShape)
    body, test = _draw(module, shape, each), _is_open(module, shape, each)
    loop = build(computation, "while", [start], condition=test, body=body)
    flat = Expression(element(loop, 2)).reshape(groups * each)
    return (flat if flat.dims == (count,) else flat.slice((0, count))).to(kind)


def _draw(module: Module, shape: TupleShape, each: int) -> Computation:
    """One more block of candidates for each group, put where there is room, in order."""
    made = module.add_computation(Computation("draw"))
    state = parameter(made, 0, shape)
    iteration, filled, values, low, high, key = [Expression(element(state, number)) for number in range(6)]
    groups = values.dims[0]
    first = iota(made, U64, (groups,)) * (each * RESERVED // WORDS)
    words = Generator(low, high, key).words(first + iteration)
    positions = iota(made, S32, values.dims, 1)
    for candidate in normals(words, values.type):
        fits = candidate.apply("abs").compare("LT", _CUT) & filled.compare("LT", each)
        here = fits.spread(values.dims, [0]) & positions.compare("EQ", filled.spread(values.dims, [0]))
        values = here.where(candidate.spread(values.dims, [0]), values)
        filled = filled + fits.to(S32)
    results = [iteration + 1, filled, values, low, high, key]
    made.root = build(made, "tuple", [one.instruction for one in results])
    return made


def _is_open(module: Module, shape: TupleShape, each: int) -> Computation:
    """Whether a group has room left."""
    made = module.add_computation(Computation("has_room"))
    filled = Expression(element(parameter(made, 0, shape), 1))
    made.root = (filled.compare("LT", each).to(S32).sum(0)).compare("GT", 0).instruction
    return made


KEEP_GENERATORS = frozenset(
    (
        "RandomUniform",
        "RandomGamma",
        "RandomShuffle",
        "RandomUniformInt",
        "RandomStandardNormal",
        "TruncatedNormal",
        "Multinomial",
    )
)
"""Ops whose nodes keep a generator each, which goes on from run to run."""


def generator_name(node: str) -> str:
    """What the generator of a node is called among variables."""
    return f"{node}/generator"


def initial_state(seed: int, seed2: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """The counter's two halves and the key with which an op of these seeds begins; those of 0 and 0 are drawn.

    TensorFlow draws them as well where a program states none.
    """
    if not seed and not seed2:
        seed, seed2 = (int(one) for one in np.random.SeedSequence().generate_state(2, np.uint64))
    return np.array([0, seed2 % (1 << 64), seed % (1 << 64)], np.uint64)
