"""One call of an op of TensorFlow's, and how calls are made of a record's types."""

from dataclasses import dataclass, field

import numpy as np
import op_xla_rows
from op_values import specials

from compiler.graph import BY_NAME, Attribute, DataType, FunctionReference, Graph, Node, PartialShape, tensor_of
from compiler.tf2xla import RECORDS

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
    after: tuple[Node, ...] = ()
    """Nodes that read what `op` gives, which is fetched of them."""

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
        called = Node("op", self.op, inputs, "", self.attributes)
        has_functions = any(isinstance(one, FunctionReference) for one in self.attributes.values())
        kind = self.attributes.get("T")
        data_type = kind if isinstance(kind, DataType) else BY_NAME["float32"]
        functions = op_xla_rows.library(data_type) if has_functions else []
        return Graph([*nodes, *self.before, called, *self.after], functions)

    @property
    def is_compiled(self) -> bool:
        """Whether only XLA has a kernel for it."""
        return self.op.startswith("Xla") or (self.op.startswith("Segment") and self.op.endswith("V2"))

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
        given = [f"{one.name}:0" for one in self.after] or [f"op:{number}" for number in range(self.outputs)]
        return given or ["^op"]

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
    held = (one for one in allowed if one.element_type is not None and not one.is_quantized)
    return sorted(held, key=lambda one: one.number)


def _typed(name: str) -> str:
    """The attribute that is the type of a record's first input that has one."""
    attributes = RECORDS[name].signature.attributes
    return next((port.type for port in RECORDS[name].signature.inputs if port.type in attributes), "T")


def on_specials(name: str) -> list[Case]:
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


def made(name, rows, types=None, attribute="T"):
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


def rows_of(rows, types=None, attribute="T"):
    return lambda name: made(name, rows, types, attribute)
