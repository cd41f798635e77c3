"""Where ops are differentiated: which, at which points, and with which gradients of their results."""

from dataclasses import replace

import numpy as np
import op_cases

from compiler.tf2xla import RECORDS
from compiler.tf2xla.record import no_gradient, through_functions

_POSITIVE = (
    "Log Log1p Sqrt Rsqrt Reciprocal Inv Lgamma Pow Xlogy Xlog1py SqrtGrad Digamma FloorMod RsqrtGrad Div RealDiv "
    "DivNoNan Xdivy Atan2 Angle ComplexAbs ReciprocalGrad"
)
RANGES = dict.fromkeys(_POSITIVE.split(), (0.2, 0.9)) | {"Acosh": (1.1, 1.9)}
ONE_RESULT = {"SoftmaxCrossEntropyWithLogits", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"}
"""Ops of which one result is differentiated: others are constant to TensorFlow, and inputs that these come from."""
GRID = 64
"""Numbers of f32 are multiples of its inverse, so that all that is done to them before the program is exact."""
_DIFFERENTIATED_INPUTS = {"FusedBatchNorm": 3, "FusedBatchNormV2": 3, "FusedBatchNormV3": 3, "PadV2": 1}
_DIFFERENTIATED_INPUTS |= dict.fromkeys(("MatrixDiagV2", "MatrixDiagV3", "MatrixDiagPartV2", "MatrixDiagPartV3"), 1)
"""Ops of which other inputs are constant to TensorFlow: so many have gradients."""
_DEPENDENT = ("MaxPoolGrad", "MaxPoolGradGrad", "MaxPoolGradV2", "MaxPool3DGrad", "MaxPool3DGradGrad")
"""Ops of which one input follows from another."""
_WITHOUT = ("PreventGradient", "Merge")
DIFFERENTIATED = sorted(
    name
    for name, record in RECORDS.items()
    if record.gradient not in (None, no_gradient, through_functions)
    and name in op_cases.CASES_OF
    and name not in _WITHOUT
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
    if case.op.startswith("FusedBatchNorm"):
        return [*given[:4], np.abs(given[4])]
    if case.op == "Cholesky":  # positive; of its two halves the gradient is that of equal ones
        whole = given[0] @ np.swapaxes(given[0].conj(), -1, -2)
        return [whole + np.eye(whole.shape[-1])]
    if case.op == "MatrixTriangularSolve":
        half = np.tril(given[0]) if case.attributes.get("lower", True) else np.triu(given[0])
        return [half + 3 * np.eye(half.shape[-1]), given[1]]
    if case.op == "ClipByValue":
        return [given[0], given[1] / 8 - 0.5, given[2] / 8 + 0.5]
    if case.op == "SoftmaxCrossEntropyWithLogits":  # the formula is that of labels whose sum is 1
        return [given[0], np.exp(given[1]) / np.exp(given[1]).sum(-1, keepdims=True)]
    return given


def float_places(case):
    """The numbers of the inputs that are differentiated by."""
    found = [n for n, one in enumerate(case.inputs) if one.dtype.kind in "fc" and n not in case.known]
    return found[: _DIFFERENTIATED_INPUTS.get(case.op)]


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
