"""Numbers drawn from gamma distributions, by Marsaglia and Tsang's method, as TensorFlow's kernels on CPUs draw them.

A number is a function of a normal one, which is kept with a probability; what is not kept is drawn again, so that it
takes a loop.  Each number has counters of its own, and takes normal and uniform numbers from them two at a time.
"""

from __future__ import annotations

import math

from compiler.expansion.expression import Expression, element, iota
from compiler.ir.module import Computation, Module
from compiler.ir.shape import TupleShape
from compiler.ir.types import F64, S32, U64
from compiler.ops.build import build, parameter
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.random import SEEDS, Seeded, by_key, by_seed, kept_generator
from compiler.tf2xla.ops.shapes import sizes
from compiler.tf2xla.random_numbers import RESERVED, Generator, normals, unit
from compiler.tf2xla.record import Lower, Trait, record, table

_SQUEEZE = 0.0331
"""Below 1 less this times x^4 a number is kept without a look at logarithms (Marsaglia and Tsang, 2000)."""


def _gamma(generator: Generator, alpha: Expression) -> Expression:
    """A number for each parameter.

    Args:
        generator: of random bits.
        alpha: parameters in f64, in the order in which numbers have their counters.
    """
    computation = alpha.instruction.computation
    module = computation.module
    assert module is not None
    first = iota(computation, U64, alpha.dims) * RESERVED
    is_one = alpha.compare("EQ", 1)
    exponential = -(-unit(generator.words(first), F64)[1]).apply("log-plus-one")
    none = alpha.literal(0).spread(alpha.dims, ())
    never = is_one & is_one.apply("not")
    state = [first, none, never, none, never, is_one.apply("not"), exponential, alpha]
    state += [generator.low, generator.high, generator.key]
    start = build(computation, "tuple", [one.instruction for one in state])
    shape = start.shape
    assert isinstance(shape, TupleShape)
    loop = build(computation, "while", [start], condition=_is_open(module, shape), body=_trial(module, shape))
    return Expression(element(loop, 6))


def _trial(module: Module, shape: TupleShape) -> Computation:
    """One more candidate for each number that has none yet."""
    made = module.add_computation(Computation("trial"))
    given = parameter(made, 0, shape)
    state = [Expression(element(given, number)) for number in range(len(shape.elements))]
    at, normal, has_normal, uniform, has_uniform, is_open, result, alpha, low, high, key = state
    generator = Generator(low, high, key)
    is_small = alpha.compare("LT", 1)
    d = alpha + is_small.where(alpha.literal(2 / 3), alpha.literal(-1 / 3))
    c = alpha.literal(1 / 3).spread(alpha.dims, ()) / d.apply("sqrt")
    later, sooner = normals(generator.words(at), F64)
    x = has_normal.where(normal, sooner)
    at = at + has_normal.apply("not").to(U64)
    v = c * x + 1
    goes = v.compare("LE", 0).apply("not")
    v = v * v * v
    pair = unit(generator.words(at), F64)
    u = has_uniform.where(uniform, pair[1])
    is_fresh = goes & has_uniform.apply("not")
    at = at + is_fresh.to(U64)
    uniform, has_uniform = is_fresh.where(pair[0], uniform), goes.where(has_uniform.apply("not"), has_uniform)
    square = x * x
    is_below = u.compare("LT", -(square * _SQUEEZE * square) + 1)
    bound = square * 0.5 + d * (-v + 1 + v.apply("log"))
    is_kept = goes & (is_below | u.apply("log").compare("LT", bound))
    b = has_uniform.where(uniform, unit(generator.words(at), F64)[1])
    power = b.apply("power", alpha.literal(1).spread(alpha.dims, ()) / alpha)
    found = is_small.where(d * v * power, d * v)
    result = (is_open & is_kept).where(found, result)
    is_open = is_open & is_kept.apply("not")
    results = [at, later, has_normal.apply("not"), uniform, has_uniform, is_open, result, alpha, low, high, key]
    made.root = build(made, "tuple", [one.instruction for one in results])
    return made


def _is_open(module: Module, shape: TupleShape) -> Computation:
    """Whether some number has not been found."""
    made = module.add_computation(Computation("is_open"))
    is_open = Expression(element(parameter(made, 0, shape), 5))
    made.root = is_open.to(S32).sum(0).compare("GT", 0).instruction
    return made


def _drawn(operation: Operation, seeded: Seeded, dims: tuple[int, ...], alpha: Expression) -> Expression:
    """Numbers of which the last dimensions are those of their parameters, which go before in the order of counters."""
    count, each = math.prod(alpha.dims), math.prod(dims[: len(dims) - len(alpha.dims)])
    if 0 in dims:
        return operation.full(0, alpha.type, dims)
    whole = alpha.to(F64).reshape(count).spread((count, each), [0]).reshape(count * each)
    found = _gamma(seeded(operation), whole)
    return found.reshape(count, each).transpose(1, 0).reshape(*dims).to(alpha.type)


def _stateless(seeded: Seeded) -> Lower:
    def lower(operation: Operation) -> Expression:
        dims, alpha = sizes(operation, "shape"), operation["alpha"]
        ends = dims[len(dims) - len(alpha.dims) :] if len(dims) >= len(alpha.dims) else None
        operation.require(ends == alpha.dims, lambda: f"its shape {list(dims)} must end with {list(alpha.dims)}")
        return _drawn(operation, seeded, dims, alpha)

    return lower


def _stateful(operation: Operation) -> Expression:
    alpha = operation["alpha"]
    dims = (*sizes(operation, "shape"), *alpha.dims)
    return _drawn(operation, lambda one: kept_generator(one, math.prod(dims) * RESERVED), dims, alpha)


_TYPES = "{float16 float32 float64}"
_DOC = "Numbers drawn from gamma distributions."
RECORDS = table(
    record(
        "RandomGamma",
        f"shape: S, alpha: T -> output: T; {SEEDS}; S: {{index}}; T: {_TYPES}",
        _stateful,
        _DOC,
        ("shape",),
        Trait.STATEFUL,
    ),
    record(
        "StatelessRandomGammaV2",
        f"shape: T, seed: Tseed, alpha: dtype -> output: dtype; dtype: {_TYPES}; T: {{index}}; "
        "Tseed: {index} = int64",
        _stateless(by_seed),
        _DOC,
        ("shape",),
    ),
    record(
        "StatelessRandomGammaV3",
        "shape: shape_dtype, key: uint64, counter: uint64, alg: int32, alpha: dtype -> output: dtype; "
        f"dtype: {_TYPES}; shape_dtype: {{index}} = int32",
        _stateless(by_key),
        _DOC,
        ("shape", "alg"),
    ),
)
