"""Several ops as one node: what TensorFlow's own rewriting of graphs leaves in those that it has optimized.

The first does what the op of that name does, on the same inputs and attributes, so its record lowers it; the others are
applied to its result one after the other, in the order in which the node lists them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from compiler.expansion.expression import Expression
from compiler.graph import Attribute, AttributeList
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops import convolution, normalization, products, unary
from compiler.tf2xla.record import Lower, record, table
from compiler.tf2xla.values import no_handle
from compiler.tf2xla.windows import layout_of

Formula = Callable[[Operation, Expression], Expression]


def _elu(_operation: Operation, x: Expression) -> Expression:
    return x.compare("GT", 0).where(x, x.apply("exponential-minus-one"))


def _leaky(operation: Operation, x: Expression) -> Expression:
    return x.compare("GT", 0).where(x, x * operation.attribute("leakyrelu_alpha"))


def _gelu(_operation: Operation, x: Expression) -> Expression:
    return x * 0.5 * ((x * math.sqrt(0.5)).apply("erf") + 1)


def _near_gelu(_operation: Operation, x: Expression) -> Expression:
    return x * 0.5 * (((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)).apply("tanh") + 1)


_ACTIVATIONS: Mapping[bytes, Formula] = {
    b"Identity": lambda _, x: x,
    b"Relu": lambda _, x: x.apply("maximum", 0),
    b"Relu6": lambda _, x: x.apply("maximum", 0).apply("minimum", 6),
    b"Elu": _elu,
    b"LeakyRelu": _leaky,
    b"Tanh": lambda _, x: x.apply("tanh"),
    b"Sigmoid": lambda _, x: x.apply("logistic"),
    b"GeluExact": _gelu,
    b"GeluApproximate": _near_gelu,
}


def _activated(operation: Operation, name: bytes, x: Expression) -> Expression:
    if name not in _ACTIVATIONS:
        known = ", ".join(one.decode() for one in _ACTIVATIONS)
        raise operation.unsupported(f"it fuses {name.decode(errors='replace')}, which is none of {known}")
    return _ACTIVATIONS[name](operation, x)


def _alone(lower: Lower, operation: Operation) -> Expression:
    """The one result of an op."""
    found = lower(operation)
    assert isinstance(found, Expression)
    return found


def _followed(first: Lower, channel_of: Callable[[Operation, Expression], int]) -> Lower:
    """The first op's result, with what the node says done to it."""

    def lower(operation: Operation) -> Expression:
        x = _alone(first, operation)
        kind = x.type
        operation.require(kind.is_float, lambda: f"of {kind} it is no sequence of ops")
        channel, given = channel_of(operation, x), iter(operation.list("args"))
        for name in operation.attribute("fused_ops"):
            if name == b"BiasAdd":
                x = x + _along(operation, x, channel, given)
            elif name == b"FusedBatchNorm":
                x = _normalised(operation, x, channel, given)
            elif name == b"Add":
                x = x + next(given)
            else:
                x = _activated(operation, name, x)
        return x

    return lower


def _along(operation: Operation, x: Expression, channel: int, given: Iterator[Expression]) -> Expression:
    """The next argument, of which there is one number for each channel."""
    one = next(given, None)
    if one is None:
        raise operation.invalid("it fuses more ops than it has arguments for")
    fits = one.dims == (x.dims[channel],)
    operation.require(fits, lambda: f"an argument must have one number for each of {x.dims[channel]} channels")
    return one.spread(x.dims, [channel])


def _normalised(operation: Operation, x: Expression, channel: int, given: Iterator[Expression]) -> Expression:
    scale, offset, mean, variance = (_along(operation, x, channel, given) for _ in range(4))
    epsilon: float = operation.attribute("epsilon")
    factor = (variance + epsilon).apply("rsqrt") * scale
    return (x - mean) * factor + offset


def _normalised_batches(operation: Operation) -> Sequence[Expression]:
    found = normalization.RECORDS["FusedBatchNormV3"].lower(operation)
    assert isinstance(found, Sequence)
    y, *rest = (no_handle(one, "a result") for one in found if not isinstance(one, Sequence))
    for one in operation.list("side_input"):
        y = y + one
    return [_activated(operation, operation.attribute("activation_mode"), y), *rest]


