"""Softmax and its losses, biases, and gradients of activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from compiler.expansion.expression import Expression, iota
from compiler.expansion.matrices import conjugate
from compiler.ir.types import BF16, F16, F32
from compiler.tf2xla.broadcasting import together
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.unary import SELU, SELU_ALPHA
from compiler.tf2xla.record import Record, record, table
from compiler.tf2xla.reducing import greatest, total

Formula = Callable[[Expression, Expression], Expression]


def _shifted(x: Expression) -> Expression:
    """Less the greatest of each row, so that no exponential overflows."""
    last = len(x.dims) - 1
    return x - _along(greatest(x, (last,)), x)


def _along(rows: Expression, like: Expression) -> Expression:
    """One number for each row, spread along it."""
    return rows.spread(like.dims, range(len(like.dims) - 1))


def _sum_of_rows(x: Expression) -> Expression:
    return total(x, (len(x.dims) - 1,))


def _softmax(operation: Operation) -> Expression:
    x = operation["logits"]
    operation.require(x.dims, "it takes rows, not a scalar")
    grown = _shifted(x).apply("exponential")
    wide = grown.to(F32) if x.type in (BF16, F16) else grown
    return (wide / _along(_sum_of_rows(wide), wide)).to(x.type)


def _log_softmax(operation: Operation) -> Expression:
    x = operation["logits"]
    operation.require(x.dims, "it takes rows, not a scalar")
    return _log_of_softmax(x).logarithm


class _LogOfSoftmax(NamedTuple):
    """The logarithm of softmax, and what it is made of: exponentials, and their sum for each row."""

    logarithm: Expression
    exponentials: Expression
    sums: Expression

    @property
    def softmax(self) -> Expression:
        """Softmax itself."""
        return self.exponentials / _along(self.sums, self.exponentials)


def _log_of_softmax(x: Expression) -> _LogOfSoftmax:
    shifted = _shifted(x)
    grown = shifted.apply("exponential")
    sums = _sum_of_rows(grown)
    return _LogOfSoftmax(shifted - _along(sums.apply("log"), x), grown, sums)


def _cross_entropy(operation: Operation) -> list[Expression]:
    """For each row the sum of -label log(softmax), and softmax - label, which is its gradient."""
    logits, labels = together(operation, operation["features"], operation["labels"])
    operation.require(len(logits.dims) == 2, lambda: f"it takes rows of a matrix, not the sizes {list(logits.dims)}")
    found = _log_of_softmax(logits)
    # A label of 0 counts nothing, be its logarithm infinite.
    terms = labels.compare("EQ", 0).where(labels.literal(0).spread(labels.dims, ()), -labels * found.logarithm)
    return [_sum_of_rows(terms), found.softmax - labels]


def _sparse_cross_entropy(operation: Operation) -> list[Expression]:
    """The same with the number of the one label that is 1; NaN for a number that is none."""
    logits, labels = operation["features"], operation["labels"]
    operation.require(len(logits.dims) == 2, lambda: f"it takes rows of a matrix, not the sizes {list(logits.dims)}")
    fits = labels.dims == logits.dims[:1]
    operation.require(fits, lambda: f"{list(labels.dims)} are not the labels of {list(logits.dims)}")
    positions = iota(operation.computation, labels.type, logits.dims, 1)
    numbers = _along(labels, logits)
    hot = numbers.compare("EQ", positions).where(logits.literal(1), logits.literal(0).spread(logits.dims, ()))
    inside = labels.compare("GE", 0) & labels.compare("LT", logits.dims[1])
    hot = hot + _along(inside.where(logits.literal(0).spread(labels.dims, ()), logits.literal(float("nan"))), logits)
    found = _log_of_softmax(logits)
    terms = hot.compare("EQ", 0).where(hot.literal(0).spread(hot.dims, ()), -hot * found.logarithm)
    return [_sum_of_rows(terms), found.softmax - hot]


def _channel(operation: Operation, rank: int) -> int:
    layout = operation.attribute("data_format")
    operation.require(layout in (b"NHWC", b"NCHW"), f"its data_format must be NHWC or NCHW, not {layout!r}")
    return 1 if layout == b"NCHW" else rank - 1


def _bias_add(operation: Operation) -> Expression:
    value, bias = operation["value"], operation["bias"]
    rank = len(value.dims)
    operation.require(rank >= 2, lambda: f"it adds to channels, of which the sizes {list(value.dims)} have none")
    return _biased(operation, value, bias, _channel(operation, rank))


def _bias_add_v1(operation: Operation) -> Expression:
    value = operation["value"]
    operation.require(len(value.dims) >= 2, "it adds to channels, of which there are none")
    return _biased(operation, value, operation["bias"], len(value.dims) - 1)


def _biased(operation: Operation, value: Expression, bias: Expression, channel: int) -> Expression:
    fits = bias.dims == (value.dims[channel],)
    operation.require(fits, lambda: f"{list(bias.dims)} are not the biases of {value.dims[channel]} channels")
    return value + bias.spread(value.dims, [channel])


def _bias_add_gradient(operation: Operation) -> Expression:
    gradient = operation["out_backprop"]
    rank = len(gradient.dims)
    operation.require(rank >= 2, "it sums over all but the channels, of which there are none")
    channel = _channel(operation, rank)
    return total(gradient, tuple(axis for axis in range(rank) if axis != channel))


def _l2_loss(operation: Operation) -> Expression:
    x = operation["t"]
    return total(x * x / 2, tuple(range(len(x.dims))))


def _gradient(name: str, ports: str, types: str, formula: Formula, doc: str) -> Record:
    first, second, result = ports.split()

    def lower(operation: Operation) -> Expression:
        one, other = operation[first], operation[second]
        operation.require(one.dims == other.dims, lambda: f"{list(one.dims)} and {list(other.dims)} differ")
        return formula(one, other)

    return record(name, f"{first}: T, {second}: T -> {result}: T; T: {{{types}}}", lower, doc)


def _zero(x: Expression) -> Expression:
    return x.literal(0).spread(x.dims, ())


def _relu_gradient(gradient: Expression, x: Expression) -> Expression:
    return x.compare("GT", 0).where(gradient, _zero(x))


def _relu6_gradient(gradient: Expression, x: Expression) -> Expression:
    return (x.compare("GT", 0) & x.compare("LT", 6)).where(gradient, _zero(x))


def _sigmoid_gradient(y: Expression, gradient: Expression) -> Expression:
    return gradient * y * (-y + 1)


def _tanh_gradient(y: Expression, gradient: Expression) -> Expression:
    return gradient * (-(y * y) + 1)


def _sqrt_gradient(y: Expression, gradient: Expression) -> Expression:
    return gradient * 0.5 / conjugate(y)


def _rsqrt_gradient(y: Expression, gradient: Expression) -> Expression:
    y = conjugate(y)
    return (gradient * y * -0.5) * (y * y)


def _selu_gradient(gradient: Expression, y: Expression) -> Expression:
    return y.compare("LT", 0).where(gradient * (y + SELU_ALPHA), gradient * SELU)


def _softsign_gradient(gradient: Expression, x: Expression) -> Expression:
    below = x.apply("abs") + 1
    return gradient / (below * below)


def _leaky_gradient(operation: Operation) -> Expression:
    gradient, x = operation["gradients"], operation["features"]
    operation.require(gradient.dims == x.dims, lambda: f"{list(gradient.dims)} and {list(x.dims)} differ")
    return x.compare("GT", 0).where(gradient, gradient * operation.attribute("alpha"))


def _reciprocal_gradient(y: Expression, gradient: Expression) -> Expression:
    y = conjugate(y)
    return -gradient * (y * y)


def _softplus_gradient(gradient: Expression, x: Expression) -> Expression:
    return gradient * x.apply("logistic")


def _elu_gradient(gradient: Expression, y: Expression) -> Expression:
    return y.compare("LT", 0).where(gradient * (y + 1), gradient)


_OUTPUT, _INPUT = "y dy z", "gradients features backprops"
_FLOATS = "floats"
_ENTROPY = "loss: T, backprop: T; T: {floats}"
RECORDS = table(
    record("Softmax", "logits: T -> softmax: T; T: {floats}", _softmax, "e^x over the sum of e^x along the last axis."),
    record("LogSoftmax", "logits: T -> logsoftmax: T; T: {floats}", _log_softmax, "The logarithm of softmax."),
    record(
        "SoftmaxCrossEntropyWithLogits",
        f"features: T, labels: T -> {_ENTROPY}",
        _cross_entropy,
        "The cross entropy of rows with labels, and its gradient.",
    ),
    record(
        "SparseSoftmaxCrossEntropyWithLogits",
        f"features: T, labels: Tlabels -> {_ENTROPY}; Tlabels: {{index}} = int64",
        _sparse_cross_entropy,
        "The cross entropy of rows with numbers of labels, and its gradient.",
    ),
    record(
        "BiasAdd",
        "value: T, bias: T -> output: T; T: {numbers}; data_format: string = 'NHWC'",
        _bias_add,
        "One number more for each channel.",
    ),
    record(
        "BiasAddV1", "value: T, bias: T -> output: T; T: {numbers}", _bias_add_v1, "The same, under its older name."
    ),
    record(
        "BiasAddGrad",
        "out_backprop: T -> output: T; T: {numbers}; data_format: string = 'NHWC'",
        _bias_add_gradient,
        "The sum over all but the channels.",
    ),
    record("L2Loss", "t: T -> output: T; T: {floats}", _l2_loss, "Half the sum of squares."),
    _gradient("ReluGrad", _INPUT, "reals", _relu_gradient, "The gradient of Relu."),
    _gradient("Relu6Grad", _INPUT, "reals", _relu6_gradient, "The gradient of Relu6."),
    _gradient("SoftplusGrad", _INPUT, _FLOATS, _softplus_gradient, "The gradient of Softplus."),
    _gradient("EluGrad", "gradients outputs backprops", _FLOATS, _elu_gradient, "The gradient of Elu, by its result."),
    _gradient(
        "SeluGrad", "gradients outputs backprops", _FLOATS, _selu_gradient, "The gradient of Selu, by its result."
    ),
    _gradient("SoftsignGrad", _INPUT, _FLOATS, _softsign_gradient, "The gradient of Softsign."),
    record(
        "LeakyReluGrad",
        "gradients: T, features: T -> backprops: T; alpha: float = 0.2; T: {floats} = float32",
        _leaky_gradient,
        "The gradient of LeakyRelu.",
    ),
    _gradient("RsqrtGrad", _OUTPUT, "floats complexes", _rsqrt_gradient, "The gradient of Rsqrt, by its result."),
    _gradient("InvGrad", _OUTPUT, "floats complexes", _reciprocal_gradient, "The gradient of Inv, by its result."),
    _gradient("SigmoidGrad", _OUTPUT, "floats complexes", _sigmoid_gradient, "The gradient of Sigmoid, by its result."),
    _gradient("TanhGrad", _OUTPUT, "floats complexes", _tanh_gradient, "The gradient of Tanh, by its result."),
    _gradient("SqrtGrad", _OUTPUT, "floats complexes", _sqrt_gradient, "The gradient of Sqrt, by its result."),
    _gradient(
        "ReciprocalGrad",
        _OUTPUT,
        "floats complexes",
        _reciprocal_gradient,
        "The gradient of Reciprocal, by its result.",
    ),
)
