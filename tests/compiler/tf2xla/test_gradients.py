"""Every formula for gradients against differences, at points where functions are smooth, with sizes known and not."""

from dataclasses import replace

import numpy as np
import op_cases
import pytest
from op_gradients import (
    DIFFERENTIATED,
    GRID,
    ONE_RESULT,
    WITHOUT_DIFFERENCES,
    called,
    float_places,
    is_float,
    points,
    start,
)
from op_results import recorded

import compiler
from compiler.graph import BY_NAME, AttributeList, DataType, Tensor, tensor_of
from compiler.tf2xla import RECORDS, lower
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.differentiation import dense, gradients

REAL = {
    *("Sign", "SquaredDifference", "Xdivy", "Xlogy", "Xlog1py", "TridiagonalSolve"),
    *("Cumprod", "SegmentProd", "UnsortedSegmentProd", "Svd", "SelfAdjointEigV2"),
    *("EuclideanNorm", "LogMatrixDeterminant"),
}
"""Ops whose gradients of complex numbers are no derivatives in TensorFlow, and so none here."""
SIZED = {"Qr", "Svd"}
"""Ops whose formulas must know how many rows and columns there are."""
APART = {
    "DynamicStitch/float32/2": "rows that others replace have gradients in TensorFlow, too",
    **dict.fromkeys(("MaxPool/float64/5", "MaxPool/float32/5"), "TensorFlow has no gradient of windows over channels"),
    "ResourceGather/float32/3": "TensorFlow differentiates no batches of rows",
}
STEP, WIDE_STEP = 1e-5, 2.0**-11
MOST = 3
"""Cases of each op and type."""


def built(case, *, is_static):
    """The call with shapes: all of them, or only their ranks."""
    builder = Builder()
    for number, array in enumerate(case.inputs):
        if number in case.known:
            builder.constant(array, tensor_of(array).type, name=f"in{number}")
            continue
        kind = tensor_of(array).type
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


def dot(weights, values):
    """The sum of products; without bounds of the type, which segments of nothing are."""
    kept = [
        (one, np.where(np.abs(other.astype(complex)) < HUGE, other, 0))
        for one, other in zip(weights, values, strict=True)
    ]
    return sum(float((one.conj() * other).real.sum()) for one, other in kept)


HUGE = 1e300


def run(lowered, given, *, is_wide):
    """Results; of a program of f32 as if it were one of f64."""
    if not is_wide:
        return compiler.interpret(lowered.module, *given)
    return [one.value for one in compiler.interpret(lowered.module, *given, wide=True)]


def apart(case, given, rng):
    """The points with no two alike where a function looks for the greatest: there it has no derivative."""
    if case.op not in ("MaxPool", "MaxPool3D", "MaxPoolV2"):
        return given
    order = rng.permutation(given[0].size).reshape(given[0].shape) - given[0].size // 2
    return [(order / GRID).astype(given[0].dtype), *given[1:]]


def drawn(rng, dims, dtype):
    """Normal numbers, complex ones in both parts."""
    parts = [rng.normal(size=dims) for _ in range(2 if np.dtype(dtype).kind == "c" else 1)]
    return (parts[0] + 1j * parts[1] if len(parts) > 1 else parts[0]).astype(dtype)


def check(case, *, is_static):
    rng = np.random.default_rng(len(case.name))
    is_wide = any(one.dtype == np.float32 for one in case.inputs)
    length, nearly = (WIDE_STEP, 1e-4) if is_wide else (STEP, 1e-6)
    builder, op = built(case, is_static=is_static)
    ys = [one for one in op.outputs if is_float(one)][: 1 if case.op in ONE_RESULT else None]
    places = float_places(case)
    xs = [builder.output(f"in{number}") for number in places]
    starts = [
        builder.add("Placeholder", name=f"g{n}", dtype=one.type, shape=one.shape).output for n, one in enumerate(ys)
    ]
    found = [dense(one) for one in gradients(builder, ys, xs, starts)]
    at = apart(case, points(case, rng), rng)
    fetches = [one.name for one in ys]
    feeds = {one.name: at[number] for number, one in zip(places, xs, strict=True) if number not in case.variables}
    others = (n for n in range(len(at)) if n not in places and n not in case.known)
    feeds |= {f"in{n}": at[n] for n in others}
    forward = lower(builder.graph, feeds, fetches)
    held = {f"in{number}": at[number] for number in case.variables}
    weights = [drawn(rng, one.dims, one.element_type.dtype) for one in forward.module.entry.root.shape.elements]
    feeds |= {one.name: weight for one, weight in zip(starts, weights, strict=True)}
    backward = lower(builder.graph, feeds, [one.name for one in found if one is not None])
    given = [*(backward.values[name] for name in backward.inputs), *(held[name] for name in backward.reads)]
    computed = iter(run(backward, given, is_wide=is_wide))
    for number, gradient in zip(places, found, strict=True):
        step = drawn(rng, at[number].shape, at[number].dtype)
        step = (np.round(step * GRID) / GRID).astype(step.dtype) if is_wide else step
        if case.op == "Cholesky":
            step = step + np.swapaxes(step.conj(), -1, -2)
        ends = []
        for sign in (1, -1):
            moved = {
                f"in{n}": one + (at[n].dtype.type(sign * length) * step if n == number else 0)
                for n, one in enumerate(at)
                if n in places
            }
            values = {**feeds, **{f"{name}:0": value for name, value in moved.items()}}
            names = [*forward.inputs, *forward.reads]
            ends.append(
                dot(weights, run(forward, [values.get(name, moved.get(name)) for name in names], is_wide=is_wide))
            )
        right = (ends[0] - ends[1]) / (2 * length)
        result = 0.0 if gradient is None else dot([next(computed)], [step])
        assert result == pytest.approx(right, rel=nearly, abs=nearly), f"{case.name}: input {number}"


