"""Calls of cuBLAS and cuDNN, of which dumps after XLA's GPU passes are full, as ordinary HLO.

XLA's passes put them in place of dots, convolutions and triangular solves, and fold what stood around them into the
call: factors, sums, activations, scales.  Shapes and dimension numbers are logical, so layouts do not matter.  What is
folded in is computed in f32 at least and rounded once; the scratch memory that a call yields besides is zeros.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from compiler.expansion.expression import Expression
from compiler.expansion.wiring import zeros
from compiler.ir.module import Instruction
from compiler.ir.numbers import finite_bounds
from compiler.ir.shape import ArrayShape, TupleShape, leaves
from compiler.ir.types import F32, ElementType
from compiler.ops.build import build

Config = Mapping[str, Any]

_GEMM = "gemm_backend_config"
_EPILOGUES = ("DEFAULT", "BIAS", "RELU", "BIAS_RELU", "GELU", "GELU_AUX", "BIAS_GELU", "BIAS_GELU_AUX")
_SILU = {"SILU", "BIAS_SILU"}
_DIMENSIONS = {
    "lhs_batch_dims": "lhs_batch_dimensions",
    "rhs_batch_dims": "rhs_batch_dimensions",
    "lhs_contracting_dims": "lhs_contracting_dimensions",
    "rhs_contracting_dims": "rhs_contracting_dimensions",
}
_GELU_CUBIC = 0.044715
"""The cubic term of gelu's approximation by tanh (Hendrycks and Gimpel, arXiv:1606.08415)."""


def config_of(call: Instruction, field: str) -> Config:
    """A part of a call's `backend_config`, which newer versions of XLA wrap with others and older ones give bare.

    Raises:
        UnsupportedError: it is no JSON object.
    """
    text = str(call.attributes.get("backend_config", ""))
    try:
        whole = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise call.unsupported(f"its backend_config is not JSON: {error}") from error
    if not isinstance(whole, dict):
        raise call.unsupported("its backend_config is not a JSON object")
    inner = whole.get(field, whole)
    return inner if isinstance(inner, dict) else {}


def number_in(call: Instruction, config: Config, name: str, default: float | None = None) -> float:
    """A number of a configuration; without a default it has to be there.

    Args:
        call: the custom call, which messages name.
        config: what its backend_config says.
        name: of the number.
        default: where it is left out; None where it must not be.

    Raises:
        UnsupportedError: it is not there.
    """
    given: Any = config.get(name, default)
    try:
        return float(given)
    except (TypeError, ValueError) as error:
        raise call.unsupported(f"its backend_config has no number {name}") from error


def result_shapes(call: Instruction) -> list[ArrayShape]:
    """The arrays that a call yields, scratch memory included."""
    return list(leaves(call.shape))


def yielded(call: Instruction, results: list[Expression]) -> Instruction:
    """The call's value: its results, and zeros for scratch memory."""
    if not isinstance(call.shape, TupleShape):
        return results[0].instruction
    scratch = [zeros(shape, call.computation) for shape in call.shape.elements[len(results) :]]
    return build(call.computation, "tuple", [*(result.instruction for result in results), *scratch])


def wide(element_type: ElementType) -> ElementType:
    """The type in which what is folded into a call is computed."""
    is_narrow = element_type.is_float and element_type.bits < F32.bits
    return F32 if is_narrow or (element_type.is_integer and element_type.bits <= 8) else element_type


def rounded(value: Expression, element_type: ElementType) -> Expression:
    """A value in a result's type; what is out of range of a small type becomes its extreme, as the libraries do."""
    if element_type.bits <= 8 and value.type is not element_type:
        low, high = (value.literal(extreme).spread(value.dims, ()) for extreme in finite_bounds(element_type))
        value = low.apply("clamp", value, high)
    return value.to(element_type)


def rectified(value: Expression) -> Expression:
    """The positive part."""
    return value.apply("maximum", value.literal(0))


def gelu(value: Expression) -> Expression:
    """The Gaussian error linear unit by its approximation with tanh, which cuBLAS has."""
    inner = (value + value * value * value * _GELU_CUBIC) * math.sqrt(2 / math.pi)
    return value * 0.5 * (inner.apply("tanh") + 1)


