"""What calls of cuBLAS, cuDNN and TensorFlow's bridge mean, said a second time: in NumPy, in f64, by their definitions.

Back ends and the reference run what one pass writes such a call out as, so nothing that it gets wrong shows in any
comparison of theirs.  Here products are sums over named dimensions; a convolution and both of its gradients are sums
over one list of which element of the image meets which of the filter for which of the output; and a solution is what
solves its system.

How far the reference may be off follows from the same sums over sizes: each term is rounded a few times in the type
that a call is summed in, and the result once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import compiler
from xlabench.judging.sized_convolutions import TARGETS as SIZED_CALLS
from xlabench.judging.sized_convolutions import SizedCall
from xlabench.judging.tolerance import Array, finfo, is_inexact, real_dtype

Instruction = Any  # the compiler's; the harness sees its data by attribute only

_ROUNDINGS, _FEW = 4.0, 16
"""Roundings of each term of a sum, and how many terms all that is done besides counts for."""
_HEADROOM = 64.0
"""Of the largest number of a type, below which nothing has overflown on the way."""
_STEEPEST = 1.25
"""How much steeper than its argument an activation is at most: gelu, at 1.13."""
_CUBIC = 0.044715
"""The cubic term of gelu by tanh (Hendrycks and Gimpel, arXiv:1606.08415)."""
_CEILING = 6.0
"""Where relu6 ends."""
_TINY, _DOUBLE = 1, 8
"""Bytes of the types that results are clamped to, and of those that are summed in themselves."""
_OLDER = 4
"""Scales of a product of floats of 8 bits in older versions of XLA, the last of which is the result's."""
_SIDE = 3
"""The operand of a convolution with a bias that is added too."""


class LibraryError(Exception):
    """The reference does not do what a call says."""


class Bounded(NamedTuple):
    """Numbers, the sums of the sizes of what they are made of, and of how many terms."""

    value: Array
    size: Array
    terms: int

    def scaled(self, factor: Any) -> Bounded:
        """The same times a factor."""
        return Bounded(self.value * factor, self.size * np.abs(factor), self.terms)

    def plus(self, other: Array) -> Bounded:
        """The same and other numbers."""
        return Bounded(self.value + other, self.size + np.abs(other), self.terms)

    def through(self, function: Callable[[Array], Array]) -> Bounded:
        """What an activation makes of it."""
        return Bounded(function(self.value), _STEEPEST * self.size, self.terms)


@dataclass(frozen=True, slots=True)
class Call:
    """A call with what it was given, in f64 or c128, and what the reference gave."""

    instruction: Instruction
    operands: Sequence[Array]
    config: Mapping[str, Any]
    results: Sequence[Array]

    @property
    def target(self) -> str:
        """What is called."""
        return str(self.instruction.attributes["custom_call_target"])

    def number(self, name: str, default: float) -> float:
        """A number of its configuration."""
        return float(self.config.get(name, default))


def _config(call: Instruction) -> Mapping[str, Any]:
    """The configuration, which newer versions of XLA wrap."""
    whole: Mapping[str, Any] = json.loads(str(call.attributes.get("backend_config", "")) or "{}")
    inner = [own for name, own in whole.items() if name.endswith("_backend_config") and isinstance(own, dict)]
    return inner[0] if inner else whole


def _gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + _CUBIC * x**3))))


