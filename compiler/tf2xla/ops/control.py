"""Branches as TensorFlow 1 writes them, checks, and what only a host can do.

What stands between `Switch` and `Merge`, and between `Enter` and `Exit`, is a function before anything is lowered
(`functionalize.py`): alone these ops have no meaning as HLO.  A check passes on what it takes; whoever runs op by op
makes it.
"""

from __future__ import annotations

from compiler.expansion.expression import Expression
from compiler.graph import PartialShape
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Lower, Record, Trait, record, table, with_shapes
from compiler.tf2xla.terms import Built


def _merge_shapes(node: Built) -> list[PartialShape]:
    """What all inputs agree on."""
    shapes = [one.shape for one in node.takes["inputs"]]
    same = all(one.dims == shapes[0].dims for one in shapes)
    return [shapes[0] if same else PartialShape(None), PartialShape(())]


def _check(operation: Operation) -> Expression:
    return operation["tensor"]


def _nothing(_operation: Operation) -> None:
    """What is left out of compiled programs."""


def _refused(reason: str) -> Lower:
    def lower(operation: Operation) -> None:
        raise operation.unsupported(reason)

    return lower


_BRANCHES = "it is one side of a branch, whose Merge is not in the graph"
_LOOPS = "it is part of a loop that is not whole"
_HOST = "it runs on the host"


def _on_host(name: str, text: str, reason: str, doc: str, traits: Trait = Trait.NONE) -> Record:
    row = record(name, text, _refused(reason), doc, traits=traits | Trait.HOST)
    return with_shapes(row, lambda node: [PartialShape(None)] * len(_results(node)))


def _results(node: Built) -> list[object]:
    """As many things as the node has outputs."""
    found: list[object] = []
    for port in node.signature.outputs:
        count = 1 if port.is_one else len(node.attribute(port.type)) if port.is_list else node.attribute(port.number)
        found += [None] * count
    return found


_FRAME = "frame_name: string; is_constant: bool = false; parallel_iterations: int = 10"


def _of_references() -> list[Record]:
    """The same on references to variables, which are no values of programs."""
    one = "Ref(T); T: {any}"
    rows = (
        ("RefSwitch", f"data: Ref(T), pred: bool -> output_false: Ref(T), output_true: {one}", _BRANCHES),
        ("RefMerge", "inputs: N*Ref(T) -> output: Ref(T), value_index: int32; T: {any}; N: int", _BRANCHES),
        ("RefEnter", f"data: Ref(T) -> output: {one}; {_FRAME}", _LOOPS),
        ("RefExit", f"data: Ref(T) -> output: {one}", _LOOPS),
        ("RefNextIteration", f"data: Ref(T) -> output: {one}", _LOOPS),
    )
    return [_on_host(name, text, reason, "The same on a reference.") for name, text, reason in rows]


RECORDS = table(
    *_of_references(),
    record(
        "Switch",
        "data: T, pred: bool -> output_false: T, output_true: T; T: {any}",
        _refused(_BRANCHES),
        "Its input on one of two sides.",
    ),
    with_shapes(
        record(
            "Merge",
            "inputs: N*T -> output: T, value_index: int32; T: {any}; N: int",
            _refused("its inputs are not the two sides of a Switch"),
            "The one of its inputs that is there, and its number.",
        ),
        _merge_shapes,
    ),
    record("ControlTrigger", "->", _nothing, "Nothing, for others to wait for."),
    record(
        "Assert",
        "condition: bool, data: T[] -> ; T: list(type); summarize: int = 3",
        _nothing,
        "A condition that must hold.",
        traits=Trait.STATEFUL | Trait.CHECK,
    ),
    record(
        "PrintV2",
        "input: string -> ; output_stream: string = 'stderr'; end: string = '\n'",
        _nothing,
        "A line of text for whoever runs it.",
        traits=Trait.STATEFUL | Trait.CHECK,
    ),
    *(
        record(
            name,
            "tensor: T -> output: T; T: {floats}; message: string",
            _check,
            "Its input, which must have no infinity and no NaN.",
            traits=Trait.STATEFUL | Trait.CHECK,
        )
        for name in ("CheckNumerics", "CheckNumericsV2")
    ),
    _on_host(
        "Enter",
        f"data: T -> output: T; T: {{any}}; {_FRAME}",
        _LOOPS,
        "Into a frame.",
    ),
    _on_host("Exit", "data: T -> output: T; T: {any}", _LOOPS, "Out of a frame."),
    _on_host("NextIteration", "data: T -> output: T; T: {any}", _LOOPS, "Into a frame's next iteration."),
    _on_host("LoopCond", "input: bool -> output: bool", _LOOPS, "Whether a frame goes on."),
    _on_host(
        "Print",
        "input: T, data: U[] -> output: T; T: {any}; U: list(type); message: string = ''; first_n: int = -1; "
        "summarize: int = 3",
        _HOST,
        "Its input; says others.",
        Trait.STATEFUL,
    ),
    _on_host(
        "StringFormat",
        "inputs: T[] -> output: string; T: list(type); template: string = '%s'; placeholder: string = '%s'; "
        "summarize: int = 3",
        _HOST,
        "Text.",
    ),
    _on_host(
        "PyFunc",
        "input: Tin[] -> output: Tout[]; token: string; Tin: list(type); Tout: list(type)",
        _HOST,
        "A function of Python.",
        Trait.STATEFUL,
    ),
    _on_host(
        "PyFuncStateless",
        "input: Tin[] -> output: Tout[]; token: string; Tin: list(type); Tout: list(type)",
        _HOST,
        "A function of Python that gives the same whenever it is given the same.",
    ),
    _on_host(
        "ScalarSummary",
        "tags: string, values: T -> summary: string; T: {reals}",
        _HOST,
        "Numbers for an events file.",
    ),
    _on_host(
        "HistogramSummary",
        "tag: string, values: T -> summary: string; T: {reals} = float32",
        _HOST,
        "How often numbers of each size are, for an events file.",
    ),
    _on_host(
        "ImageSummary",
        "tag: string, tensor: T -> summary: string; max_images: int = 3; T: {uint8 float16 float32 float64} = float32; "
        "bad_color: tensor = [255 0 0 255]",
        _HOST,
        "Images for an events file.",
    ),
    _on_host(
        "MergeSummary", "inputs: N*string -> summary: string; N: int", _HOST, "What events files are given, as one."
    ),
    _on_host(
        "SaveV2",
        "prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes[] -> ; dtypes: list(type)",
        _HOST,
        "Tensors written to a checkpoint.",
        Trait.STATEFUL,
    ),
    _on_host(
        "RestoreV2",
        "prefix: string, tensor_names: string, shape_and_slices: string -> tensors: dtypes[]; dtypes: list(type)",
        _HOST,
        "Tensors read from a checkpoint.",
        Trait.STATEFUL,
    ),
)
