"""Calls of ops that are HLO's own, with their dimension numbers as messages and their functions."""

import numpy as np
from graph_nodes import function, node
from op_values import ints, numbers, scalar

from compiler.graph import BY_NAME, AttributeList, FunctionReference, PartialShape
from compiler.ir.types import F32, PRED

FLOAT, INT32, INT64 = (BY_NAME[name] for name in ("float32", "int32", "int64"))


def message(**fields):
    """A message of small numbers, `f3=(1, 2)` being field 3; packed where there are several, as one of them may be."""
    found = bytearray()
    for name, values in fields.items():
        number = int(name[1:])
        if isinstance(values, int):
            found += bytes([number << 3, values])
        else:
            found += bytes([number << 3 | 2, len(values), *values])
    return bytes(found)


_PLAIN = {"precision_config": b""}


def dots(element_type):
    x, y = numbers(element_type, 2, 3, 4), numbers(element_type, 2, 4, 2, seed=1)
    yield {**_PLAIN, "dimension_numbers": message(f1=(2,), f2=(1,), f3=(0,), f4=(0,))}, [x, y]
    yield {**_PLAIN, "dimension_numbers": message(f1=(0,), f2=(1,))}, [x[0].T.copy(), y[0].T.copy()]
    yield {**_PLAIN, "dimension_numbers": message()}, [x[0, 0], y[0, 0]]


def _mixed(rows, given, wanted):
    def made(element_type):
        kind = BY_NAME[given]
        for attributes, [x, y, *others] in rows(element_type):
            numbers_of = [one.astype(kind.element_type.dtype) for one in (x, y)]
            yield (
                {"LhsT": kind, "RhsT": kind, "preferred_element_type": BY_NAME[wanted], **attributes},
                [
                    *numbers_of,
                    *others,
                ],
            )

    return made


_IMAGES = message(f7=0, f8=3, f11=(1, 2), f3=2, f4=3, f6=(0, 1), f9=0, f10=3, f12=(1, 2))


def convolutions(element_type):
    x, k = numbers(element_type, 2, 5, 6, 4), numbers(element_type, 2, 3, 4, 2, seed=1)
    stated = {**_PLAIN, "dimension_numbers": _IMAGES, "Tindices": INT32}
    ones = ints(1, 1)
    yield stated, [x, k, ints(2, 1), np.array([[0, 1], [-1, 2]], np.int32), ones, ints(1, 2), scalar(1)]
    yield stated, [x, k[:, :, :2], ones, np.array([[1, 0], [0, 0]], np.int32), ints(2, 1), ones, scalar(2)]


def pads(element_type):
    x, value = numbers(element_type, 2, 3), numbers(element_type)
    yield {"Tindices": INT32}, [x, value, ints(1, 0), ints(0, 2), ints(0, 1)]
    yield {"Tindices": INT64}, [x, value, np.array([0, -1]), np.array([1, 3]), np.array([2, 0])]


def dynamic_slices(element_type):
    x = numbers(element_type, 4, 5)
    yield {"Tindices": INT32}, [x, ints(1, 2), ints(2, 3)]
    yield {"Tindices": INT64}, [x, np.array([3, -2]), np.array([2, 2])]


def dynamic_updates(element_type):
    x, part = numbers(element_type, 4, 5), numbers(element_type, 2, 3, seed=1)
    yield {"Tindices": INT32}, [x, part, ints(1, 2)]
    yield {"Tindices": INT64}, [x, part, np.array([3, -2])]


def gathers(element_type):
    x = numbers(element_type, 4, 5)
    rows = message(f1=(1,), f2=(0,), f3=(0,), f4=1)
    yield (
        {"dimension_numbers": rows, "indices_are_sorted": False, "Tindices": INT32},
        [
            *(x, np.array([[3], [0]], np.int32)),
            ints(1, 3),
        ],
    )
    places = message(f2=(0, 1), f3=(0, 1), f4=1)
    yield (
        {"dimension_numbers": places, "indices_are_sorted": False, "Tindices": INT32},
        [
            *(x, np.array([[3, 1], [0, 4], [9, 0]], np.int32)),
            ints(1, 1),
        ],
    )


def products(element_type):
    x, y = numbers(element_type, 2, 3, 4), numbers(element_type, 4, 2, seed=1)
    yield {"equation": b"abc,cd->adb"}, [x, y]
    yield {"equation": b"ab,ab->a"}, [x[0, :2], y.T.copy()]


def roundings(element_type):
    values = np.array([0, -0.0, 1, 1.0625, -3.3, 5e4, 1e-5, np.inf, np.nan]).astype(element_type.dtype)
    yield {"exponent_bits": 5, "mantissa_bits": 3}, [values]


