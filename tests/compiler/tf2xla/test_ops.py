"""Every record against TensorFlow's own kernels, recorded by `record_tensorflow.py`, and against its registration.

Results are judged by the bounds of wide mode: what rounding alone can make of them is right.
"""

import json
from collections import Counter

import ml_dtypes
import numpy as np
import op_cases
import pytest
from op_results import FOLDER, recorded

import compiler
from compiler.graph import AttributeList, DataType, PartialShape, Tensor
from compiler.tf2xla import RECORDS, Trait, lower, output_count
from compiler.tf2xla.record import no_gradient, through_functions

REGISTERED = json.loads((FOLDER / "ops.json").read_text(encoding="ascii"))
CASES = op_cases.cases()


def expected(case):
    """What the kernels gave for a case; None where they refused it."""
    return recorded()[case.name]


ROUNDED = {
    "Erfinv": (0, 2, "the kernel takes it from the normal distribution, at (x + 1) / 2"),
    "Elu": (0, 2, "e^x - 1 is a difference in the kernel"),
    "Selu": (0, 4, "e^x - 1 is a difference in the kernel"),
    "Reciprocal": (2, 0, "the kernel multiplies by an approximation"),
    "Inv": (2, 0, "the kernel multiplies by an approximation"),
    "Prod": (8, 0, "the kernel rounds every product of f16"),
    "Softplus": (2, 0, "the kernel rounds every step of bf16"),
    "SigmoidGrad": (2, 0, "the kernel rounds its products of bf16 in another order"),
    "SqrtGrad": (2, 0, "the kernel multiplies by an approximation"),
    "AvgPoolGrad": (2, 0.25, "the kernel adds in f16"),
    "LRN": (2, 0, "the kernel rounds every step of f16"),
    "LRNGrad": (8, 0, "the kernel rounds every step of f16"),
    "Qr": (8, 2, "the kernel rounds every step of f16"),
    "RsqrtGrad": (2, 0, "the kernel rounds every product"),
}
"""Ops whose kernels round more than their formulas: by how many units, of the result and of 1, and why."""


def near(op, result, right):
    """Whether results differ by what the kernel rounds more."""
    if op not in ROUNDED or result.dtype.kind not in "fV":
        return np.zeros(result.shape, bool)
    relative, absolute, _ = ROUNDED[op]
    eps = float(ml_dtypes.finfo(result.dtype).eps)
    ours, theirs = (part.astype(np.float64) for part in (result, right))
    with np.errstate(invalid="ignore"):
        return np.abs(ours - theirs) <= eps * (relative * np.abs(theirs) + absolute)


def _not_finite(gradient, _):
    return ~np.isfinite(gradient)


def _zero_of_what_is_not_finite(y, gradient):
    return (gradient == 0) & ~np.isfinite(y)


def _subnormal(x):
    return (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny)


APART = {
    **dict.fromkeys(
        ("BesselY0", "BesselK0", "BesselK1", "BesselK0e", "BesselK1e", "Expint", "Spence"),
        (_subnormal, "numbers below the least normal one are 0 to the kernels"),
    ),
    "BesselY1": (lambda x: (x == 0) | _subnormal(x), "the same, and the kernel of f32 multiplies 0 by an infinity"),
    "Dawsn": (lambda x: x < -1e9, "the kernel gives the value of -x, though the function is odd"),
    "Erf": (np.isinf, "the kernel of f64 gives NaN of an infinity, not 1"),
    "Pow": (lambda x, y: (x == 0) & (y == 0) & np.iscomplexobj(x), "0 to the power of 0 is NaN there, 1 in HLO"),
    "Round": (lambda x: np.full(x.shape, x.dtype.kind == "i"), "that of an integer is 0 there; `tf.round` never asks"),
    "ReluGrad": (_not_finite, "the kernel multiplies by 0 where XLA chooses 0"),
    "Relu6Grad": (_not_finite, "the kernel multiplies by 0 where XLA chooses 0"),
    **dict.fromkeys(
        ("ReciprocalGrad", "InvGrad", "RsqrtGrad"),
        (_zero_of_what_is_not_finite, "a gradient of 0 stays 0 in vectors of the kernel"),
    ),
    "SqrtGrad": (
        lambda y, gradient: (gradient == 0) & ((y == 0) | np.isnan(y)),
        "a gradient of 0 stays 0 in vectors of the kernel",
    ),
}
"""Ops whose lowering does not follow the kernels: for which inputs, and why."""


