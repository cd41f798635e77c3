"""A rough cost of evaluating an instruction on the reference, so that constant folding never takes long.

The unit is the time that NumPy takes for one element of a large array.  What no bound is known for is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from compiler.interpreter import Interpreter
from compiler.ir.attributes import Window
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import Shape, leaves
from compiler.ir.windows import padded_size, window_padding
from compiler.ops import Trait, having, narrowing

_STEP = 1024.0
"""One call of NumPy, however few the elements."""
_CALLS = having(Trait.CONTROL | Trait.CALLS | Trait.ASYNC)
"""Opcodes that run computations once at most."""
_ON_WHOLE_ARRAYS = narrowing(Trait.COMBINES, "reduce reduce-window") | {"map", "sort"}
"""Opcodes that run computations on many elements at once, if those are of elementwise ops."""
_FEW_OF_MANY = having(Trait.PARTIAL)
"""Opcodes that look at no more of an array than they yield."""


def work_of_computations(module: Module) -> dict[Computation, float]:
    """The work of each computation but the entry; of one that comes before those it calls nothing is known."""
    known: dict[Computation, float] = {}
    for computation in [c for c in module.computations if c is not module.entry]:
        known[computation] = sum(work(instruction, known) for instruction in computation.instructions)
    return known


def work(instruction: Instruction, known: Mapping[Computation, float]) -> float:
    """The work of one instruction, given that of the computations that it calls."""
    if instruction.opcode == "while":
        return math.inf
    callees = list(instruction.called_computations())
    called = sum(known.get(callee, math.inf) for callee in callees)
    if instruction.opcode in _CALLS:
        return _STEP + called
    elements = _elements(instruction)
    if instruction.opcode in _ON_WHOLE_ARRAYS and all(Interpreter().is_mappable(callee) for callee in callees):
        called /= _STEP
    return _STEP + elements * (1.0 + called)


def _elements(instruction: Instruction) -> float:
    """How many elements are handled, over and over again in some ops."""
    opcode = instruction.opcode
    result: float = _size(instruction.shape)
    sizes = [_size(operand.shape) for operand in instruction.operands]
    most: float = max([result, *(sizes if opcode not in _FEW_OF_MANY else ())])
    if opcode == "convolution":
        outputs: int = instruction.operands[1].array.dims[instruction.attributes["dim_labels"].kernel_output_feature]
        return most + _padded(instruction) + result * (sizes[1] // max(outputs, 1))
    if opcode in ("reduce-window", "select-and-scatter"):
        return (
            most + _padded(instruction) + result * _product(float(dimension.size) for dimension in _window(instruction))
        )
    if opcode in ("dot", "ragged-dot", "scaled-dot"):
        dims = instruction.operands[0].array.dims
        return most + result * _product(float(dims[d]) for d in instruction.attributes.get("lhs_contracting_dims", ()))
    if opcode in ("cholesky", "triangular-solve"):
        return most * float(instruction.operands[0].array.dims[-1])
    return most * math.log2(most + 2) if opcode in ("sort", "fft") else most


def _product(numbers: Iterable[float]) -> float:
    return math.prod(numbers, start=1.0)


def _size(shape: Shape) -> float:
    return float(sum(leaf.size for leaf in leaves(shape)))


def _padded(instruction: Instruction) -> float:
    """The elements of what a window moves over, if it moves over all of it."""
    labels = instruction.attributes.get("dim_labels")
    dims = instruction.operands[0].array.dims
    moved_over = labels.input_spatial if labels is not None else range(len(dims))
    rest = _product(float(size) for d, size in enumerate(dims) if d not in moved_over)
    dimensions = zip(moved_over, _window(instruction), strict=False)
    return rest * _product(
        float(max(padded_size(dims[d], window_padding(dimension)), 0)) for d, dimension in dimensions
    )


def _window(instruction: Instruction) -> Window:
    window: Window = instruction.attributes.get("window", ())
    return window