def _composed(operation: Operation) -> Expression:
    """Ops of one number, one after the other."""
    x = operation["x"]
    for name in (one.decode(errors="replace") for one in operation.attribute("op_names")):
        row = unary.RECORDS.get(name)
        if row is None or len(row.signature.attributes) > 1:
            raise operation.unsupported(f"it composes {name}, which is no op of one number")
        node = replace(operation.node, op=name, attributes={"T": operation.node.attributes["T"]})
        x = _alone(row.lower, Operation(node, row.signature, [x], operation.computation, operation.library))
    return x


def _convolved(operation: Operation) -> Expression:
    """A convolution of as many dimensions as its images have, whose leading dimensions are one batch."""
    x = operation["input"]
    batches = operation.attribute("batch_dims")
    rank = len(x.dims) - batches - 1
    operation.require(batches > 0 and rank in _PLANES, lambda: f"images of the sizes {list(x.dims)} are none it takes")
    op, last, first = _PLANES[rank]
    row = convolution.RECORDS[op]
    is_last = operation.attribute("data_format") == b"CHANNELS_LAST"
    stated: dict[str, Attribute] = {"data_format": last if is_last else first}
    for name in ("T", "strides", "padding", "dilations", "explicit_paddings"):
        value = operation.node.attributes.get(name)
        if value is not None and not (isinstance(value, AttributeList) and not value.values):
            stated[name] = value
    if rank == 3 and "explicit_paddings" in stated:
        raise operation.unsupported("no convolution of volumes has explicit paddings: pad its input before")
    whole = x.reshape(math.prod(x.dims[:batches]), *x.dims[batches:])
    node = replace(operation.node, op=op, attributes=stated)
    inner = Operation(node, row.signature, [whole, operation["filter"]], operation.computation, operation.library)
    y = _alone(row.lower, inner)
    return y.reshape(*x.dims[:batches], *y.dims[1:])


_PLANES = {2: ("Conv2D", b"NHWC", b"NCHW"), 3: ("Conv3D", b"NDHWC", b"NCDHW")}
_THEN = "fused_ops: list(string) = []; epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2"
RECORDS = table(
    record(
        "_UnaryOpsComposition",
        "x: T -> y: T; T: {float16 float32 float64}; op_names: list(string)",
        _composed,
        "Ops of one number, one after the other.",
    ),
    record(
        "_FusedConv2D",
        "input: T, filter: T, args: TArgs[], host_args: num_host_args*float32 -> output: T; "
        "T: {float16 float32 float64 int8}; TArgs: list(type); num_args: int; num_host_args: int = 0; "
        "strides: list(int); padding: string; explicit_paddings: list(int) = []; data_format: string = 'NHWC'; "
        "filter_format: string = 'HWIO'; dilations: list(int) = [1 1 1 1]; use_cudnn_on_gpu: bool = true; " + _THEN,
        _followed(convolution.RECORDS["Conv2D"].lower, lambda operation, x: layout_of(operation, x.dims).channel),
        "Images with filters, and what follows.",
    ),
    record(
        "_FusedMatMul",
        "a: T, b: T, args: num_args*T -> product: T; transpose_a: bool = false; transpose_b: bool = false; "
        "T: {bfloat16 float16 float32}; num_args: int; " + _THEN,
        _followed(products.RECORDS["MatMul"].lower, lambda _operation, _x: 1),
        "The product of two matrices, and what follows.",
    ),
    record(
        "_FusedBatchNormEx",
        "x: T, scale: U, offset: U, mean: U, variance: U, side_input: num_side_inputs*T -> y: T, batch_mean: U, "
        "batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U; T: {float16 float32 bfloat16}; "
        "U: {float32}; epsilon: float = 0.0001; exponential_avg_factor: float = 1; num_side_inputs: int = 0; "
        "activation_mode: string = 'Identity'; data_format: string = 'NHWC'; is_training: bool = true",
        _normalised_batches,
        "Normalised batches, and what follows.",
    ),
    record(
        "Conv",
        "input: T, filter: T -> output: T; T: {floats int32}; strides: list(int); padding: string; "
        "explicit_paddings: list(int) = []; data_format: string = 'CHANNELS_LAST'; dilations: list(int) = []; "
        "batch_dims: int = 1; groups: int = 1",
        _convolved,
        "Images or volumes with filters.",
    ),
)
