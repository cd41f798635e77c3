"""Calls that take what other ops make: every type as every other, lists of tensors, values on one side of a branch."""

import numpy as np
from op_case import Case
from op_values import numbers, specials

from compiler.graph import BY_NAME, AttributeList, Node, PartialShape
from compiler.ir.types import PRED
from compiler.tf2xla import RECORDS

FLOATS = [BY_NAME[name] for name in ("float32", "float16", "bfloat16", "float64")]


def casts(name):
    every = [one for one in BY_NAME.values() if one.element_type is not None and one.element_type.bits >= 8]
    every = [one for one in every if not str(one).startswith("float8") and not one.is_quantized]
    return [
        Case(f"Cast/{source}/{target}", "Cast", {"SrcT": source, "DstT": target}, [_castable(source, target)])
        for source in every
        for target in every
    ]


def _castable(source, target):
    """Special values; of floats that become integers only those that do, since what others give is the processor's."""
    values = specials(source.element_type)
    if target.element_type.is_integer and not source.element_type.is_integer and source.element_type is not PRED:
        low = 0 if not target.element_type.is_signed else -100
        values = np.array([low, 0, -0.0, 1, 0.75, 2.5, 3.5, 99.9]).astype(source.element_type.dtype)
    return values


def quantized(name):
    """Whole numbers that stand for others, made of their bits."""
    ends = [np.array(-1.5, np.float32), np.array(2.75, np.float32)]
    found = []
    for kind in sorted(RECORDS[name].signature.attributes["T"].allowed, key=lambda one: one.number):
        plain = BY_NAME[str(kind)[1:]]
        before = (Node("made", "Bitcast", ("in0",), "", {"T": plain, "type": kind}),)
        takes = "made", "in1", "in2"
        x = specials(kind.element_type)
        calls = [({"mode": mode}, x, ends) for mode in (b"MIN_COMBINED", b"MIN_FIRST", b"SCALED")]
        calls += [({"mode": b"SCALED", "narrow_range": True}, x, ends), ({"dtype": BY_NAME["bfloat16"]}, x, ends)]
        calls += [
            (
                {"mode": mode, "axis": 1},
                x[:6].reshape(2, 3),
                [np.array(end, np.float32) for end in ([-1, 0, -3], [1, 2, 0.5])],
            )
            for mode in (b"MIN_COMBINED", b"SCALED")
        ]
        for number, (stated, values, given) in enumerate(calls):
            attributes = {"T": kind, **stated}
            label = f"{name}/{kind}/{number}"
            found.append(Case(label, name, attributes, [values, *given], before=before, takes=takes))
    return found


def lists(name):
    """What is in a list, after it was made, and changed, by other ops."""
    kind = {"element_dtype": FLOATS[0]}
    shaped = {**kind, "shape_type": BY_NAME["int32"]}
    x, item = numbers(FLOATS[0].element_type, 3, 2), numbers(FLOATS[0].element_type, 2, seed=1)
    shape, one, most = np.array([2], np.int32), np.array(1, np.int32), np.array(5, np.int32)
    made = [
        Node("whole", "TensorListFromTensor", ("in0", "in2"), "", shaped),
        Node("less", "TensorListPopBack", ("whole", "in2"), "", kind),
        Node("set", "TensorListSetItem", ("less", "in3", "less:1"), "", kind),
        Node("same", "TensorListPushBack", ("set", "in1"), "", kind),
        Node("none", "EmptyTensorList", ("in2", "in4"), "", shaped),
        Node("first", "TensorListPushBack", ("none", "in1"), "", kind),
        Node("zeros", "TensorListReserve", ("in2", "in4"), "", shaped),
        Node("put", "TensorListScatterIntoExistingList", ("zeros", "in0", "in9"), "", kind),
        Node("rows", "TensorListScatterV2", ("in0", "in9", "in2", "in4"), "", shaped),
        Node("few", "TensorListScatterV2", ("in0", "in9", "in2", "in8"), "", shaped),
        Node("parts", "TensorListSplit", ("in0", "in8", "in7"), "", shaped),
    ]
    takes = {
        "TensorListStack": [("same", "in2"), ("parts", "in8"), ("put", "in2"), ("rows", "in2"), ("few", "in2")],
        "TensorListLength": [("first",), ("less",), ("zeros",)],
        "TensorListElementShape": [("first",), ("whole",)],
        "TensorListGather": [("same", "in6", "in2")],
        "TensorListConcatV2": [("same", "in2", "in7")],
        "TensorListGetItem": [("zeros", "in3", "in2"), ("same", "in3", "in2"), ("first", "in5", "in2")],
    }[name]
    stated = {"TensorListLength": {}, "TensorListConcatV2": shaped, "TensorListElementShape": shaped}
    attributes = stated.get(name, kind)
    if name == "TensorListElementShape":
        attributes = {"shape_type": BY_NAME["int32"]}
    given = [x, item, shape, one, most, np.array(0, np.int32), np.array([2, 0], np.int32), np.array([1, 1, 1])]
    given += [np.array(-1, np.int32), np.array([3, 0, 1], np.int32)]
    return [
        Case(
            f"{name}/float32/{n}",
            name,
            attributes,
            given,
            len(RECORDS[name].signature.outputs),
            known=(2, 3, 4, 5, 6, 7, 8, 9),
            before=tuple(made),
            takes=inputs,
        )
        for n, inputs in enumerate(takes)
    ]


def sides(name):
    """A value on one of two sides, and what is there of both."""
    kind = {"T": FLOATS[0]}
    made = (
        Node("switch", "Switch", ("in0", "in1"), "", kind),
        Node("false", "Neg", ("switch",), "", kind),
        Node("true", "Mul", ("switch:1", "switch:1"), "", kind),
    )
    x = numbers(FLOATS[0].element_type, 2, 3)
    return [
        Case(f"{name}/float32/{n}", name, {**kind, "N": 2}, [x, np.array(n % 2 == 0)], 2, before=made, takes=sides)
        for n, sides in enumerate([("false", "true")] * 2 + [("true", "false")] * 2)
    ]


def devices(name):
    """The number of a device that is none of these: a program runs on none of those that have kernels."""
    return [Case(f"{name}/{n}", name, {"device_names": AttributeList("s", (b"GPU", b"TPU")[:n])}, []) for n in (1, 2)]


def optionals(name):
    """What is kept of several values, beside nothing that is kept."""
    types = AttributeList("type", (FLOATS[0], BY_NAME["int32"]))
    made = (
        Node("held", "OptionalFromValue", ("in0", "in1"), "", {"Toutput_types": types}),
        Node("nothing", "OptionalNone"),
    )
    stated = {
        "output_types": types,
        "output_shapes": AttributeList("shape", (PartialShape((2, 3)), PartialShape(None))),
    }
    given = [numbers(FLOATS[0].element_type, 2, 3), np.array([4, 5], np.int32)]
    return [Case(f"{name}/float32", name, stated, given, 2, before=made, takes=("held",))]