def barriers(element_type):
    data_type = BY_NAME[str(np.dtype(element_type.dtype))]
    yield {"T": AttributeList("type", (data_type, INT32))}, [numbers(element_type, 2), ints(1, 2)], 2


def plain(element_type):
    yield {}, [numbers(element_type, 2, 3)]


def without_sizes(element_type):
    yield {}, [numbers(element_type, 2, 3), scalar(1)]


def with_sizes(element_type):
    for axis, size in ((0, 1), (1, 2), (1, 0), (0, 2)):
        yield {}, [numbers(element_type, 2, 3), scalar(axis), scalar(size)]


def bounded(_element_type):
    yield {}, [scalar(3), scalar(5)]


def spread(element_type):
    yield {"Tindices": INT32}, [numbers(element_type, 3), numbers(element_type, 2, 3, 4), ints(1)]
    yield {"Tindices": INT64}, [numbers(element_type, 2, 3), numbers(element_type, 2, 3), np.array([], np.int64)]


def random_bits(element_type):
    del element_type
    yield {}, [scalar(2), np.array([7, 1 << 40], np.uint64), ints(3, 5)]
    yield {}, [scalar(1), np.array([7, 1 << 40, 5], np.uint64), ints(7)]


def spectra(element_type):
    yield {"lower": True, "max_iter": 15, "epsilon": 1e-6}, [np.diag([1, 2, 4]).astype(element_type.dtype)]


def singulars(element_type):
    stated = {"max_iter": 15, "epsilon": 1e-6, "precision_config": b""}
    yield stated, [np.diag([4, 2]).astype(element_type.dtype)]


def _list(*values):
    return AttributeList("i", values)


def splits(element_type):
    x = numbers(element_type, 4, 5)
    yield {"N": 4, "num_splits": _list(2, 2), "paddings": _list(0, 1)}, [x], 4
    yield {"N": 2, "num_splits": _list(2, 1), "paddings": _list()}, [x], 2


def joins(element_type):
    parts = [numbers(element_type, 2, 3, seed=n) for n in range(4)]
    yield {"N": 4, "num_concats": _list(2, 2), "paddings": _list(0, 1)}, parts
    yield {"N": 2, "num_concats": _list(1, 2), "paddings": _list()}, parts[:2]


def shards(element_type):
    yield {"manual_sharding": b""}, [numbers(element_type, 2, 3)]


def wholes(element_type):
    yield {"manual_sharding": b"", "full_shape": PartialShape((2, 3))}, [numbers(element_type, 2, 3)]


def _named(name, element_type):
    """A function on numbers of a type: functions of all graphs of a process have one name each."""
    return FunctionReference(f"{name}_{np.dtype(element_type.dtype).name}")


def _of_two(name, op, kind, result=None):
    body = [node("t", op, "x", "y", T=kind)]
    return function(name, {"x": kind, "y": kind}, {"z": result or kind}, body, {"z": "t:z:0"})


def functions(data_type):
    """Of two scalars of a type their sum, the greater, and whether the first is."""
    bool_ = BY_NAME["bool"]
    return [
        _of_two(f"sum_{data_type}", "LogicalOr" if data_type == bool_ else "AddV2", data_type),
        *([] if data_type.element_type is PRED else [_of_two(f"is_greater_{data_type}", "Greater", data_type, bool_)]),
    ]


_PAIR = function(
    "pair",
    {"a": FLOAT, "b": FLOAT, "c": FLOAT, "d": FLOAT},
    {"y": FLOAT, "z": FLOAT},
    [node("s", "AddV2", "a", "c", T=FLOAT), node("m", "Maximum", "b", "d", T=FLOAT)],
    {"y": "s:z:0", "z": "m:z:0"},
)
_BEFORE = function(
    "before",
    {"a": FLOAT, "b": FLOAT, "c": INT32, "d": INT32},
    {"z": BY_NAME["bool"]},
    [node("t", "Greater", "a", "b", T=FLOAT)],
    {"z": "t:z:0"},
)


def library(data_type):
    """What calls on a type may run."""
    return [*functions(data_type), _PAIR, _BEFORE]


def reductions(element_type):
    x = numbers(element_type, 2, 3, 4)
    yield (
        {"dimensions_to_reduce": _list(0, 2), "reducer": _named("sum", element_type)},
        [x, numbers(element_type, seed=1)],
    )
    yield (
        {"dimensions_to_reduce": _list(1), "reducer": _named("sum", element_type)},
        [x[0], numbers(element_type, seed=1)],
    )


def several_reductions(_element_type):
    x, y = numbers(F32, 2, 3), numbers(F32, 2, 3, seed=1)
    starts = [np.float32(0), np.float32(-np.inf)]
    stated = {"dimensions_to_reduce": _list(1), "reducer": FunctionReference("pair")}
    yield {"N": 2, **stated}, [x, y, *map(np.array, starts)], 2