def _logistic(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _relu(x: Array) -> Array:
    return np.maximum(x, 0)


def _product(call: Call) -> tuple[Bounded, list[Array]]:
    """`lhs * rhs`, and the operands that are left."""
    lhs, rhs, *rest = call.operands
    numbers = {name: [int(d) for d in dims] for name, dims in call.config["dot_dimension_numbers"].items()}
    batch, depth = (_pairs(numbers, kind) for kind in ("batch", "contracting"))
    left, right = list(range(lhs.ndim)), list(range(lhs.ndim, lhs.ndim + rhs.ndim))
    for one, other in (*batch, *depth):
        right[other] = left[one]
    summed, first = {left[one] for one, _ in depth}, [left[one] for one, _ in batch]
    kept = first + [name for name in (*left, *right) if name not in {*summed, *first}]
    value, size = (np.einsum(a, left, b, right, kept) for a, b in ((lhs, rhs), (np.abs(lhs), np.abs(rhs))))
    return Bounded(value, size, math.prod(lhs.shape[one] for one, _ in depth)), rest


def _pairs(numbers: Mapping[str, list[int]], kind: str) -> list[tuple[int, int]]:
    """Dimensions of both factors that go together."""
    one, other = (numbers.get(f"{side}_{kind}_dimensions", []) for side in ("lhs", "rhs"))
    return list(zip(one, other, strict=True))


def _gemm(call: Call) -> Iterator[Bounded]:
    value, rest = _product(call)
    yield from _epilogue(call, _added(call, value, rest), rest)


def _added(call: Call, value: Bounded, rest: list[Array]) -> Bounded:
    """`alpha * value + beta * c`; takes c from what is left."""
    alpha, beta = complex(call.number("alpha_real", 1), call.number("alpha_imag", 0)), call.number("beta", 0)
    value = value.scaled(alpha if alpha.imag else alpha.real)
    return value.plus(beta * rest.pop(0)) if beta else value


def _epilogue(call: Call, value: Bounded, rest: list[Array], scale: float = 1.0) -> Iterator[Bounded]:
    given = call.config.get("epilogue", "DEFAULT")
    name = _EPILOGUES[given] if isinstance(given, int) else str(given)
    before = value = value.plus(rest.pop(0)) if "BIAS" in name else value
    for kind, function in _FUSED.items():
        value = value.through(function) if kind in name else value
    yield value.scaled(scale)
    if name.endswith("AUX"):
        yield before
    if call.config.get("damax_output") in (True, "true"):
        yield Bounded(np.max(np.abs(value.value), initial=0), np.max(value.size, initial=0), value.terms)


def _scaled(call: Call) -> Iterator[Bounded]:
    """Of floats of 8 bits: behind what is added stand the factors' scales; the result's is the last, or the fourth."""
    value, rest = _product(call)
    added = [rest.pop(0)] if call.number("beta", 0) else []
    scales = []
    while rest and not rest[0].ndim:
        scales.append(float(rest.pop(0)))
    is_behind = bool(rest) and not rest[-1].ndim
    last = scales[_OLDER - 1] if len(scales) == _OLDER else float(rest.pop()) if is_behind else scales[-1]
    value = _added(call, value.scaled(scales[0] * scales[1]), added)
    yield from _epilogue(call, value, rest, last if call.results[0].itemsize == _TINY else 1.0)


class _Meeting(NamedTuple):
    """An index into a filter, and for each of the output that of the image's element which meets it, if any does."""

    at: tuple[int, ...]
    indices: tuple[Array, ...]
    inside: Array


class _Piece(NamedTuple):
    """A dimension of a window that is written nowhere."""

    size: int = 1
    stride: int = 1
    pad_low: int = 0
    lhs_dilate: int = 1
    rhs_dilate: int = 1
    reversal: bool = False


def _meetings(window: Sequence[Any], image: Sequence[int], output: Sequence[int]) -> Iterator[_Meeting]:
    """All that meets in a convolution, in its spatial dimensions."""
    grid = np.indices(tuple(output))
    for at in np.ndindex(*(piece.size for piece in window)):
        indices, inside = list[Array](), np.ones(tuple(output), np.bool_)
        for axis, (piece, offset) in enumerate(zip(window, at, strict=True)):
            turned = piece.size - 1 - offset if piece.reversal else offset
            index, between = np.divmod(
                grid[axis] * piece.stride + turned * piece.rhs_dilate - piece.pad_low, piece.lhs_dilate
            )
            inside &= (between == 0) & (index >= 0) & (index < image[axis])
            indices.append(index)
        yield _Meeting(at, tuple(np.where(inside, index, 0) for index in indices), inside)


@dataclass(frozen=True, slots=True)
class _Convolution:
    """A convolution, of which one array of three is wanted: image, filter and output."""

    call: Call
    wanted: str
    window: Sequence[Any] | None = None

    def order(self, role: str) -> list[int]:
        """Where the dimensions of an array lie: batch or output feature, feature, space."""
        numbers = self.call.instruction.attributes["dim_labels"]
        return {
            "image": [numbers.input_batch, numbers.input_feature, *numbers.input_spatial],
            "filter": [numbers.kernel_output_feature, numbers.kernel_input_feature, *numbers.kernel_spatial],
            "output": [numbers.output_batch, numbers.output_feature, *numbers.output_spatial],
        }[role]

    def bounded(self, roles: Sequence[str]) -> Bounded:
        """What is wanted, of operands that have these roles."""
        given = {
            role: np.transpose(array, self.order(role)) for role, array in zip(roles, self.call.operands, strict=False)
        }
        sizes = {role: np.abs(array) for role, array in given.items()}
        return Bounded(self.sums(given), self.sums(sizes), max(array.size for array in given.values()))

    def sums(self, given: Mapping[str, Array]) -> Array:
        """What each element of the array that is wanted is summed up to from those of the two others."""
        attributes, order = self.call.instruction.attributes, self.order(self.wanted)
        of_batch = attributes.get("batch_group_count", 1)
        groups, axis_of_image = attributes.get("feature_group_count", 1) * of_batch, int(of_batch == 1)
        made = np.zeros([self.call.results[0].shape[d] for d in order], np.result_type(*given.values()))
        image, weights, output = ({**given, self.wanted: made}[role] for role in ("image", "filter", "output"))
        window = self.window or attributes.get("window") or [_Piece()] * (image.ndim - 2)
        for meeting in _meetings(window, image.shape[2:], output.shape[2:]) if image.size else ():
            pieces = zip(
                *(np.split(array, groups, axis) for array, axis in ((image, axis_of_image), (weights, 0), (output, 1))),
                strict=True,
            )
            for of_image, of_filter, of_output in pieces:
                self._add(meeting, of_image, of_filter[(slice(None), slice(None), *meeting.at)], of_output)
        return np.transpose(made, np.argsort(order))

    def _add(self, meeting: _Meeting, image: Array, weights: Array, output: Array) -> None:
        """Add to the one that is wanted, of a group, what the two others give where they meet."""
        at: Any = (slice(None), slice(None), *meeting.indices)
        if self.wanted == "output":
            output += np.einsum("bi...,oi->bo...", image[at] * meeting.inside, weights)
        elif self.wanted == "filter":
            meets = image[at] * meeting.inside
            weights += np.einsum(
                "bip,bop->oi", meets.reshape(*meets.shape[:2], -1), output.reshape(*output.shape[:2], -1)
            )
        else:
            np.add.at(image, at, np.einsum("bo...,oi->bi...", output * meeting.inside, weights))


def _convolved(roles: Sequence[str], wanted: str, call: Call) -> Iterator[Bounded]:
    yield _Convolution(call, wanted).bounded(roles).scaled(call.number("conv_result_scale", 1))


def _biased(call: Call) -> Iterator[Bounded]:
    (value,) = _convolved(("image", "filter"), "output", call)
    scale, feature = call.number("side_input_scale", 0), call.instruction.attributes["dim_labels"].output_feature
    value = value.plus(scale * call.operands[_SIDE]) if len(call.operands) > _SIDE and scale else value
    value = value.plus(np.expand_dims(call.operands[2], [d for d in range(value.value.ndim) if d != feature]))
    given, slope = str(call.config.get("activation_mode", "kNone")), call.number("leakyrelu_alpha", 0)
    name = _ACTIVATIONS[int(given)] if given.isdecimal() else given
    known = _ACTIVATED | {"kLeakyRelu": lambda x: np.where(x > 0, x, slope * x)}
    yield value.through(known[name])


def _sized(roles: Sequence[str], wanted: str, call: Call) -> Iterator[Bounded]:
    """A convolution over sizes known at run time, which the result has to have as well."""
    *sizes, lhs, rhs = call.operands
    one = SizedCall(call.instruction, lhs.shape, rhs.shape, *[tuple(map(int, given)) for given in sizes])
    spatial = call.instruction.attributes["dim_labels"].output_spatial
    for d, extent in zip(spatial, one.extents(), strict=True):
        if extent is not None and extent != call.results[0].shape[d]:
            raise LibraryError(
                f"dimension {d} of {call.instruction.name} has size {call.results[0].shape[d]} and not {extent}, as "
                f"{call.target} means"
            )
    yield _Convolution(replace(call, operands=[lhs, rhs]), wanted, one.window()).bounded(roles)


def check(module: Any, inputs: Sequence[Array]) -> int:
    """Hold what the reference makes of a program's calls to what they mean; gives how many there were.

    Raises:
        LibraryError: it is something else.
    """
    calls = [one for one in module.instructions() if _is_known(one)]
    if not calls:
        return 0
    values: dict[tuple[str, str], Any] = {}
    compiler.interpret(module, *inputs, trace=lambda one, value: values.update({_name(one): value}))
    ran = [call for call in calls if _name(call) in values]
    for call in ran:
        made = values[_name(call)]
        results = [np.asarray(one) for one in (made if isinstance(made, tuple) else (made,))]
        given = [_wide(values[_name(operand)]) for operand in call.operands]
        with np.errstate(all="ignore"):
            _check(Call(call, given, _config(call), results))
    return len(ran)


def _is_known(instruction: Instruction) -> bool:
    return instruction.opcode == "custom-call" and instruction.attributes["custom_call_target"] in TARGETS


def _name(instruction: Instruction) -> tuple[str, str]:
    """What a value is found by in the program that stands for its module."""
    return instruction.computation.name, instruction.name


def _wide(array: Array) -> Array:
    array = np.asarray(array)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _check(call: Call) -> None:
    """Of operands that are no numbers nothing is said: whether they meet the zeros of padding is left to products."""
    if not all(np.isfinite(operand).all() for operand in call.operands):
        return
    if call.target not in _MEANINGS:
        _check_solution(call)
        return
    for result, found in zip(call.results, _MEANINGS[call.target](call), strict=False):
        (_compare if is_inexact(result.dtype) else _compare_integers)(call, result, found)


def _compare_integers(call: Call, result: Array, found: Bounded) -> None:
    """Sums of integers are exact; what is computed in floats is cut off."""
    info = np.iinfo(result.dtype)
    is_cut = any(is_inexact(operand.array.element_type.dtype) for operand in call.instruction.operands)
    is_known = np.isfinite(found.size) & ((result.itemsize == _TINY) | (found.size < info.max))
    allowed = np.asarray(1.0 if is_cut or result.itemsize == _TINY else 0.0)
    _settle(call, result, np.clip(found.value, info.min, info.max), allowed, is_known)


def _compare(call: Call, result: Array, found: Bounded) -> None:
    """Numbers are held to what they mean where neither they nor what they are made of leaves the range of the type."""
    info = finfo(real_dtype(result.dtype))
    is_double, is_tiny = real_dtype(result.dtype).itemsize == _DOUBLE, result.itemsize == _TINY
    within = np.finfo(np.float64 if is_double else np.float32)
    allowed = _ROUNDINGS * (found.terms + _FEW) * float(within.eps) * found.size
    allowed = allowed + float(info.eps) * np.abs(found.value) + float(info.smallest_subnormal)
    value = np.clip(found.value, float(info.min), float(info.max)) if is_tiny else found.value
    _settle(call, result, value, allowed, found.size * _HEADROOM < float((within if is_tiny else info).max))


def _settle(call: Call, result: Array, value: Array, allowed: Array, is_known: Array) -> None:
    off = is_known & ~(np.abs(_wide(result) - value) <= allowed)
    if off.any():
        name = call.instruction.name
        raise LibraryError(f"{int(off.sum())} of {result.size} elements of {name} are not what {call.target} means")


def _check_solution(call: Call) -> None:
    """The product of the triangle and the solution is the right side."""
    (matrix, right), config = call.operands, {"transpose_a": "NO_TRANSPOSE", **call.config}
    triangle = np.tril(matrix) if config.get("lower") else np.triu(matrix)
    if config.get("unit_diagonal"):
        triangle = np.where(np.eye(matrix.shape[-1], dtype=np.bool_), 1.0, triangle)
    triangle = triangle if config["transpose_a"] == "NO_TRANSPOSE" else np.swapaxes(triangle, -1, -2)
    triangle = np.conj(triangle) if config["transpose_a"] == "ADJOINT" else triangle
    solution = _wide(call.results[0])
    pairs = [(triangle, solution), (np.abs(triangle), np.abs(solution))]
    product, size = (a @ x if config.get("left_side") else x @ a for a, x in pairs)
    info, size = finfo(real_dtype(call.results[0].dtype)), size + np.abs(right)
    allowed = _ROUNDINGS * (matrix.shape[-1] + _FEW) * float(info.eps) * size + float(info.tiny)
    is_known = np.isfinite(solution).all() & (size * _HEADROOM < float(info.max))
    _settle(call, call.results[0], solution - (product - right), allowed, is_known)


_FUSED: Mapping[str, Callable[[Array], Array]] = {"RELU": _relu, "GELU": _gelu, "SILU": lambda x: x * _logistic(x)}
_EPILOGUES = ("DEFAULT", "BIAS", "RELU", "BIAS_RELU", "GELU", "GELU_AUX", "BIAS_GELU", "BIAS_GELU_AUX")
_ACTIVATIONS = ("kNone", "kSigmoid", "kRelu", "kRelu6", "kReluX", "kTanh", "kBandPass", "kElu", "kLeakyRelu")
_ACTIVATED: dict[str, Callable[[Array], Array]] = {
    "kNone": lambda x: x,
    "kSigmoid": _logistic,
    "kRelu": _relu,
    "kRelu6": lambda x: np.clip(x, 0, _CEILING),
    "kTanh": np.tanh,
    "kElu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
}
_MEANINGS: Mapping[str, Callable[[Call], Iterator[Bounded]]] = {
    "__cublas$gemm": _gemm,
    "__cublas$lt$matmul": _gemm,
    "__cublas$lt$matmul$f8": _scaled,
    "__cudnn$convForward": partial(_convolved, ("image", "filter"), "output"),
    "__cudnn$convBiasActivationForward": _biased,
    "__cudnn$convBackwardInput": partial(_convolved, ("output", "filter"), "image"),
    "__cudnn$convBackwardFilter": partial(_convolved, ("image", "output"), "filter"),
    **dict.fromkeys(SIZED_CALLS, partial(_sized, ("image", "filter"), "output")),
}
"""What the results of a call are, but for scratch memory, by target."""
TARGETS = frozenset({*_MEANINGS, "__cublas$triangularSolve"})
"""The calls that are checked: all that the compiler writes out."""
