"""Every formula for gradients against differences, at points where functions are smooth, with sizes known and not."""

from dataclasses import replace

import numpy as np
import op_cases
import pytest

import compiler
from compiler.graph import BY_NAME, AttributeList, DataType, Tensor
from compiler.tf2xla import RECORDS, lower
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.differentiation import dense, gradients
from compiler.tf2xla.record import no_gradient

POSITIVE = {
    "Log",
    "Log1p",
    "Sqrt",
    "Rsqrt",
    "Reciprocal",
    "Inv",
    "Lgamma",
    "Pow",
    "Xlogy",
    "Xlog1py",
    "SqrtGrad",
    "Digamma",
}
POSITIVE |= {
    "FloorMod",
    "RsqrtGrad",
    "Div",
    "RealDiv",
    "DivNoNan",
    "Xdivy",
    "Atan2",
    "Angle",
    "ComplexAbs",
    "ReciprocalGrad",
}
RANGES = dict.fromkeys(POSITIVE, (0.2, 0.9)) | {"Acosh": (1.1, 1.9)}
ONE_RESULT = {"SoftmaxCrossEntropyWithLogits"}
"""Ops of which one result is differentiated: the gradient that they give as another is constant to TensorFlow."""
REAL = {"Sign"}
"""Ops whose gradients of complex numbers are no derivatives in TensorFlow, and so none here."""
APART = {
    "DynamicStitch/float32/2": "rows that others replace have gradients in TensorFlow, too",
    "ResourceGather/float32/3": "TensorFlow differentiates no batches of rows",
}
STEP = 1e-5
MOST = 5
"""Cases of each op and type."""


def points(case, rng):
    """Numbers in place of those of a case, its indices and sizes as they are."""
    low, high = RANGES.get(case.op, (-0.9, 0.9))

    def drawn(array):
        values = rng.uniform(low, high, array.shape)
        return values + 1j * rng.uniform(low, high, array.shape) if array.dtype.kind == "c" else values

    given = [drawn(one) if one.dtype.kind in "fc" and n not in case.known else one for n, one in enumerate(case.inputs)]
    if case.op == "ClipByValue":
        return [given[0], given[1] / 8 - 0.5, given[2] / 8 + 0.5]
    if case.op == "SoftmaxCrossEntropyWithLogits":  # the formula is that of labels whose sum is 1
        return [given[0], np.exp(given[1]) / np.exp(given[1]).sum(-1, keepdims=True)]
    return given


def built(case, *, is_static):
    """The call with shapes: all of them, or only their ranks."""
    builder = Builder()
    for number, array in enumerate(case.inputs):
        if number in case.known:
            builder.constant(array, op_cases.tensor_of(array).type, name=f"in{number}")
            continue
        kind = op_cases.tensor_of(array).type
        shape = array.shape if is_static else [None] * array.ndim
        if number in case.variables:
            builder.add("VarHandleOp", name=f"in{number}", dtype=kind, shape=array.shape, shared_name=f"in{number}")
        else:
            builder.add("Placeholder", name=f"in{number}", dtype=kind, shape=shape)
    ports, given = RECORDS[case.op].signature.inputs, [builder.output(f"in{n}") for n in range(len(case.inputs))]
    inputs = []
    for port in ports:
        count = 1 if port.is_one else case.attributes[port.number] if port.number else len(given)
        inputs.append(given[0] if port.is_one else given[:count])
        given = given[count:]
    stated = {key: value for key, value in case.attributes.items() if not isinstance(value, AttributeList | DataType)}
    stated |= {key: value for key, value in case.attributes.items() if isinstance(value, AttributeList)}
    kinds = {port.type for port in ports}
    stated |= {k: v for k, v in case.attributes.items() if isinstance(v, DataType) and k not in kinds}
    return builder, builder.add(case.op, *inputs, name="op", **stated)


def is_float(output):
    kind = (output.holds or output.type).element_type
    return kind is not None and not kind.is_integer


def dot(weights, values):
    """The sum of products; without bounds of the type, which segments of nothing are."""
    kept = [(one, np.where(np.abs(other) < HUGE, other, 0)) for one, other in zip(weights, values, strict=True)]
    return sum(float((one.conj() * other).real.sum()) for one, other in kept)


HUGE = 1e300


