"""Where ops are differentiated: which, at which points, and with which gradients of their results."""

from dataclasses import replace

import numpy as np
import op_cases

from compiler.tf2xla import RECORDS
from compiler.tf2xla.record import no_gradient, through_functions

_POSITIVE = (
    "Log Log1p Sqrt Rsqrt Reciprocal Inv Lgamma Pow Xlogy Xlog1py SqrtGrad Digamma FloorMod RsqrtGrad Div RealDiv "
    "DivNoNan Xdivy Atan2 Angle ComplexAbs ReciprocalGrad Ndtri Igamma Igammac Betainc Polygamma Zeta RGBToHSV "
    "BesselY0 BesselY1 BesselK0 BesselK1 BesselK0e BesselK1e Expint Spence"
)
RANGES = dict.fromkeys(_POSITIVE.split(), (0.2, 0.9)) | {"Acosh": (1.1, 1.9)}
ONE_RESULT = {"SoftmaxCrossEntropyWithLogits", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"}
"""Ops of which one result is differentiated: others are constant to TensorFlow, and inputs that these come from."""
GRID = 64
"""Numbers of f32 are multiples of its inverse, so that all that is done to them before the program is exact."""
_DIFFERENTIATED_INPUTS = {
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), slice(3)),
    **dict.fromkeys(("PadV2", "MatrixDiagV2", "MatrixDiagV3", "MatrixDiagPartV2", "MatrixDiagPartV3"), slice(1)),
    **dict.fromkeys(("Polygamma", "Zeta"), slice(1, 2)),
    "Betainc": slice(2, 3),
}
"""Ops of which other inputs are constant to TensorFlow: those that have gradients."""
_NO_DIFFERENCES = (
    *("FakeQuantWithMinMax", "QuantizeAndDequantize", "NextAfter", "FusedBatchNormGrad"),
    *("ImageProjectiveTransform", "CropAndResize", "StatelessRandomGamma"),
)
WITHOUT_DIFFERENCES = {name for name in RECORDS if name.startswith(_NO_DIFFERENCES)}
"""Ops that round, whose gradients are those of what they are without it; one that is given what follows from x; one
whose gradient TensorFlow sees back through the inverse projection, which is no derivative; and one that moves boxes as
if elements between were taken, though the nearest are; and numbers that have the gradient of another way to draw."""
_DEPENDENT = ("MaxPoolGrad", "MaxPoolGradGrad", "MaxPoolGradV2", "MaxPool3DGrad", "MaxPool3DGradGrad")
"""Ops of which one input follows from another."""
_WITHOUT = ("PreventGradient", "XlaClusterOutput", "Merge", "RefIdentity", "RandomGamma")
DIFFERENTIATED = sorted(
    name
    for name, record in RECORDS.items()
    if record.gradient not in (None, no_gradient, through_functions)
    and name in op_cases.CASES_OF
    and name not in _WITHOUT
    and not name.startswith("TensorArray")  # what they take is no array
)
"""The ops that have a formula."""


def points(case, rng):
    """Numbers in place of those of a case, its indices and sizes as they are."""
    low, high = RANGES.get(case.op, (-0.9, 0.9))

    def drawn(array):
        values = rng.uniform(low, high, array.shape)
        if array.dtype == np.float32:
            return (np.round(values * GRID) / GRID).astype(np.float32)
        return values + 1j * rng.uniform(low, high, array.shape) if array.dtype.kind == "c" else values

    given = [drawn(one) if one.dtype.kind in "fc" and n not in case.known else one for n, one in enumerate(case.inputs)]
    moved = _MOVED.get(case.op)
    return given if moved is None else moved(case, *given)


def _normalised(_case, x, *others):
    return [x, *others[:3], np.abs(others[3]), *others[4:]]


def _positive_matrix(_case, x):
    """Of its two halves the gradient is that of equal ones."""
    whole = x @ np.swapaxes(x.conj(), -1, -2)
    return [whole + np.eye(whole.shape[-1])]


def _regular_triangle(case, x, right):
    half = np.tril(x) if case.attributes.get("lower", True) else np.triu(x)
    return [half + 3 * np.eye(half.shape[-1]), right]


def _labels(_case, logits, labels):
    """The formula is that of labels whose sum is 1."""
    return [logits, np.exp(labels) / np.exp(labels).sum(-1, keepdims=True)]


_MOVED = {
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), _normalised),
    **dict.fromkeys((f"FusedBatchNormGrad{one}" for one in ("", "V2", "V3")), _normalised),
    "Cholesky": _positive_matrix,
    "MatrixTriangularSolve": _regular_triangle,
    "Polygamma": lambda _, n, x: [np.abs(np.ceil(n * 3)), x],
    "Zeta": lambda _, x, q: [x + 2, q],
    "ClipByValue": lambda _, x, low, high: [x, low / 8 - 0.5, high / 8 + 0.5],
    "SoftmaxCrossEntropyWithLogits": _labels,
}
"""Points at which functions are smooth, made of others."""


def float_places(case):
    """The numbers of the inputs that are differentiated by."""
    found = [n for n, one in enumerate(case.inputs) if one.dtype.kind in "fc" and n not in case.known]
    return found[_DIFFERENTIATED_INPUTS.get(case.op, slice(None))]


def is_float(output):
    """Whether an output has a gradient."""
    kind = (output.holds or output.type).element_type
    return kind is not None and not kind.is_integer


def start(dims, dtype, number):
    """The gradient of a result."""
    return (np.round(np.random.default_rng(number + 1).normal(size=dims) * GRID) / GRID).astype(dtype)


def called(op):
    """A call in f32 at points where the op is smooth; None where there is none."""
    for case in op_cases.CASES_OF[op]:
        floats = {str(one.dtype) for one in case.inputs if one.dtype.kind in "fcV"}
        if floats == {"float32"} and not case.variables and op != "Cast":
            return case if op in _DEPENDENT else replace(case, inputs=points(case, np.random.default_rng(0)))
    return None
