"""Random numbers: by seeds that are given, and by generators that go on from run to run.

An op with a state keeps its generator as a variable of its own, `NODE/generator`: three numbers of 64 bits, which a
program reads and writes like any variable's value, and which begin as `Lowered.initial` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from compiler.expansion.expression import Expression, concatenate
from compiler.ir.types import S32, TYPES, ElementType
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.shapes import sizes
from compiler.tf2xla.random_numbers import (
    RESERVED,
    Generator,
    bits,
    generator_name,
    initial_state,
    normal,
    scrambled,
    truncated,
    uniform,
)
from compiler.tf2xla.record import Lower, Record, Trait, record, table

PHILOX, AUTOMATIC = 1, 3
"""`RNG_ALG_PHILOX` and `RNG_ALG_AUTO_SELECT` (TensorFlow, rng_alg.h)."""
Draw = Callable[[Generator, int, ElementType], Expression]
Seeded = Callable[[Operation], Generator]


def by_seed(operation: Operation) -> Generator:
    """The generator that a seed of two numbers makes."""
    seed = operation["seed"]
    operation.require(seed.dims == (2,), lambda: f"its seed must be two numbers, not {list(seed.dims)}")
    return scrambled(seed)


def by_key(operation: Operation) -> Generator:
    """The generator of a key and a counter, of the algorithm that is Philox.

    Raises:
        UnsupportedError: it is another algorithm.
    """
    algorithm = int(operation.value("alg"))
    if algorithm not in (PHILOX, AUTOMATIC):
        raise operation.unsupported(f"no kernel for CPUs has algorithm {algorithm}: 1 is Philox")
    counter, key = operation["counter"], operation["key"]
    fits = counter.dims == (2,) and key.dims == (1,)
    operation.require(
        fits, lambda: f"a key has the sizes [1], a counter [2], not {list(key.dims)}, {list(counter.dims)}"
    )
    low, high = (counter.slice((n, n + 1)).reshape() for n in (0, 1))
    return Generator(low, high, key.reshape())


def drawn(seeded: Seeded, draw: Draw, kind: str) -> Lower:
    """Numbers by a generator; `kind` is the attribute that says their type.

    Args:
        seeded: makes the generator of a node.
        draw: draws so many numbers of a type.
        kind: the attribute that says their type.
    """

    def lower(operation: Operation) -> Expression:
        dims = sizes(operation, "shape")
        element_type = operation.type(kind)
        if 0 in dims:
            return operation.full(0, element_type, dims)
        return draw(seeded(operation), math.prod(dims), element_type).reshape(*dims)

    return lower


def whole(generator: Generator, count: int, element_type: ElementType) -> Expression:
    """Whole numbers of all bits.

    Args:
        generator: of random bits.
        count: numbers.
        element_type: of the numbers.
    """
    return bits(generator, count, element_type).bits_as(element_type)


def between(seeded: Seeded, kind: str) -> Lower:
    """Whole numbers from one bound to below another."""

    def lower(operation: Operation) -> Expression:
        dims = sizes(operation, "shape")
        element_type = operation.type(kind)
        low, high = operation["minval"], operation["maxval"]
        operation.require(not low.dims and not high.dims, "minval and maxval must be scalars")
        known = [operation.library.value(one) for one in (low, high)]
        if known[0] is not None and known[1] is not None and 0 not in dims:
            operation.require(known[0] < known[1], f"Need minval < maxval, got {known[0]} >= {known[1]}")
        if 0 in dims:
            return operation.full(0, element_type, dims)
        unsigned = TYPES[f"u{element_type.bits}"]
        first, span = low.bits_as(unsigned), high.bits_as(unsigned) - low.bits_as(unsigned)
        drawn = bits(seeded(operation), math.prod(dims), element_type)
        found = first.spread(drawn.dims, ()) + drawn.apply("remainder", span)
        return found.bits_as(element_type).reshape(*dims)

    return lower


def _state(operation: Operation) -> Generator:
    """The generator of a node, which goes on by what the numbers may take."""
    return kept_generator(operation, math.prod(operation.integers("shape")) * RESERVED)


def kept_generator(operation: Operation, count: int) -> Generator:
    """The generator that a node keeps for itself, which goes on by so many counters."""
    name = generator_name(operation.node.name)
    variables = operation.library.variables
    variables.keep(name, initial_state(operation.attribute("seed"), operation.attribute("seed2")))
    held = variables.read(name)
    generator = Generator(*(held.slice((n, n + 1)).reshape() for n in range(3)))
    after = generator.after(count)
    variables.write(name, concatenate([one.reshape(1) for one in (after.low, after.high, after.key)], 0))
    return generator


def _key_counter(operation: Operation) -> list[Expression]:
    generator = by_seed(operation)
    counter = concatenate([one.reshape(1) for one in (generator.low, generator.high)], 0)
    found = [generator.key.reshape(1), counter]
    if len(operation.signature.outputs) == len(found):
        return found
    return [*found, operation.number(PHILOX, S32)]


_DRAWS: dict[str, tuple[Draw, str]] = {
    "Uniform": (uniform, "Numbers from 0 to 1, 1 excluded."),
    "Normal": (normal, "Normal numbers."),
    "Truncated": (truncated, "Normal numbers within two deviations."),
}
_NAMES = {
    "Uniform": ("RandomUniform", "StatelessRandomUniform"),
    "Normal": ("RandomStandardNormal", "StatelessRandomNormal"),
    "Truncated": ("TruncatedNormal", "StatelessTruncatedNormal"),
}
_KEYED = "shape: Tshape, key: uint64, counter: uint64, alg: int32"
_SEEDED = "shape: T, seed: Tseed"
SEEDS = "seed: int = 0; seed2: int = 0"
"""Attributes of ops that keep a generator for themselves."""


def _three(kind: str) -> list[Record]:
    """By a state, by a seed, by a key."""
    draw, doc = _DRAWS[kind]
    stateful, stateless = _NAMES[kind]
    gives = "-> output: dtype"
    return [
        record(
            stateful,
            f"shape: T {gives}; {SEEDS}; dtype: {{floats}}; T: {{index}}",
            drawn(_state, draw, "dtype"),
            doc,
            ("shape",),
            Trait.STATEFUL,
        ),
        record(
            stateless,
            f"{_SEEDED} {gives}; dtype: {{floats}} = float32; T: {{index}} = int32; Tseed: {{index}} = int64",
            drawn(by_seed, draw, "dtype"),
            doc,
            ("shape",),
        ),
        record(
            f"{stateless}V2",
            f"{_KEYED} {gives}; dtype: {{floats}} = float32; Tshape: {{index}} = int32",
            drawn(by_key, draw, "dtype"),
            doc,
            ("shape", "alg"),
        ),
    ]


_LONG = "int32 int64 uint32 uint64"
_FULL = "Whole numbers of all bits."
_BOUNDED = "Whole numbers between bounds, the upper one excluded."
RECORDS = table(
    *(one for kind in _DRAWS for one in _three(kind)),
    record(
        "RandomUniformInt",
        f"shape: T, minval: Tout, maxval: Tout -> output: Tout; {SEEDS}; Tout: {{index}}; T: {{index}}",
        between(_state, "Tout"),
        _BOUNDED,
        ("shape",),
        Trait.STATEFUL,
    ),
    record(
        "StatelessRandomUniformInt",
        f"{_SEEDED}, minval: dtype, maxval: dtype -> output: dtype; dtype: {{index}}; T: {{index}}; "
        "Tseed: {index} = int64",
        between(by_seed, "dtype"),
        _BOUNDED,
        ("shape",),
    ),
    record(
        "StatelessRandomUniformIntV2",
        f"{_KEYED}, minval: dtype, maxval: dtype -> output: dtype; dtype: {{{_LONG}}}; Tshape: {{index}} = int32",
        between(by_key, "dtype"),
        _BOUNDED,
        ("shape", "alg"),
    ),
    record(
        "StatelessRandomUniformFullInt",
        f"{_SEEDED} -> output: dtype; dtype: {{{_LONG}}} = uint64; T: {{index}} = int32; Tseed: {{{_LONG}}} = int64",
        drawn(by_seed, whole, "dtype"),
        _FULL,
        ("shape",),
    ),
    record(
        "StatelessRandomUniformFullIntV2",
        f"{_KEYED} -> output: dtype; dtype: {{{_LONG}}} = uint64; Tshape: {{index}} = int32",
        drawn(by_key, whole, "dtype"),
        _FULL,
        ("shape", "alg"),
    ),
    record(
        "StatelessRandomGetKeyCounter",
        "seed: Tseed -> key: uint64, counter: uint64; Tseed: {index} = int64",
        _key_counter,
        "The key and the counter that a seed is.",
    ),
    record(
        "StatelessRandomGetKeyCounterAlg",
        "seed: Tseed -> key: uint64, counter: uint64, alg: int32; Tseed: {index} = int64",
        _key_counter,
        "The same, and the algorithm.",
    ),
    record(
        "StatelessRandomGetAlg",
        "-> alg: int32",
        lambda operation: operation.number(PHILOX, S32),
        "The algorithm: Philox.",
        traits=Trait.STATEFUL,
    ),
)
