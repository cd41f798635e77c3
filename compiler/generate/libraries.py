"""Calls of cuBLAS and cuDNN as XLA's passes for GPUs make them, of any dimension numbers and windows.

They are drawn beside kernels, since a call is a kernel with what stands around it: factors, sums, activations.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from compiler.generate import regimes, sized_convolutions
from compiler.generate.choices import chance, permutation, pick
from compiler.generate.matrices import batches, diagonal
from compiler.generate.recipe import Recipe
from compiler.generate.regimes import sizes
from compiler.generate.scope import Scope
from compiler.ir.attributes import ConvolutionDimensions, WindowDimension
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import F32, S32, TYPES, ElementType
from compiler.ir.windows import output_size

_SIZES, _BATCHES = (1, 2, 3, 4, 5, 7, 9), (1, 1, 2, 3)
"""Sizes of dimensions, which all may differ, and batches."""
_ALPHAS, _BETAS = (1, 0.5, -2, 2.5), (0, 0, 1, -1.5)
"""Factors of a product, and of what is added to it."""
_WHOLE_ALPHAS, _WHOLE_BETAS = (1, 1, -2, 3), (0, 0, 1, -1)
"""The same of integers."""
_SCRATCH = ArrayShape(TYPES["s8"], (8,))
"""The memory that a call yields besides."""
_EPILOGUES = (
    "DEFAULT",
    "BIAS",
    "RELU",
    "BIAS_RELU",
    "GELU",
    "GELU_AUX",
    "BIAS_GELU",
    "BIAS_GELU_AUX",
    "SILU",
    "BIAS_SILU",
)
_ACTIVATIONS = ("kNone", "kSigmoid", "kRelu", "kRelu6", "kTanh", "kElu", "kLeakyRelu", "2")
_FUSED_PERCENT, _LARGEST_PERCENT = 60, 30
"""How often a product has an epilogue; how often one of floats of 8 bits says its largest element."""
_SMALL_SYSTEMS_PERCENT = 40
"""How often triangular systems are small ones."""
_SIDE, _GRADIENTS = (0, 1, 2), ("Forward", "BackwardInput", "BackwardFilter")
_FLOATS = tuple(TYPES[name] for name in ("f32", "f64", "bf16", "f16"))
_NARROW = tuple(TYPES[name] for name in ("f8e4m3fn", "f8e5m2"))


def _call(
    scope: Scope, target: str, operands: Sequence[Instruction], results: Sequence[ArrayShape], **more: Any
) -> Instruction:
    """What a call yields first; the rest but scratch memory are results as well."""
    made = scope.build(
        "custom-call", operands, shape=TupleShape((*results, _SCRATCH)), custom_call_target=target, **more
    )
    taken = [scope.build("get-tuple-element", [made], index=index) for index in range(len(results))]
    scope.kept += taken[1:]
    return taken[0]


def _config(key: str, **fields: Any) -> str:
    return json.dumps({"operation_queue_id": "0", key: fields})


def _factor(scope: Scope, element_type: ElementType, sizes: Sequence[int]) -> tuple[Instruction, list[int]]:
    """A factor whose dimensions lie anywhere, and where each of them does."""
    order = permutation(scope.choices, len(sizes))
    shape = ArrayShape(element_type, tuple(sizes[number] for number in order))
    return scope.parameter(shape), [order.index(number) for number in range(len(sizes))]


class _Factors(NamedTuple):
    """Two factors, their dimension numbers as the libraries have them, and the dimensions of the product."""

    operands: list[Instruction]
    numbers: dict[str, list[str]]
    dims: tuple[int, ...]


def _factors(scope: Scope, element_type: ElementType) -> _Factors:
    rows, columns, depth = (pick(scope.choices, _SIZES) for _ in range(3))
    batch = [n for n in (pick(scope.choices, _BATCHES),) if n > 1]
    numbers, factors = dict[str, list[str]](), list[Instruction]()
    for side, free in (("lhs", rows), ("rhs", columns)):
        factor, at = _factor(scope, element_type, [*batch, free, depth])
        factors.append(factor)
        numbers[f"{side}_batch_dimensions"] = list(map(str, at[:-2]))
        numbers[f"{side}_contracting_dimensions"] = [str(at[-1])]
    return _Factors(factors, numbers, (*batch, rows, columns))


def _product(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    choices = scope.choices
    operands, numbers, dims = _factors(scope, element_type)
    result, beta = ArrayShape(element_type, dims), pick(choices, _BETAS)
    is_fused = not element_type.is_complex and chance(choices, _FUSED_PERCENT)
    epilogue = pick(choices, _EPILOGUES) if is_fused else "DEFAULT"
    if beta:
        operands.append(scope.parameter(result))
    if "BIAS" in epilogue:
        operands.append(scope.parameter(ArrayShape(element_type, dims[-1:])))
    imaginary = pick(choices, (0, -2)) if element_type.is_complex else 0
    config = _config(
        "gemm_backend_config",
        alpha_real=pick(choices, _ALPHAS),
        alpha_imag=imaginary,
        beta=beta,
        dot_dimension_numbers=numbers,
        epilogue=epilogue,
    )
    target = "__cublas$lt$matmul" if is_fused else "__cublas$gemm"
    return _call(scope, target, operands, [result] * (1 + epilogue.endswith("AUX")), backend_config=config)


def _byte_product(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    """Of bytes, as integers or as floats; factors of integers are such, and no activation is for them."""
    choices = scope.choices
    operands, numbers, dims = _factors(scope, element_type)
    kind = pick(choices, (S32, F32))
    alphas, betas = (_WHOLE_ALPHAS, _WHOLE_BETAS) if kind is S32 else (_ALPHAS, _BETAS)
    beta, epilogue = pick(choices, betas), pick(choices, ("DEFAULT", "DEFAULT", "RELU", "BIAS"))
    result = ArrayShape(kind, dims)
    if beta:
        operands.append(scope.parameter(result))
    if epilogue == "BIAS":
        operands.append(scope.parameter(ArrayShape(kind, dims[-1:])))
    config = _config(
        "gemm_backend_config",
        alpha_real=pick(choices, alphas),
        alpha_imag=0,
        beta=beta,
        dot_dimension_numbers=numbers,
        epilogue=epilogue,
    )
    target = "__cublas$gemm" if epilogue == "DEFAULT" else "__cublas$lt$matmul"
    return _call(scope, target, operands, [result], backend_config=config)


def _narrow_product(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    """Of floats of 8 bits, with scales as older or newer versions of XLA give them."""
    choices, scalar = scope.choices, ArrayShape(F32, ())
    operands, numbers, dims = _factors(scope, element_type)
    kind, is_older, epilogue = (
        pick(choices, (F32, element_type)),
        chance(choices, 50),
        pick(choices, ("DEFAULT", "RELU", "BIAS")),
    )
    vector = [scope.parameter(ArrayShape(F32, dims[-1:]))] if epilogue == "BIAS" else []
    last = [scope.parameter(scalar)] if kind is element_type and not is_older else []
    operands += [*(scope.parameter(scalar) for _ in range(4 if is_older else 2)), *vector, *last]
    says_largest = kind is element_type and chance(choices, _LARGEST_PERCENT)
    config = _config(
        "gemm_backend_config",
        alpha_real=pick(choices, _ALPHAS),
        alpha_imag=0,
        beta=0,
        dot_dimension_numbers=numbers,
        epilogue=epilogue,
        damax_output=says_largest,
    )
    results = [ArrayShape(kind, dims), *([scalar] if says_largest else [])]
    return _call(scope, "__cublas$lt$matmul$f8", operands, results, backend_config=config)


def _convolution(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    """A convolution, with a bias and an activation or without, or one of its gradients."""
    choices, spatial = scope.choices, scope.choices.integer(1, 2)
    groups, (batch, inputs, outputs) = pick(choices, (1, 1, 2, 3)), (choices.integer(1, 4) for _ in range(3))
    window = tuple(_piece(scope) for _ in range(spatial))
    extents = [choices.integer(piece.rhs_dilate * (piece.size - 1) + 1, 9) for piece in window]
    ends = [output_size(n, piece) for n, piece in zip(extents, window, strict=True)]
    orders = [permutation(choices, spatial + 2) for _ in range(3)]
    sizes = {
        "image": (batch, groups * inputs, *extents),
        "filter": (groups * outputs, inputs, *(piece.size for piece in window)),
        "output": (batch, groups * outputs, *ends),
    }
    shapes = {
        role: ArrayShape(element_type, tuple(n for _, n in sorted(zip(order, of, strict=True))))
        for order, (role, of) in zip(orders, sizes.items(), strict=True)
    }
    image, kernel, output = orders
    labels = ConvolutionDimensions(
        image[0],
        image[1],
        tuple(image[2:]),
        kernel[1],
        kernel[0],
        tuple(kernel[2:]),
        output[0],
        output[1],
        tuple(output[2:]),
    )
    direction = pick(choices, _GRADIENTS)
    given, wanted = _ROLES[direction]
    operands = [scope.parameter(shapes[role]) for role in given]
    fields: dict[str, Any] = {"conv_result_scale": pick(choices, _ALPHAS)}
    target = f"__cudnn$conv{direction}"
    if direction == "Forward" and chance(choices, _FUSED_PERCENT):
        target, fields["side_input_scale"] = "__cudnn$convBiasActivationForward", pick(choices, _SIDE)
        operands.append(scope.parameter(ArrayShape(element_type, (groups * outputs,))))
        operands += [scope.parameter(shapes["output"])] if fields["side_input_scale"] else []
        fields |= {"activation_mode": pick(choices, _ACTIVATIONS), "leakyrelu_alpha": 0.25}
    return _call(
        scope,
        target,
        operands,
        [shapes[wanted]],
        window=window,
        dim_labels=labels,
        feature_group_count=groups,
        backend_config=_config("cudnn_conv_backend_config", **fields),
    )


def _piece(scope: Scope) -> WindowDimension:
    size = scope.choices.integer(1, 3)
    low, high = (scope.choices.integer(0, size - 1) for _ in range(2))
    return WindowDimension(size, pick(scope.choices, (1, 1, 2, 3)), low, high, 1, pick(scope.choices, (1, 1, 2)))


def _solution(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    """Triangular systems, few and many, alone and in batches of several dimensions, from either side."""
    choices = scope.choices
    if chance(choices, _SMALL_SYSTEMS_PERCENT):
        outer, rows, sides = batches(scope), choices.integer(1, 9), choices.integer(1, 4)
    else:
        batch, rows, sides = sizes(choices, regimes.SOLVED)
        outer = pick(choices, ((), (batch,), (1, batch))) if batch == 1 else pick(choices, ((batch,), (1, batch)))
    square, is_left = ArrayShape(element_type, (*outer, rows, rows)), chance(choices, 50)
    # Divided by what is added to the diagonal, rows weigh less than it, even where that is taken to be 1.
    share = scope.build("broadcast", [scope.constant(1 / (8 * rows), element_type)], shape=square, dimensions=())
    small = scope.build("multiply", [scope.parameter(square), share])
    matrix = scope.build("add", [small, diagonal(scope, element_type, rows, outer)])
    result = ArrayShape(element_type, (*outer, *((rows, sides) if is_left else (sides, rows))))
    config = {
        "left_side": is_left,
        "lower": chance(choices, 50),
        "unit_diagonal": chance(choices, 30),
        "transpose_a": pick(choices, ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")),
    }
    operands = [matrix, scope.parameter(result)]
    return _call(scope, "__cublas$triangularSolve", operands, [result], backend_config=json.dumps(config))


_ROLES = {
    "Forward": (("image", "filter"), "output"),
    "BackwardInput": (("output", "filter"), "image"),
    "BackwardFilter": (("image", "output"), "filter"),
}
"""What each is given, and what it makes."""

LIBRARIES: dict[str, Recipe] = {
    "library product": Recipe((*_FLOATS, TYPES["c64"], TYPES["c128"]), _product),
    "library product of bytes": Recipe((TYPES["s8"],), _byte_product),
    "library product of 8 bits": Recipe(_NARROW, _narrow_product),
    "library convolution": Recipe(_FLOATS, _convolution),
    "library convolution of sizes": Recipe(
        _FLOATS, lambda scope, _, element_type: sized_convolutions.convolved(scope, element_type)
    ),
    "library solution": Recipe(tuple(TYPES[name] for name in ("f32", "f64", "c64", "c128")), _solution),
}
"""Calls by what they do."""