def apart(case, dims):
    """Which elements of a result the kernels do not decide."""
    if case.op not in APART:
        return np.zeros(dims, bool)
    with np.errstate(invalid="ignore"):
        return np.broadcast_to(APART[case.op][0](*np.broadcast_arrays(*case.inputs)), dims)


def run(case, *, is_wide=False):
    """Our results, or their bounds: what the op gives, run after run, and what variables hold, None what they held."""
    lowered = lower(case.graph(), case.feeds(), case.fetches)
    compiler.verify(lowered.module)
    held = {**lowered.initial, **{f"in{number}": case.inputs[number] for number in case.variables}}
    found, written = [], {}
    for _ in range(case.runs):
        given = [*(lowered.values[name] for name in lowered.inputs), *(held[name] for name in lowered.reads)]
        results = compiler.interpret(lowered.module, *given)
        held |= dict(zip(lowered.writes, results[len(lowered.outputs) :], strict=True))
        results = compiler.interpret(lowered.module, *given, wide=True) if is_wide else results
        found += results[: len(lowered.outputs)]
        written = dict(zip(lowered.writes, results[len(lowered.outputs) :], strict=True))
    return [*found, *(written.get(f"in{number}") for number in case.variables)]


_NOT_CALLED = """
    NoOp ControlTrigger Assert Variable XlaCustomCall XlaCustomCallV2 XlaCallModule
    FakeParam XlaClusterOutput ReadVariableXlaSplitND AssignVariableXlaConcatND PrintV2
"""
NOT_CALLED = frozenset(_NOT_CALLED.split())
"""What gives nothing, a variable under its older name, what has a meaning elsewhere, what nobody looks at, and what
has no kernel on CPUs."""


WITHOUT_CALLS = Trait.CALLS | Trait.HOST | Trait.COLLECTIVE


def test_every_record_has_calls_that_were_recorded():
    recordings = [case for case in CASES if expected(case) is not None]
    called = Counter(op for case in recordings for op in case.graph().counts())
    without = set(RECORDS) - set(called)
    assert without == NOT_CALLED | {name for name, one in RECORDS.items() if one.traits & WITHOUT_CALLS}
    assert {name for name in recorded() if not name.startswith("gradient/")} == {case.name for case in CASES}


@pytest.mark.parametrize("op", sorted({case.op for case in CASES}))
def test_results_are_those_of_tensorflow(op):
    wrong = []
    for case in (one for one in CASES if one.op == op and expected(one) is not None):
        results = run(case)
        bounds = None
        for number, (result, right) in enumerate(zip(results, expected(case), strict=True)):
            if result is None:
                np.testing.assert_array_equal(right, case.inputs[case.variables[number - case.outputs]])
                continue
            assert (result.dtype, result.shape) == (right.dtype, right.shape), case.name
            same = (result == right) | ((result != result) & (right != right))
            if same.all():
                continue
            bounds = run(case, is_wide=True) if bounds is None else bounds
            bound = bounds[number]
            legal = same | (bound.allows(result) & (bound.allows(right) | near(op, result, right)))
            legal |= apart(case, result.shape)
            if not legal.all():
                shown = [part[~legal][:4].tolist() for part in (result, right)]
                wrong.append(f"{case.name}:{number}: {shown[0]} should be {shown[1]}")
    assert not wrong, "\n".join(wrong[:20])


PLAIN = {
    AttributeList: lambda one: [plain(value) for value in one.values],
    DataType: lambda one: one.number,
    PartialShape: lambda _: "unknown",
    Tensor: lambda one: one.array().tolist(),
    bytes: lambda one: one.decode(),
    float: lambda one: float(np.float32(one)),
}


