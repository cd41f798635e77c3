"""Complex numbers and their parts, and numbers seen as other types of the same bits."""

from __future__ import annotations

from collections.abc import Callable

from compiler.expansion.expression import Expression
from compiler.expansion.matrices import conjugate
from compiler.ir.shape import ArrayShape
from compiler.ops.build import build
from compiler.tf2xla.broadcasting import together
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Record, record, table


def _real_valued(name: str, formula: Callable[[Expression], Expression], doc: str, port: str = "input") -> Record:
    def lower(operation: Operation) -> Expression:
        return formula(operation[port]).to(operation.type("Tout"))

    result = "y" if port == "x" else "output"
    text = f"{port}: T -> {result}: Tout; T: {{complexes}} = complex64; Tout: {{float32 float64}} = float32"
    return record(name, text, lower, doc)


def _complex(operation: Operation) -> Expression:
    real, imaginary = together(operation, operation["real"], operation["imag"])
    made, wanted = real.apply("complex", imaginary), operation.type("Tout")
    operation.require(made.type is wanted, lambda: f"parts of {real.type} make numbers of {made.type}, not of {wanted}")
    return made


def _bitcast(operation: Operation) -> Expression:
    """The same bits; a type of fewer bits takes one more dimension, a wider one the last."""
    x, target = operation["input"], operation.type("type")
    dims = x.dims
    if target.bits < x.type.bits:
        dims = (*dims, x.type.bits // target.bits)
    elif target.bits > x.type.bits:
        ratio = target.bits // x.type.bits
        fits = dims and dims[-1] == ratio
        operation.require(fits, lambda: f"the last dimension of {list(x.dims)} must have {ratio} elements")
        dims = dims[:-1]
    if x.type is target:
        return x
    if x.type.is_complex or target.is_complex:
        raise operation.unsupported("HLO does not say what the bits of complex numbers are")
    shape = ArrayShape(target, dims)
    return Expression(build(operation.computation, "bitcast-convert", [x.instruction], shape=shape))


_NUMBERS = "numbers quantized"
RECORDS = table(
    record(
        "Conj",
        "input: T -> output: T; T: {complexes} = complex64",
        lambda operation: conjugate(operation["input"]),
        "The conjugate.",
    ),
    _real_valued("Real", lambda x: x.apply("real"), "The real part."),
    _real_valued("Imag", lambda x: x.apply("imag"), "The imaginary part."),
    _real_valued("ComplexAbs", lambda x: x.apply("abs"), "The distance from 0.", "x"),
    _real_valued("Angle", lambda x: x.apply("imag").apply("atan2", x.apply("real")), "The angle to the real axis."),
    record(
        "Complex",
        "real: T, imag: T -> out: Tout; T: {float32 float64} = float32; Tout: {complexes} = complex64",
        _complex,
        "A complex number of its parts.",
    ),
    record(
        "Bitcast",
        f"input: T -> output: type; T: {{{_NUMBERS}}}; type: {{{_NUMBERS}}}",
        _bitcast,
        "The same bits as another type.",
    ),
)
