"""Replace `scan` by a loop that takes one slice of each array in turn and writes what a step yields in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.expansion.expression import Expression, element, number
from compiler.expansion.replacement import expand
from compiler.ir.module import Computation, Instruction, Module, inline
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.types import S32
from compiler.ops.build import build, parameter


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return expand(module, fuel, {"scan": _expand})


@dataclass(frozen=True, slots=True)
class _Scan:
    """A scan; the state of its loop is the step, the arrays, the outputs so far and what is carried."""

    instruction: Instruction
    arrays: tuple[Instruction, ...]
    carried: tuple[Instruction, ...]
    outputs: tuple[ArrayShape, ...]
    along: int

    @property
    def length(self) -> int:
        """The number of steps."""
        return self.arrays[0].array.dims[self.along]

    @staticmethod
    def of(instruction: Instruction) -> _Scan:
        """Sort the operands and results."""
        carries, shape = instruction.attributes["num_carries"], instruction.shape
        count = len(instruction.operands) - carries
        results = shape.elements if isinstance(shape, TupleShape) else (shape,)
        outputs = tuple(result for result in results[: len(results) - carries] if isinstance(result, ArrayShape))
        along = instruction.attributes["dimensions"][0]
        return _Scan(instruction, instruction.operands[:count], instruction.operands[count:], outputs, along)


def _expand(instruction: Instruction) -> Instruction:
    scan, computation = _Scan.of(instruction), instruction.computation
    zeros = [number(computation, 0, shape.element_type).spread(shape.dims, ()).instruction for shape in scan.outputs]
    # Of no step there is nothing to take a slice of.
    results = _loop(scan, zeros) if scan.length else [*zeros, *scan.carried]
    return build(computation, "tuple", results) if isinstance(instruction.shape, TupleShape) else results[0]


def _loop(scan: _Scan, zeros: Sequence[Instruction]) -> list[Instruction]:
    """The outputs and what is carried, after all steps."""
    computation, name = scan.instruction.computation, scan.instruction.name
    start = number(computation, 0, S32).instruction
    state = build(computation, "tuple", [start, *scan.arrays, *zeros, *scan.carried])
    assert computation.module is not None
    condition = computation.module.add_computation(_condition(state.shape, scan.length))
    body = Computation(f"{name}.body")
    body.root = _step(scan, parameter(body, 0, state.shape))
    computation.module.add_computation(body)
    loop = build(computation, "while", [state], condition=condition, body=body, name=name)
    first = 1 + len(scan.arrays)
    return [element(loop, index) for index in range(first, first + len(zeros) + len(scan.carried))]


def _condition(state: Shape, length: int) -> Computation:
    computation = Computation("scan.goes_on")
    step = Expression(element(parameter(computation, 0, state), 0))
    computation.root = step.compare("LT", length).instruction
    return computation


def _step(scan: _Scan, state: Instruction) -> Instruction:
    """The state after one step."""
    body, attributes = state.computation, scan.instruction.attributes
    step, *rest = [
        element(state, index) for index in range(1 + len(scan.arrays) + len(scan.outputs) + len(scan.carried))
    ]
    arrays, rest = rest[: len(scan.arrays)], rest[len(scan.arrays) :]
    outputs, carried = rest[: len(scan.outputs)], rest[len(scan.outputs) :]
    at = -Expression(step) + (scan.length - 1) if attributes.get("is_reverse", False) else Expression(step)
    taken = [_take(array, at, scan.along) for array in arrays]
    root = inline(attributes["to_apply"], [*taken, *carried], body.add)
    results = _elements(root)
    written = [_put(output, at, result, scan.along) for output, result in zip(outputs, results, strict=False)]
    following = Expression(step) + 1
    return build(body, "tuple", [following.instruction, *arrays, *written, *results[len(outputs) :]])


def _elements(root: Instruction) -> Sequence[Instruction]:
    if not isinstance(root.shape, TupleShape):
        return [root]
    return [element(root, index) for index in range(len(root.shape.elements))]


def _starts(array: Instruction, at: Expression, along: int) -> list[Instruction]:
    zero = at.literal(0).instruction
    return [at.instruction if d == along else zero for d in range(array.array.rank)]


def _take(array: Instruction, at: Expression, along: int) -> Instruction:
    dims = array.array.dims
    sizes = (*dims[:along], 1, *dims[along + 1 :])
    slice_ = build(array.computation, "dynamic-slice", [array, *_starts(array, at, along)], dynamic_slice_sizes=sizes)
    return Expression(slice_).reshape(*dims[:along], *dims[along + 1 :]).instruction


def _put(output: Instruction, at: Expression, value: Instruction, along: int) -> Instruction:
    dims = output.array.dims
    update = Expression(value).reshape(*dims[:along], 1, *dims[along + 1 :]).instruction
    return build(output.computation, "dynamic-update-slice", [output, update, *_starts(output, at, along)])