def plain(value):
    """A default as JSON has it."""
    return PLAIN.get(type(value), lambda one: one)(value)


@pytest.mark.parametrize("name", RECORDS)
def test_signatures_are_those_that_tensorflow_registers(name):
    record, registered = RECORDS[name], REGISTERED[name]
    for side in ("inputs", "outputs"):
        ports = [
            [port.name, port.type, port.number, port.is_list, port.is_reference]
            for port in getattr(record.signature, side)
        ]
        assert ports == registered[side]
    attributes = {
        row.name: [row.kind, plain(row.default), sorted(one.number for one in row.allowed)]
        for row in record.signature.attributes.values()
    }
    held = {
        key: [kind, default, _held(name, types)] for key, (kind, default, types) in registered["attributes"].items()
    }
    assert attributes == held
    assert (Trait.STATEFUL in record.traits) == registered["stateful"]


WITHOUT_MEANING = {"FloorDiv": (8, 18)}
"""Types of which no kernel of TensorFlow's has a meaning, though they are registered: complex numbers."""


def _held(name, types):
    """The types that HLO has, of those that are registered; strings where any type would do, and lists."""
    numbers = [one for one in types if one not in WITHOUT_MEANING.get(name, ())]
    kept = [one for one in numbers if DataType(one).element_type is not None and _is_held(name, one)]
    more = {"ReverseV2": 7, "Reverse": 7, "AddN": 21}.get(name)
    return sorted([*kept, more]) if more in types else kept


def _is_held(name, number):
    """Numbers that stand for others are for few ops, though others are registered for them."""
    return not DataType(number).is_quantized or name in ("Bitcast", "Dequantize") or name.startswith("Uniform")


def test_records_say_what_they_are():
    for name, record in RECORDS.items():
        assert record.name == name
        assert record.doc.endswith(".")
        names = [port.name for port in record.signature.inputs]
        assert set(record.constants) <= set(names)
        assert len(set(names)) == len(names)


NOT_DIFFERENTIATED = {
    **dict.fromkeys(
        (name for name in RECORDS if "TensorList" in name), "lists are there for gradients of loops, and have none"
    ),
    **dict.fromkeys(
        (name for name in RECORDS if name.startswith("Optional")), "they are there for gradients of branches"
    ),
    "_EagerConst": "TensorFlow's formula is there to raise an error",
}
"""What TensorFlow differentiates and this does not."""


@pytest.mark.parametrize("name", RECORDS)
def test_what_has_a_gradient_is_what_tensorflow_differentiates(name):
    """Some formulas of TensorFlow's say that nothing goes through."""
    if RECORDS[name].gradient is through_functions or Trait.HOST in RECORDS[name].traits:
        return  # calls have their gradients elsewhere in TensorFlow, too
    if name in NOT_DIFFERENTIATED:
        assert RECORDS[name].gradient is None
        return
    gradient, registered = RECORDS[name].gradient, REGISTERED[name]["gradient"]
    assert (gradient is None) == (registered == "unknown")
    assert gradient is no_gradient or registered != "nothing goes through"


@pytest.mark.parametrize("case", [one for one in CASES if one.name.endswith("/0")], ids=lambda case: case.name)
def test_nodes_have_as_many_outputs_as_their_records_say(case):
    references = sum(port.is_reference for port in RECORDS[case.op].signature.outputs)
    assert output_count(case.graph().node("op")) == case.outputs + references


@pytest.mark.parametrize("op", APART)
def test_what_is_said_to_be_apart_is(op):
    """An exception that no case needs is one too many."""
    found = False
    for case in (one for one in CASES if one.op == op and expected(one) is not None):
        results, bounds = run(case), run(case, is_wide=True)
        decided = bounds[0].allows(expected(case)[0]) | (np.isnan(results[0]) & np.isnan(expected(case)[0]))
        found |= bool((apart(case, results[0].shape) & ~decided).any())
    assert found