def product(call: Instruction, config: Config, lhs: Expression, rhs: Expression, to: ElementType) -> Expression:
    """The product of a call's dimension numbers, summed in a type.

    Args:
        call: the custom call, which messages name.
        config: what its backend_config says, with its dimension numbers.
        lhs: the left operand.
        rhs: the right operand.
        to: the type of the sums and of the result.

    Raises:
        UnsupportedError: they are not there, or no numbers.
    """
    numbers = config.get("dot_dimension_numbers")
    if not isinstance(numbers, dict):
        raise call.unsupported("its backend_config has no dot_dimension_numbers")
    try:
        dims = {ours: tuple(map(int, numbers.get(theirs, ()))) for ours, theirs in _DIMENSIONS.items()}
    except (TypeError, ValueError) as error:
        raise call.unsupported(f"its dot_dimension_numbers are no lists of numbers: {error}") from error
    given: dict[str, Any] = {name: value for name, value in dims.items() if value}
    operands = [lhs.to(to).instruction, rhs.to(to).instruction]
    kept = [lhs.dims[d] for d in dims["lhs_batch_dims"] if d < len(lhs.dims)]
    for side, which in ((lhs, "lhs"), (rhs, "rhs")):
        used = {*dims[f"{which}_batch_dims"], *dims[f"{which}_contracting_dims"]}
        kept += [size for d, size in enumerate(side.dims) if d not in used]
    return Expression(build(call.computation, "dot", operands, shape=ArrayShape(to, tuple(kept)), **given))


def gemm(call: Instruction) -> Instruction:
    """`alpha * lhs * rhs + beta * c`, of what cuBLAS has had for long."""
    config, operands = config_of(call, _GEMM), [Expression(operand) for operand in call.operands]
    value = _scaled_product(call, config, operands)
    return yielded(call, [rounded(value, result_shapes(call)[0].element_type)])


def _scaled_product(
    call: Instruction, config: Config, operands: list[Expression], scale: Expression | None = None
) -> Expression:
    """`alpha * scale * lhs * rhs + beta * c`; takes the operands that it uses from the list."""
    result = result_shapes(call)[0]
    if len(operands) < 2:
        raise call.unsupported("it needs two factors")
    is_integer = result.element_type.is_integer
    lhs, rhs = operands.pop(0), operands.pop(0)
    kind = result.element_type if is_integer else wide(result.element_type)
    value = product(call, config, lhs, rhs, kind)
    if value.dims != result.dims:
        raise call.unsupported(f"its dimension numbers make {list(value.dims)}, not {result}")
    alpha = complex(number_in(call, config, "alpha_real"), number_in(call, config, "alpha_imag", 0))
    beta = number_in(call, config, "beta", 0)
    if alpha.imag and not kind.is_complex:
        raise call.unsupported(f"alpha_imag={alpha.imag} of real factors")
    if is_integer and not (alpha.real.is_integer() and beta.is_integer()):
        raise call.unsupported("a factor of integers that is none")
    value = value if scale is None else value * scale
    value = value if alpha == 1 else value * (alpha if kind.is_complex else alpha.real)
    if beta:
        if not operands or operands[0].dims != result.dims:
            raise call.unsupported(f"beta={beta} needs a third operand of the result's shape")
        added = operands.pop(0).to(kind)
        value = value + (added if beta == 1 else added * beta)
    return value


def matmul(call: Instruction) -> Instruction:
    """cuBLASLt's: a product, the vector that is added to each row, an activation."""
    config, operands = config_of(call, _GEMM), [Expression(operand) for operand in call.operands]
    value = _scaled_product(call, config, operands)
    return yielded(call, _epilogue(call, config, value, operands))