def listed_reductions(element_type):
    for attributes, given, count in several_reductions(element_type):
        kept = {key: value for key, value in attributes.items() if key != "N"}
        yield {"T": AttributeList("type", (FLOAT, FLOAT)), **kept}, given, count


def windows(element_type):
    x = numbers(element_type, 4, 6)
    rows = [ints(2, 3), ints(1, 2), ints(1, 1), ints(2, 1), np.array([[1, 0], [0, 2]], np.int32)]
    yield (
        {"computation": _named("sum", element_type), "Tindices": INT32},
        [x, numbers(element_type) * element_type.dtype.type(0), *rows],
    )


def selections(element_type):
    x, source = numbers(element_type, 4, 6), numbers(element_type, 2, 3, seed=1)
    at = [ints(2, 2), ints(2, 2), np.array([[0, 0], [0, 0]], np.int32)]
    stated = {"select": _named("is_greater", element_type), "scatter": _named("sum", element_type), "Tindices": INT32}
    yield stated, [x, *at, source, numbers(element_type, seed=2)]


def scatters(element_type):
    rows = message(f1=(1,), f2=(0,), f3=(0,), f4=1)
    stated = {
        "update_computation": _named("sum", element_type),
        "dimension_numbers": rows,
        "indices_are_sorted": False,
        "Tindices": INT32,
    }
    updates = numbers(element_type, 2, 3, seed=1)
    yield stated, [numbers(element_type, 4, 3), np.array([[3], [1]], np.int32), updates]


def sorts(element_type):
    x = numbers(element_type, 2, 5)
    yield {}, [x]
    if element_type.is_float:
        yield {}, [np.array([1, np.nan, -np.inf, 0.0, -0.0, np.inf, -3]).astype(element_type.dtype)]


def keyed_sorts(element_type):
    yield {"V": INT32}, [np.array([3, 1, 2, 0]).astype(element_type.dtype), ints(5, 6, 7, 8)]


def stated_sorts(_element_type):
    kinds = {"T": AttributeList("type", (FLOAT, INT32)), "comparator": FunctionReference("before")}
    given = [np.array([[3, -1, 2], [0, 2, -3]], np.float32), np.arange(6, dtype=np.int32).reshape(2, 3)]
    yield {**kinds, "is_stable": True}, [*given, scalar(0)], 2
    yield {**kinds, "is_stable": False}, [*given, scalar(1)], 2


ROWS = {
    "XlaDot": dots,
    "XlaDotV2": _mixed(dots, "int8", "int32"),
    "XlaConv": convolutions,
    "XlaPad": pads,
    "XlaDynamicSlice": dynamic_slices,
    "XlaDynamicUpdateSlice": dynamic_updates,
    "XlaGather": gathers,
    "XlaEinsum": products,
    "XlaReducePrecision": roundings,
    "XlaSharding": plain,
    "XlaRemoveDynamicDimensionSize": without_sizes,
    "XlaSetDynamicDimensionSize": with_sizes,
    "XlaSetBound": bounded,
    "XlaBroadcastHelper": spread,
    "XlaSelfAdjointEig": spectra,
    "XlaSvd": singulars,
    "XlaSplitND": splits,
    "XlaSpmdFullToShardShape": shards,
    "XlaSpmdShardToFullShape": wholes,
    "XlaConcatND": joins,
    "XlaReduce": reductions,
    "XlaVariadicReduce": several_reductions,
    "XlaVariadicReduceV2": listed_reductions,
    "XlaReduceWindow": windows,
    "XlaSelectAndScatter": selections,
    "XlaScatter": scatters,
    "XlaSort": sorts,
    "XlaVariadicSort": stated_sorts,
    "XlaOptimizationBarrier": barriers,
}
"""Calls by the op's name."""
KEYED = {
    "XlaRngBitGenerator": random_bits,
    "XlaConvV2": _mixed(convolutions, "float32", "float32"),
    "XlaKeyValueSort": keyed_sorts,
}
TYPES = {
    "XlaSvd": ("float32", "float64"),
    "XlaSelfAdjointEig": ("float32", "float64"),
    **dict.fromkeys(
        ("XlaVariadicReduce", "XlaVariadicReduceV2", "XlaVariadicSort", "XlaOptimizationBarrier"), ("float32",)
    ),
    **dict.fromkeys(("XlaDotV2",), ("int8",)),
    "XlaConv": ("float32", "float64"),
    "XlaDot": ("float32", "float64", "float16", "int32", "complex64"),
    "XlaSelectAndScatter": ("float32", "int32"),
}
"""The types of ops that are not called on all that they take."""
