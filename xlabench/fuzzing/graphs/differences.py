"""Gradients of single ops held against differences: what is wrong in the same way however a graph is run shows here.

Op by op, in clusters and whole a graph has the same lowerings, so that of these alone no comparison tells whether they
are right.  But the derivative of an op is a formula of its own: where the lowering is another function than the formula
differentiates, or the formula is another derivative, the two disagree.  The points are random; where differences of two
lengths, or of both sides, do not agree, the op has no derivative there, or none that differences could find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import compiler
from compiler.tf import BY_NAME, RECORDS, lower, no_gradient
from xlabench.fuzzing.graphs import operands
from xlabench.fuzzing.graphs.drawing import EVERY_TYPE, PLAIN, REFUSED, Drawer, Fed, dims_of, dtype_of
from xlabench.fuzzing.graphs.operands import Array, Dims, Generator
from xlabench.survival import about
from xlabench.tensorflow.framework.graph import Graph
from xlabench.tensorflow.framework.indexed_slices import IndexedSlices
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.training.gradients import gradients

_KINDS = ("float64", "float32")
_HALVES: Mapping[str, str] = {"complex128": "float64", "complex64": "float32"}
_COMPLEX = 0.25
"""How often complex numbers are drawn where real ones could be."""
_LENGTHS: Mapping[str, float] = {"float64": 1e-5, "float32": 2.0**-11}
"""How far from a point differences are taken: for f32 so that what is added to a point on the grid is exact."""
_NEARLY: Mapping[str, float] = {"float64": 1e-5, "float32": 1e-3}
_GRID, _ROUGH = 1 << 17, 1 << 6
"""Numbers of f32 are multiples of the inverse of the first, few of them alike, and directions of that of the second."""
_RANGES = ((0.2, 0.9), (0.2, 0.9), (-0.9, 0.9), (1.1, 1.9))
_WITHIN: Mapping[str, tuple[float, float]] = {"RGBToHSV": _RANGES[0]}
"""Between which numbers ops are what their formulas differentiate: colours are not negative."""
_SMOOTH, _DOUBT, _TRIES = 1e-2, 16, 4
"""By how much differences of both sides may differ; how many times what those of two lengths differ by is no proof."""

_NOT_DERIVATIVES = (
    *("FakeQuant", "QuantizeAndDequantize", "NextAfter"),  # they round, and have the gradients of not rounding
    *("FusedBatchNorm", "MaxPoolGrad", "MaxPool3DGrad", "Cholesky"),  # one input follows from another, or is symmetric
    *("ImageProjectiveTransform", "CropAndResize", "MatrixTriangularSolve", "PreventGradient", "StopGradient"),
    "StatelessRandomGamma",  # whose gradient is that of another way to draw
    *("SoftmaxCrossEntropyWithLogits", "DynamicStitch", "ParallelDynamicStitch", "SelfAdjointEigV2", "Svd"),
    *("ClipByValue", "SparseToDense", "TensorScatterUpdate"),  # bounds in no order; one element is written twice
)
_REAL = frozenset(
    (
        *("Sign", "SquaredDifference", "Xdivy", "Xlogy", "Xlog1py", "TridiagonalSolve", "EuclideanNorm"),
        *("Cumprod", "SegmentProd", "UnsortedSegmentProd", "LogMatrixDeterminant"),
        "BatchNormWithGlobalNormalization",
    )
)
"""Ops whose gradients of complex numbers are no derivatives in TensorFlow."""
_OF_TWO_ROWS = frozenset(
    name for name, words in operands.SHAPES.items() if name.startswith(("Gather", "TensorScatter")) and words
)
"""Ops whose indices are of arrays with two rows or more."""
DIFFERENTIATED: tuple[str, ...] = tuple(
    name
    for name in PLAIN
    if RECORDS[name].gradient not in (None, no_gradient) and not name.startswith(_NOT_DERIVATIVES)
)
"""The ops whose formulas are derivatives at random points, as TensorFlow has them."""


class WrongDerivative(AssertionError):
    """The gradient of an op and differences of it disagree, or cannot be come by."""


def check(rng: Generator, op: str) -> bool:
    """Hold the gradient of an op against differences at some point; returns whether there was anything to hold.

    Args:
        rng: draws what the op takes, its attributes, the point and the direction.
        op: its name.

    Raises:
        WrongDerivative: they disagree.
    """
    kind = str(rng.choice(_KINDS))
    for _ in range(_TRIES):
        types = [kind] if op in _REAL else [kind, *(one for one, half in _HALVES.items() if half == kind)]
        drawn = _Point(Graph(), rng, types, (op,), Fed())
        made = drawn.attempt(op)
        if made:
            return _holds(drawn, kind, made, op)
    return False


class _Point(Drawer):
    """Draws one op on numbers that are all fed and taken once, so that each can be moved."""

    def of(self, allowed: Callable[[str], bool], dims: Dims | None = None) -> Tensor:
        kinds = [one for one in self.types if allowed(one)] or [one for one in EVERY_TYPE if allowed(one)]
        if not kinds:
            raise ValueError("no type that is drawn is allowed")
        kind = kinds[-1] if self.rng.random() < _COMPLEX else kinds[0]
        return self.source(kind, operands.some_dims(self.rng) if dims is None else dims)

    def source(self, kind: str, dims: Dims) -> Tensor:
        """A new array: fed, a complex one by its two halves; indices are within every array."""
        if kind in _HALVES:
            return self.create("Complex", [self.source(_HALVES[kind], dims) for _ in range(2)], Tout=BY_NAME[kind])[0]
        if kind not in _KINDS:
            most = 2 if kind == "bool" or self.ops[0] in _OF_TWO_ROWS else 1
            return self.constant(np.asarray(self.rng.integers(0, most, dims)).astype(dtype_of(kind)))
        made = self.create("Placeholder", [], dtype=BY_NAME[kind], shape=list(dims))[0]
        self.fed.shapes[made.op.name] = BY_NAME[kind], dims
        return made

    def halves(self, made: Sequence[Tensor]) -> list[Tensor]:
        """Results that are real, and the halves of those that are complex."""
        found = [one for one in made if one.dtype.base_dtype.name in _KINDS]
        for one in made:
            if one.dtype.base_dtype.name in _HALVES:
                kind = BY_NAME[_HALVES[one.dtype.base_dtype.name]]
                found += [self.create(op, [one], Tout=kind)[0] for op in ("Real", "Imag")]
        return found

    def dense(self, slope: Tensor | IndexedSlices | None, x: Tensor) -> Tensor | None:
        """A gradient as an array."""
        if not isinstance(slope, IndexedSlices):
            return slope
        rows = self.constant(np.array((dims_of(x) or (1,))[0], np.int32))
        return self.create("UnsortedSegmentSum", [slope.values, slope.indices, rows])[0]


def _holds(drawn: _Point, kind: str, made: Sequence[Tensor], op: str) -> bool:
    rng, graph = drawn.rng, drawn.graph
    ys = drawn.halves([one for one in made if dims_of(one) is not None])
    xs = [graph.get_tensor_by_name(f"{name}:0") for name in drawn.fed.shapes]
    xs = [one for one in xs if one.dtype.base_dtype.name == kind]
    if not ys or not xs:
        return False
    weights = [_numbers(rng, dims_of(one) or (), one.dtype.base_dtype.name, (-1, 1), _ROUGH) for one in ys]
    try:
        with graph.as_default():
            found = gradients(ys, xs, [drawn.constant(one) for one in weights])
            slopes = [drawn.dense(one, x) for one, x in zip(found, xs, strict=True)]
    except REFUSED:
        return False  # an output through which no gradient goes
    moved = [(x, slope) for x, slope in zip(xs, slopes, strict=True) if slope is not None]
    if not moved:
        return False
    span = _WITHIN.get(op, _RANGES[int(rng.integers(len(_RANGES)))])
    at = {f"{one.op.name}:0": _numbers(rng, dims_of(one) or (), kind, span) for one in xs}
    steps = [_numbers(rng, dims_of(one) or (), kind, (-1, 1), _ROUGH) for one, _ in moved]
    slope_of = _program(graph, at, [slope for _, slope in moved], kind)
    products = [
        (slope.astype(float) * step).ravel() for slope, step in zip(slope_of(at), steps, strict=True) if step.size
    ]
    if not products:
        return False
    names = [f"{one.op.name}:0" for one, _ in moved]
    value = _along(_program(graph, at, ys, kind), at, dict(zip(names, steps, strict=True)), weights)
    terms = np.concatenate(products)
    with np.errstate(invalid="ignore"):  # where a function is infinite, so may its derivative be, in both directions
        slope, size = float(terms.sum()), float(np.abs(terms).sum())
    return _agree(op, value, slope, size, kind)


def _program(graph: Any, at: Mapping[str, Array], fetches: Sequence[Tensor], kind: str) -> Callable[..., list[Array]]:
    """What gives the values of tensors at a point; those of a program of f32 as if it were one of f64."""
    lowered = lower(graph.definition, at, [one.output.text for one in fetches])

    def run(values: Mapping[str, Array]) -> list[Array]:
        given = [values[name] for name in lowered.inputs]
        if kind == "float64":
            return list(compiler.interpret(lowered.module, *given))
        return [one.value for one in compiler.interpret(lowered.module, *given, wide=True)]

    return run


def _along(
    run: Callable[..., list[Array]], at: Mapping[str, Array], steps: Mapping[str, Array], weights: Sequence[Array]
) -> Callable[[float], float]:
    """The weighed sum of results as a function of how far the point is moved."""

    def value(length: float) -> float:
        moved = {name: one + one.dtype.type(length) * steps[name] if name in steps else one for name, one in at.items()}
        pairs = zip(run(moved), weights, strict=True)
        return sum(float((result.astype(float) * weight).sum()) for result, weight in pairs)

    return value


def _agree(op: str, value: Callable[[float], float], slope: float, size: float, kind: str) -> bool:
    """Whether there is a derivative; an error where it is another than the slope.

    Args:
        op: what is differentiated.
        value: the function of the length of a step.
        slope: its derivative by the formula.
        size: the sum of the sizes of what the slope is the sum of.
        kind: the type.
    """
    length = _LENGTHS[kind]
    with np.errstate(all="ignore"):
        here, ahead, behind = value(0.0), value(length), value(-length)
        far = (value(2 * length) - value(-2 * length)) / (4 * length)
    right = (ahead - behind) / (2 * length)
    if not np.isfinite([here, ahead, behind, far]).all():
        return False
    least = _NEARLY[kind] * (1 + abs(right) + (size if np.isfinite(size) else 0) + abs(here))
    sides = abs((ahead - here) - (here - behind)) / length
    if sides > _SMOOTH * (abs(right) + 1) or abs(far - right) > _SMOOTH * (abs(right) + 1):
        return False
    if not abs(slope - right) <= least + _DOUBT * abs(far - right):
        said = f"of {kind} along some direction its gradient is {slope:.9g}, differences {right:.9g}"
        raise WrongDerivative(about(op, said))
    return True


def _numbers(rng: Generator, dims: Dims, kind: str, span: tuple[float, float], grid: int = _GRID) -> Array:
    values = rng.uniform(*span, dims)
    return np.asarray(np.round(values * grid) / grid if kind == "float32" else values).astype(dtype_of(kind))