def check(case, *, is_static):
    rng = np.random.default_rng(len(case.name))
    builder, op = built(case, is_static=is_static)
    ys = [one for one in op.outputs if is_float(one)][: 1 if case.op in ONE_RESULT else None]
    places = [n for n, one in enumerate(case.inputs) if one.dtype.kind in "fc" and n not in case.known]
    xs = [builder.output(f"in{number}") for number in places]
    starts = [
        builder.add("Placeholder", name=f"g{n}", dtype=one.type, shape=one.shape).output for n, one in enumerate(ys)
    ]
    found = [dense(one) for one in gradients(builder, ys, xs, starts)]
    at = points(case, rng)
    fetches = [one.name for one in ys]
    feeds = {one.name: at[number] for number, one in zip(places, xs, strict=True) if number not in case.variables}
    feeds |= {f"in{n}": one for n, one in enumerate(at) if n not in places and n not in case.known}
    forward = lower(builder.graph, feeds, fetches)
    held = {f"in{number}": at[number] for number in case.variables}
    weights = [
        rng.normal(size=one.dims).astype(one.element_type.dtype) for one in forward.module.entry.root.shape.elements
    ]
    feeds |= {one.name: weight for one, weight in zip(starts, weights, strict=True)}
    backward = lower(builder.graph, feeds, [one.name for one in found if one is not None])
    given = [*(backward.values[name] for name in backward.inputs), *(held[name] for name in backward.reads)]
    computed = iter(compiler.interpret(backward.module, *given))
    for number, gradient in zip(places, found, strict=True):
        step = rng.normal(size=at[number].shape).astype(at[number].dtype)
        ends = []
        for sign in (1, -1):
            moved = {
                f"in{n}": one + (sign * STEP * step if n == number else 0) for n, one in enumerate(at) if n in places
            }
            values = {**feeds, **{f"{name}:0": value for name, value in moved.items()}}
            names = [*forward.inputs, *forward.reads]
            run = [values.get(name, moved.get(name)) for name in names]
            ends.append(dot(weights, compiler.interpret(forward.module, *run)))
        right = (ends[0] - ends[1]) / (2 * STEP)
        result = 0.0 if gradient is None else dot([next(computed)], [step])
        assert result == pytest.approx(right, rel=1e-6, abs=1e-7), f"{case.name}: input {number}"


DIFFERENTIATED = sorted(
    name
    for name, record in RECORDS.items()
    if record.gradient not in (None, no_gradient) and name in op_cases.CASES_OF and name != "PreventGradient"
)


def cases_of(op):
    found = {"float64": [], "complex128": []}
    for case in map(widened, op_cases.CASES_OF[op]):
        kinds = {str(one.dtype) for one in case.inputs if one.dtype.kind in "fc"}
        kinds |= {str(one.element_type.dtype) for one in case.attributes.values() if is_narrow(one)}
        if case.name not in APART and len(kinds) == 1 and (kind := kinds.pop()) in found:
            found[kind].append(case)
    found["float64"].sort(key=lambda case: case.name.split("/")[1] != "float64")
    return [*found["float64"][:MOST], *found["complex128"][: 0 if op in REAL else 2]]


WIDER = {BY_NAME["float32"]: BY_NAME["float64"], BY_NAME["complex64"]: BY_NAME["complex128"]}


def widened(case):
    """A call in f32 as one in f64: ops that take any type have none."""
    if {str(one.dtype) for one in case.inputs if one.dtype.kind in "fc"} != {"float32"} or case.op == "Cast":
        return case
    kinds = {k: WIDER.get(v, v) if isinstance(v, DataType) else v for k, v in case.attributes.items()}
    kinds |= {
        k: AttributeList("type", tuple(WIDER.get(one, one) for one in v.values))
        for k, v in case.attributes.items()
        if isinstance(v, AttributeList) and v.kind == "type"
    }
    kinds |= {k: op_cases.tensor_of(v.array().astype(np.float64)) for k, v in kinds.items() if isinstance(v, Tensor)}
    inputs = [one.astype(np.float64) if one.dtype == np.float32 else one for one in case.inputs]
    return replace(case, attributes=kinds, inputs=inputs)


def is_narrow(value):
    """Whether an attribute is a type of floats other than doubles."""
    kind = value.element_type if isinstance(value, DataType) else None
    return kind is not None and kind.is_float and kind.bits < 64


@pytest.mark.parametrize("op", DIFFERENTIATED)
def test_gradients_are_what_differences_say(op):
    for case in cases_of(op):
        for is_static in (True, False):
            check(case, is_static=is_static)
