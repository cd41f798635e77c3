"""Calls of TensorFlow's ops for each record and type: what `record_tensorflow.py` runs, and what tests are judged by.

A record of one number or two is called on every pair of special values; others have calls of their own below, and a
record without any is a failure of the tests.
"""

from dataclasses import dataclass, field

import numpy as np
import op_image_rows
import op_linear_rows
import op_matrix_rows
import op_placed_rows
import op_random_rows
import op_rows
import op_space_rows
import op_state_rows
from op_values import numbers, specials

from compiler.graph import BY_NAME, Attribute, DataType, Graph, Node, PartialShape, tensor_of
from compiler.ir.types import PRED
from compiler.tf2xla import RECORDS, Trait
from compiler.tf2xla.ops import convolution, training

MOVED = ("float32", "bfloat16", "int64", "bool", "complex64")
"""Types for ops that take any: each is moved alike."""


@dataclass(frozen=True)
class Case:
    """One call: the op, its attributes and inputs; `name` says which of its cases it is."""

    name: str
    op: str
    attributes: dict[str, Attribute]
    inputs: list[np.ndarray]
    outputs: int = 1
    known: tuple[int, ...] = field(default=())
    before: tuple[Node, ...] = ()
    """Nodes that make what `op` takes of the inputs; where there are none, it takes the inputs."""
    takes: tuple[str, ...] = ()

    def graph(self) -> Graph:
        """The call as a graph: nodes `in0` and so on, constants where values must be known, and `op`."""
        nodes = []
        for number, array in enumerate(self.inputs):
            if number in self.variables:
                is_reference = RECORDS[self.op].signature.inputs[number].is_reference
                stated = {"dtype": tensor_of(array).type, "shape": PartialShape(array.shape)}
                stated["shared_name"] = f"in{number}".encode()
                nodes.append(Node(f"in{number}", "VariableV2" if is_reference else "VarHandleOp", (), "", stated))
                continue
            data_type = tensor_of(array).type
            attributes: dict[str, Attribute] = {"dtype": data_type}
            if number in self.known:
                attributes["value"] = tensor_of(array)
            nodes.append(Node(f"in{number}", "Const" if number in self.known else "Placeholder", (), "", attributes))
        inputs = self.takes or tuple(f"in{number}" for number in range(len(self.inputs)))
        return Graph([*nodes, *self.before, Node("op", self.op, inputs, "", self.attributes)])

    @property
    def variables(self) -> list[int]:
        """The inputs that are variables; what these hold afterwards are results, too, after those of the op."""
        ports = () if self.takes else RECORDS[self.op].signature.inputs
        return [number for number, port in enumerate(ports) if port.is_reference or port.type == "resource"]

    @property
    def runs(self) -> int:
        """How often it is run: twice where it goes on from what it was."""
        return 2 if "seed2" in self.attributes else 1

    @property
    def fetches(self) -> list[str]:
        """What the op gives; that it runs, where that is nothing."""
        return [f"op:{number}" for number in range(self.outputs)] or ["^op"]

    def feeds(self) -> dict[str, np.ndarray]:
        """The inputs that are neither constants nor variables."""
        left_out = {*self.known, *self.variables}
        return {f"in{number}": array for number, array in enumerate(self.inputs) if number not in left_out}


def types_of(name: str, attribute: str = "T") -> list[DataType]:
    """The types that a record's attribute allows and HLO has; of any, some."""
    row = RECORDS[name].signature.attributes.get(attribute)
    if row is None:
        return [BY_NAME["bool"]]
    allowed = row.allowed or {BY_NAME[one] for one in MOVED}
    return sorted((one for one in allowed if one.element_type is not None), key=lambda one: one.number)


def _typed(name: str) -> str:
    """The attribute that is the type of a record's first input that has one."""
    attributes = RECORDS[name].signature.attributes
    return next((port.type for port in RECORDS[name].signature.inputs if port.type in attributes), "T")


def elementwise() -> list[str]:
    """The records of one number or two, called on special values."""
    return [
        name
        for name, record in RECORDS.items()
        if name not in CALLS
        and 1 <= len(record.signature.inputs) <= 2
        and not record.constants
        and not record.traits & (Trait.HOST | Trait.COLLECTIVE)
        and all(port.type != "variant" for port in (*record.signature.inputs, *record.signature.outputs))
        and not any(port.is_reference or port.type == "resource" for port in record.signature.inputs)
        and all(port.is_one and port.type == record.signature.inputs[0].type for port in record.signature.inputs)
        and len(record.signature.outputs) == 1
    ]


