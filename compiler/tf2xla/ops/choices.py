"""Random choices and orders, and generators that a program keeps in variables, as kernels on CPUs draw them.

The kernels draw for several rows of logits in threads, each beginning elsewhere; this draws as one thread does.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from compiler.expansion.counted_loop import counted_loop
from compiler.expansion.expression import Expression, concatenate, iota
from compiler.expansion.matrices import only, with_only
from compiler.ir.types import F64, S32, S64, U32, U64
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered
from compiler.tf2xla.ops.random import AUTOMATIC, PHILOX, between, by_seed, drawn, kept_generator, whole
from compiler.tf2xla.ops.reductions import moved
from compiler.tf2xla.random_numbers import RESERVED, WORDS, Generator, bits, normal, truncated, uniform
from compiler.tf2xla.record import Lower, Record, Trait, record, table

Counted = Callable[[Operation, int], Generator]


def _rounded(count: int) -> int:
    return -(-count // WORDS) * WORDS


def _chosen(generator_of: Counted) -> Lower:
    """Numbers of classes, each as often as its logit says: where a number falls among sums of probabilities."""

    def lower(operation: Operation) -> Expression:
        logits = operation["logits"].to(F64)
        count = operation.integer("num_samples")
        operation.require(len(logits.dims) == 2, lambda: f"it takes rows of logits, not {list(logits.dims)}")
        operation.require(count >= 0, f"it draws {count} numbers")
        (rows, classes), target = logits.dims, operation.type("output_dtype")
        generator = generator_of(operation, rows * _rounded(count) * 2 * RESERVED)
        if 0 in (rows, count):
            return operation.full(0, target, (rows, count))
        operation.require(classes, "it chooses among no classes")
        there = logits.apply("is-finite")
        greatest = there.where(logits, logits.literal(-math.inf)).largest(1).spread(logits.dims, [0])
        sums = there.where((logits - greatest).apply("exponential"), logits.literal(0))
        by = 1
        while by < classes:
            sums = sums + moved(sums, 1, by, 0, is_back=False)
            by *= 2
        total = sums.slice((0, rows), (classes - 1, classes)).reshape(rows)
        numbers = uniform(generator, rows * count, F64).reshape(rows, count) * total.spread((rows, count), [0])
        dims = (rows, count, classes)
        below = sums.spread(dims, [0, 2]).compare("LE", numbers.spread(dims, [0, 1]))
        return below.to(S32).sum(2).to(target)

    return lower


def _shuffled(operation: Operation) -> Expression:
    """Rows in another order: each in turn changes places with one of those that follow, or with itself."""
    x = operation["value"]
    size = x.dims[0] if x.dims else 1
    if size <= 1 or 0 in x.dims:
        return x
    generator = kept_generator(operation, -(-(size - 1) // WORDS))
    words = bits(generator, size - 1, U32)
    rest = -iota(operation.computation, U32, (size - 1,)) + size
    partners = words.apply("remainder", rest).to(S32) + iota(operation.computation, S32, (size - 1,))

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        order, partners = state
        other = only(partners, k).reshape()
        first, second = only(order, k), only(order, other)
        return [with_only(with_only(order, second, k), first, other), partners]

    order = iota(operation.computation, S32, (1, size), 1)
    found = counted_loop("shuffled", size - 1, [order, partners.reshape(1, size - 1)], step)[0]
    return gathered(operation, x, found.reshape(size), 0, 0)


def _held(operation: Operation, counters: Expression | int, name: str = "algorithm") -> tuple[Generator, Expression]:
    """The generator that a variable holds, and its value; the variable goes on by so many counters."""
    algorithm = int(operation.value(name))
    if algorithm not in (PHILOX, AUTOMATIC):
        raise operation.unsupported(f"no kernel for CPUs has algorithm {algorithm}: 1 is Philox")
    held = operation.read("resource")
    fits = held.dims == (3,) and held.type in (S64, U64)
    operation.require(fits, lambda: f"a generator is three numbers of int64, not {held.type}{list(held.dims)}")
    words = held.bits_as(U64)
    generator = Generator(*(words.slice((n, n + 1)).reshape() for n in range(3)))
    after = generator.after(counters)
    state = concatenate([one.reshape(1) for one in (after.low, after.high, after.key)], 0)
    operation.write("resource", state.bits_as(held.type))
    return generator, held


def _of_variable(operation: Operation) -> Generator:
    return _held(operation, math.prod(operation.integers("shape")) * RESERVED)[0]


def _skipped(operation: Operation) -> None:
    _held(operation, operation["delta"].to(U64) * RESERVED)


def _read_and_skipped(operation: Operation) -> Expression:
    return _held(operation, operation["delta"] * RESERVED, "alg")[1].bits_as(S64)


def _stateful(name: str, text: str, lower: Lower, doc: str) -> Record:
    given = "resource: resource, algorithm: int64, shape: shape_dtype"
    kinds = "shape_dtype: {any} = int64"
    takes, _, attribute = text.partition(";")
    return record(
        name,
        f"{given}{takes} -> output: dtype; {attribute}; {kinds}",
        lower,
        doc,
        ("algorithm", "shape"),
        Trait.STATEFUL,
    )


_FLOAT, _LONG = "; dtype: {any} = float32", "dtype: {any}"
_CHOICE = "The numbers of classes, drawn by their logits."
RECORDS = table(
    record(
        "Multinomial",
        "logits: T, num_samples: int32 -> output: output_dtype; seed: int = 0; seed2: int = 0; T: {reals}; "
        "output_dtype: {index} = int64",
        _chosen(kept_generator),
        _CHOICE,
        ("num_samples",),
        Trait.STATEFUL,
    ),
    record(
        "StatelessMultinomial",
        "logits: T, num_samples: int32, seed: Tseed -> output: output_dtype; T: {reals}; Tseed: {index} = int64; "
        "output_dtype: {index} = int64",
        _chosen(lambda operation, _: by_seed(operation)),
        _CHOICE,
        ("num_samples",),
    ),
    record(
        "RandomShuffle",
        "value: T -> output: T; seed: int = 0; seed2: int = 0; T: {any}",
        _shuffled,
        "Rows in a random order.",
        traits=Trait.STATEFUL,
    ),
    _stateful("StatefulUniform", _FLOAT, drawn(_of_variable, uniform, "dtype"), "Numbers from 0 to 1, 1 excluded."),
    _stateful("StatefulStandardNormalV2", _FLOAT, drawn(_of_variable, normal, "dtype"), "Normal numbers."),
    _stateful(
        "StatefulTruncatedNormal",
        _FLOAT,
        drawn(_of_variable, truncated, "dtype"),
        "Normal numbers within two deviations.",
    ),
    _stateful(
        "StatefulUniformFullInt",
        f"; {_LONG} = uint64",
        drawn(_of_variable, whole, "dtype"),
        "Whole numbers of all bits.",
    ),
    _stateful(
        "StatefulUniformInt",
        f", minval: dtype, maxval: dtype; {_LONG} = int64",
        between(_of_variable, "dtype"),
        "Whole numbers between bounds, the upper one excluded.",
    ),
    record(
        "RngSkip",
        "resource: resource, algorithm: int64, delta: int64 -> ",
        _skipped,
        "A generator goes on.",
        ("algorithm",),
        Trait.STATEFUL,
    ),
    record(
        "RngReadAndSkip",
        "resource: resource, alg: int32, delta: uint64 -> value: int64",
        _read_and_skipped,
        "A generator as it is, before it goes on.",
        ("alg",),
        Trait.STATEFUL,
    ),
)