def _epilogue(
    call: Instruction,
    config: Config,
    value: Expression,
    operands: list[Expression],
    scale: Expression | None = None,
) -> list[Expression]:
    """The results of a call from its sums; the vector is the first of the operands that are left."""
    name = _epilogue_name(call, config)
    if "BIAS" in name:
        vector = operands.pop(0) if operands else None
        at = len(value.dims) - (len(vector.dims) if vector is not None else 0)
        if vector is None or vector.dims != value.dims[at:]:
            raise call.unsupported("its epilogue needs a vector as long as the rows of the result")
        value = value + vector.to(value.type).spread(value.dims, tuple(range(at, len(value.dims))))
    before = value
    if "RELU" in name:
        value = rectified(value)
    if "GELU" in name:
        value = gelu(value)
    if "SILU" in name:
        value = value * value.apply("logistic")
    shapes = result_shapes(call)
    results = [rounded(value if scale is None else value * scale, shapes[0].element_type)]
    if name.endswith("AUX"):
        results.append(rounded(before, _result_shape(call, shapes, 1).element_type))
    if config.get("damax_output") in (True, "true"):
        largest = value.apply("abs").largest(*range(len(value.dims)))
        results.append(largest.to(_result_shape(call, shapes, len(results)).element_type))
    return results


def _result_shape(call: Instruction, shapes: list[ArrayShape], index: int) -> ArrayShape:
    if index >= len(shapes):
        raise call.unsupported(f"it yields {len(shapes)} arrays and has more results")
    return shapes[index]


def _epilogue_name(call: Instruction, config: Config) -> str:
    given = config.get("epilogue", "DEFAULT")
    if isinstance(given, int) and 0 <= given < len(_EPILOGUES):
        return _EPILOGUES[given]
    if given not in _EPILOGUES and given not in _SILU:
        raise call.unsupported(f"epilogue {given!r} is none of {', '.join(_EPILOGUES)}")
    return str(given)


def scaled_matmul(call: Instruction) -> Instruction:
    """CuBLASLt's of floats of 8 bits: both factors have a scale, and so has a result of 8 bits.

    Behind the factors, and what is added to the product, come the scales of the factors; in older versions of XLA those
    of what is added and of the result too, then the vector; in newer ones the vector, then the scale of the result.

    Raises:
        UnsupportedError: a scale is missing.
    """
    config, operands = config_of(call, _GEMM), [Expression(operand) for operand in call.operands]
    first = 3 if number_in(call, config, "beta", 0) else 2
    count = next((n for n, operand in enumerate(operands[first:]) if operand.dims), len(operands) - first)
    scalars = operands[first : first + count]
    if count < 2:
        raise call.unsupported("it needs a scale for each of its factors, a scalar")
    result = result_shapes(call)[0].element_type
    rest = operands[first + count :]
    is_older = count == 4
    output_scale = None
    if result.bits == 8:
        output_scale = scalars[3] if is_older else rest.pop() if rest and not rest[-1].dims else None
        output_scale = scalars[2] if output_scale is None and count == 3 else output_scale
        if output_scale is None:
            raise call.unsupported("a result of 8 bits needs a scale")
    scale = scalars[0].to(F32) * scalars[1].to(F32)
    taken = operands[:first]
    value = _scaled_product(call, config, taken, scale)
    return yielded(call, _epilogue(call, config, value, rest, output_scale))


def triangular_solve(call: Instruction) -> Instruction:
    """A triangular solve, with the op's own attributes in JSON.

    Raises:
        UnsupportedError: the call has other operands, or attributes that have no meaning.
    """
    config = config_of(call, "")
    if len(call.operands) != 2:
        raise call.unsupported("it needs a triangular matrix and the right-hand sides")
    attributes: dict[str, Any] = {
        "left_side": bool(config.get("left_side", False)),
        "lower": bool(config.get("lower", False)),
        "unit_diagonal": bool(config.get("unit_diagonal", False)),
        "transpose_a": str(config.get("transpose_a", "NO_TRANSPOSE")),
    }
    if attributes["transpose_a"] not in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"):
        raise call.unsupported(f"transpose_a={attributes['transpose_a']}")
    solution = build(call.computation, "triangular-solve", call.operands, **attributes)
    return yielded(call, [Expression(solution)])


Expand = Callable[[Instruction], Instruction]

LIBRARY_CALLS: dict[str, Expand] = {
    "__cublas$gemm": gemm,
    "__cublas$lt$matmul": matmul,
    "__cublas$lt$matmul$f8": scaled_matmul,
    "__cublas$triangularSolve": triangular_solve,
}
"""Products and solves, by target."""