def cases_of(op):
    found = {"float64": [], "complex128": [], "float32": []}
    for case in map(widened, op_cases.CASES_OF[op]):
        kinds = {str(one.dtype) for one in case.inputs if one.dtype.kind in "fc"}
        kinds |= {str(one.element_type.dtype) for one in case.attributes.values() if is_narrow(one)}
        if case.name not in APART and len(kinds) == 1 and (kind := kinds.pop()) in found:
            found[kind].append(case)
    if op == "MaxPool3DGradGrad" or any(port.type == "float32" for port in RECORDS[op].signature.outputs):
        return found["float32"][:MOST]  # what is rounded to f32 has no differences in f64
    found["float64"].sort(key=lambda case: case.name.split("/")[1] != "float64")
    if not found["float64"] and op != "Cast":
        return found["float32"][:MOST]
    most = None if op in ("Einsum", "GatherV2") else MOST  # whose formula depends on the case
    return [*found["float64"][:most], *found["complex128"][: 0 if op in REAL else 2]]


WIDER = {BY_NAME["float32"]: BY_NAME["float64"], BY_NAME["complex64"]: BY_NAME["complex128"]}


def widened(case):
    """A call in f32 as one in f64: ops that take any type have none."""
    rows = RECORDS[case.op].signature.attributes
    only_single = any(
        row.allowed and BY_NAME["float32"] in row.allowed and BY_NAME["float64"] not in row.allowed
        for row in rows.values()
    )
    if (
        {str(one.dtype) for one in case.inputs if one.dtype.kind in "fc"} != {"float32"}
        or only_single
        or any(port.type == "float32" for port in RECORDS[case.op].signature.outputs)
        or case.op == "Cast"
    ):
        return case
    kinds = {k: WIDER.get(v, v) if isinstance(v, DataType) else v for k, v in case.attributes.items()}
    kinds |= {
        k: AttributeList("type", tuple(WIDER.get(one, one) for one in v.values))
        for k, v in case.attributes.items()
        if isinstance(v, AttributeList) and v.kind == "type"
    }
    kinds |= {k: tensor_of(v.array().astype(np.float64)) for k, v in kinds.items() if isinstance(v, Tensor)}
    inputs = [one.astype(np.float64) if one.dtype == np.float32 else one for one in case.inputs]
    return replace(case, attributes=kinds, inputs=inputs)


def is_narrow(value):
    """Whether an attribute is a type of floats other than doubles."""
    kind = value.element_type if isinstance(value, DataType) else None
    return kind is not None and kind.is_float and kind.bits < 64


@pytest.mark.slow
@pytest.mark.parametrize("op", [op for op in DIFFERENTIATED if op not in WITHOUT_DIFFERENCES])
def test_gradients_are_what_differences_say(op):
    for case in cases_of(op):
        for is_static in (True,) if op in SIZED else (True, False):
            check(case, is_static=is_static)


@pytest.mark.parametrize("op", DIFFERENTIATED)
def test_gradients_are_those_of_tensorflow(op):
    case = called(op)
    right = None if case is None else recorded().get(f"gradient/{op}")
    if right is None:
        return  # ops on variables, and those of which no kernel takes f32
    builder, made = built(case, is_static=True)
    ys = [one for one in made.outputs if is_float(one)][: 1 if op in ONE_RESULT else None]
    xs = [builder.output(f"in{number}") for number in float_places(case)]
    starts = [builder.constant(start(one.shape.static, one.type.element_type.dtype, n)) for n, one in enumerate(ys)]
    found = [dense(one) for one in gradients(builder, ys, xs, starts)]
    assert [one is None for one in found] == [one is None for one in right]
    fetches = [one.name for one in found if one is not None]
    lowered = lower(builder.graph, case.feeds(), fetches)
    given = [lowered.values[name] for name in lowered.inputs]
    results = compiler.interpret(lowered.module, *given)
    bounds = compiler.interpret(lowered.module, *given, wide=True)
    for result, bound, one in zip(results, bounds, [one for one in right if one is not None], strict=True):
        assert (result.dtype, result.shape) == (one.dtype, one.shape)
        close = np.abs(result - one) <= ROUNDED * np.finfo(one.dtype).eps * np.maximum(np.abs(one), 1)
        assert (bound.allows(result) & (bound.allows(one) | close)).all(), (result, one)


ROUNDED = 16
"""Units by which kernels that approximate may differ."""