def cases() -> list[Case]:
    """Every call."""
    found: list[Case] = []
    for name in RECORDS:
        if name in CALLS:
            found += CALLS[name](name)
        elif name in elementwise():
            found += _on_specials(name)
    return found


def _on_specials(name: str) -> list[Case]:
    found = []
    record = RECORDS[name]
    attribute = _typed(name)
    for data_type in types_of(name, attribute):
        values = specials(data_type.element_type)
        attributes = {attribute: data_type} if attribute in record.signature.attributes else {}
        shapes = {"all": values, "none": values[:0].reshape(0, 2), "one": values[1].reshape(())}
        if len(record.signature.inputs) == 1:
            pairs = {key: [one] for key, one in shapes.items()}
        else:
            # Gradients take two arrays alike; whatever else takes two spreads them over each other.
            grid = np.meshgrid(values, values, indexing="ij")
            alike = "Grad" in name
            pairs = {
                "all": grid if alike else [values[:, None], values[None]],
                "none": [shapes["none"]] * 2,
                "one": [shapes["one"]] * 2,
            }
        found += [Case(f"{name}/{data_type}/{key}", name, attributes, list(one)) for key, one in pairs.items()]
    return found


def _made(name, rows, types=None, attribute="T"):
    """Cases for each type: `rows` gives attributes and inputs for an element type; of the first type all are taken."""
    found = []
    signature = RECORDS[name].signature
    every = types or types_of(name, attribute)
    for data_type in every:
        for number, (attributes, inputs, *outputs) in enumerate(rows(data_type.element_type)):
            if data_type is not every[0] and number % 5 not in (0, 2):
                continue
            given = {attribute: data_type} if attribute in signature.attributes else {}
            known = [at for at, port in enumerate(signature.inputs) if port.name in RECORDS[name].constants]
            if name == "ConcatV2":
                known = [len(inputs) - 1]
            elif name.endswith("DynamicStitch"):
                known = list(range(len(inputs) // 2))
            elif name == "ConcatOffset":
                known = list(range(len(inputs)))
            elif name == "Slice" and -1 in inputs[2]:
                known = [1, 2]
            label = f"{name}/{data_type}/{number}"
            count = sum(not port.is_reference for port in signature.outputs)
            found.append(
                Case(label, name, {**given, **attributes}, list(inputs), *(outputs or [count]), known=tuple(known))
            )
    return found


def _rows(rows, types=None, attribute="T"):
    return lambda name: _made(name, rows, types, attribute)


def _casts(name):
    every = [one for one in BY_NAME.values() if one.element_type is not None and one.element_type.bits >= 8]
    every = [one for one in every if not str(one).startswith("float8")]
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


def _real(name):
    """The kernels' order of numbers has no complex ones."""
    return [one for one in types_of(name) if not one.element_type.is_complex]


FLOATS = [BY_NAME[name] for name in ("float32", "float16", "bfloat16", "float64")]


def _lists(name):
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
    ]
    takes = {
        "TensorListStack": [("same", "in2")],
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
    return [
        Case(
            f"{name}/float32/{n}",
            name,
            attributes,
            given,
            len(RECORDS[name].signature.outputs),
            known=(2, 3, 4, 5, 6, 7),
            before=tuple(made),
            takes=inputs,
        )
        for n, inputs in enumerate(takes)
    ]


def _sides(name):
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


CALLS = {
    "Merge": _sides,
    "Einsum": _rows(op_linear_rows.products, [BY_NAME[one] for one in ("float32", "int32", "complex64")]),
    **dict.fromkeys(("CheckNumerics", "CheckNumericsV2"), _rows(op_rows.checked)),
    **{f"TensorList{name}": _lists for name in ("Stack", "Length", "GetItem", "ElementShape", "Gather", "ConcatV2")},
    "Const": _rows(op_rows.constants, attribute="dtype"),
    "PlaceholderWithDefault": _rows(op_rows.defaults, attribute="dtype"),
    "IdentityN": _rows(op_rows.many, [BY_NAME["float32"]], attribute=""),
    "LeakyRelu": _rows(op_rows.leaks),
    "Select": _rows(op_rows.old_selects),
    "SelectV2": _rows(op_rows.spread_selects),
    "Cast": _casts,
    "AddN": _rows(op_rows.sums),
    "ClipByValue": lambda name: _made(name, op_rows.clips, _real(name)),
    "MatMul": _rows(op_rows.matrices),
    "BatchMatMul": _rows(op_rows.batches),
    "BatchMatMulV2": _rows(op_rows.spread_batches),
    "BatchMatMulV3": _rows(op_matrix_rows.mixed_batches, attribute="Tout"),
    **dict.fromkeys(("Sum", "Mean", "Prod", "Max", "Min", "All", "Any"), _rows(op_rows.axes)),
    **dict.fromkeys(("ArgMax", "ArgMin"), _rows(op_rows.places)),
    **dict.fromkeys(("Shape", "Size"), _rows(op_rows.asked_in_64)),
    "ShapeN": _rows(op_rows.asked_of_many),
    "Rank": _rows(op_rows.asked),
    "Fill": _rows(op_rows.fills),
    "Range": _rows(op_rows.ranges, attribute="Tidx"),
    "LinSpace": _rows(op_rows.lines),
    "BroadcastArgs": _rows(op_rows.pairs_of_sizes(1)),
    "BroadcastGradientArgs": _rows(op_rows.pairs_of_sizes(2)),
    "Reshape": _rows(op_rows.reshapes),
    "Transpose": _rows(op_rows.orders),
    "ExpandDims": _rows(op_rows.expansions),
    "Squeeze": _rows(op_rows.squeezes),
    "ConcatV2": _rows(op_rows.joins),
    "Concat": _rows(op_rows.old_joins),
    "Pack": _rows(op_rows.packs),
    "Unpack": _rows(op_rows.unpacks),
    "Split": _rows(op_rows.splits),
    "SplitV": _rows(op_rows.uneven_splits),
    "Slice": _rows(op_rows.parts),
    "StridedSlice": _rows(op_rows.indexings),
    "Pad": _rows(op_rows.pads),
    "PadV2": _rows(op_rows.valued_pads),
    "MirrorPad": _rows(op_rows.mirrors),
    "Tile": _rows(op_rows.tiles),
    "BroadcastTo": _rows(op_rows.spreads),
    "ReverseV2": _rows(op_rows.reversals, [BY_NAME[one] for one in MOVED]),
    "GatherV2": _rows(op_rows.gathers, attribute="Tparams"),
    "Gather": _rows(op_rows.old_gathers, attribute="Tparams"),
    "GatherNd": _rows(op_rows.deep_gathers, attribute="Tparams"),
    "OneHot": _rows(op_rows.hot),
    "Softmax": _rows(op_rows.logits),
    "LogSoftmax": _rows(op_rows.logits),
    "SoftmaxCrossEntropyWithLogits": _rows(op_rows.losses),
    "SparseSoftmaxCrossEntropyWithLogits": _rows(op_rows.numbered_losses),
    "BiasAdd": _rows(op_rows.biases),
    "BiasAddV1": _rows(op_rows.plain_biases),
    "BiasAddGrad": _rows(op_rows.bias_gradients),
    **{name: _rows(op_placed_rows.segments) for name in RECORDS if name.startswith("UnsortedSegment")},
    **{name: _rows(op_placed_rows.whole_scatters) for name in RECORDS if name.startswith("TensorScatter")},
    "ParallelDynamicStitch": lambda name: _made(name, lambda kind: list(op_placed_rows.stitches(kind))[:2]),
    **dict.fromkeys(("Cumsum", "Cumprod"), _rows(op_placed_rows.runs)),
    "ConcatOffset": _rows(op_placed_rows.offsets, attribute="shape_type"),
    **dict.fromkeys(("Real", "Imag", "ComplexAbs", "Angle"), _rows(op_placed_rows.complex_parts)),
    **{name: _rows(op_image_rows.convolutions(name)) for name in convolution.RECORDS},
    "FusedBatchNorm": _rows(op_image_rows.normalised(2, None)),
    # Of numbers of 16 bits the kernels leave what is kept for gradients as the memory was.
    "FusedBatchNormV2": _rows(op_image_rows.normalised(2, FLOATS[0]), FLOATS[:1]),
    "FusedBatchNormV3": _rows(op_image_rows.normalised(3, FLOATS[0]), FLOATS[:1]),
    "FusedBatchNormGrad": _rows(op_image_rows.normalised_back(2, None)),
    "FusedBatchNormGradV2": _rows(op_image_rows.normalised_back(2, FLOATS[0]), FLOATS[:1]),
    "FusedBatchNormGradV3": _rows(op_image_rows.normalised_back(3, FLOATS[0]), FLOATS[:1]),
    **{name: _rows(op_space_rows.convolutions(name)) for name in convolution.RECORDS if name.startswith("Conv3D")},
    "SelfAdjointEigV2": _rows(op_matrix_rows.spectra("compute_v")),
    "Svd": _rows(op_matrix_rows.spectra("compute_uv")),
    **{
        f"{kind}{suffix}": _rows(rows(count), attribute=attribute)
        for count, suffix in ((1, ""), (2, "2D"), (3, "3D"))
        for kind, rows, attribute in (
            ("FFT", op_matrix_rows.transformed, "Tcomplex"),
            ("IFFT", op_matrix_rows.transformed, "Tcomplex"),
            ("RFFT", op_matrix_rows.of_real, "Treal"),
            ("IRFFT", op_matrix_rows.to_real, "Tcomplex"),
        )
    },
    **dict.fromkeys(("LowerBound", "UpperBound"), _rows(op_matrix_rows.among, FLOATS[:1])),
    **{name: _rows(op_matrix_rows.segments) for name in RECORDS if name.startswith("Segment")},
    **{
        name: _rows(rows)
        for name, rows in (
            op_placed_rows.ROWS | op_image_rows.ROWS | op_linear_rows.ROWS | op_space_rows.ROWS | op_matrix_rows.ROWS
        ).items()
    },
    **dict.fromkeys(
        ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"),
        _rows(op_random_rows.seeded, FLOATS, attribute="dtype"),
    ),
    "StatelessRandomUniformFullInt": _rows(op_random_rows.seeded, attribute="dtype"),
    "StatelessRandomUniformInt": _rows(op_random_rows.bounded(op_random_rows.seeded), attribute="dtype"),
    **dict.fromkeys(
        ("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"),
        _rows(op_random_rows.keyed, FLOATS, attribute="dtype"),
    ),
    "StatelessRandomUniformFullIntV2": _rows(op_random_rows.keyed, attribute="dtype"),
    "StatelessRandomUniformIntV2": _rows(op_random_rows.bounded(op_random_rows.keyed), attribute="dtype"),
    **dict.fromkeys(
        ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"),
        _rows(op_random_rows.stated, FLOATS, attribute="dtype"),
    ),
    "RandomUniformInt": _rows(op_random_rows.stated_between, attribute="Tout"),
    **dict.fromkeys(
        ("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg"),
        _rows(op_random_rows.seeds, attribute="Tseed"),
    ),
    "StatelessRandomGetAlg": _rows(op_random_rows.nothing, FLOATS[:1], attribute=""),
    "ReadVariableOp": _rows(op_state_rows.held, attribute="dtype"),
    "VarIsInitializedOp": _rows(op_state_rows.held, [BY_NAME["float32"]], attribute=""),
    "IsVariableInitialized": _rows(op_state_rows.held, attribute="dtype"),
    "VariableShape": _rows(op_state_rows.sizes, [BY_NAME["int32"], BY_NAME["int64"]], attribute="out_type"),
    **dict.fromkeys(
        ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"),
        _rows(op_state_rows.assigned, attribute="dtype"),
    ),
    **dict.fromkeys(("Assign", "AssignAdd", "AssignSub"), _rows(op_state_rows.assigned)),
    "ResourceGather": _rows(op_state_rows.batched_rows, attribute="dtype"),
    "ResourceGatherNd": _rows(op_state_rows.deep_rows, attribute="dtype"),
    **{
        name: _rows(op_state_rows.scatters, attribute="dtype") for name in RECORDS if name.startswith("ResourceScatter")
    },
    **{name: _rows(op_state_rows.scatters) for name in RECORDS if f"Resource{name}" in RECORDS and "Scatter" in name},
    **{name: _rows(op_state_rows.steps(name), FLOATS) for name in training.RECORDS},
}
"""Calls of records that are no functions of one number or two."""

CASES_OF: dict[str, list[Case]] = {}
"""Every call, by its op."""
for _case in cases():
    CASES_OF.setdefault(_case.op, []).append(_case)
