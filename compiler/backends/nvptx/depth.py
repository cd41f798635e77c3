"""The steps of a kernel that wait for one another by definition, in cycles: no number of multiprocessors shortens them.

What a kernel reads comes from device memory, and where an index was computed of that, once more from a cache at least.
An element waits for its operands and takes the latency of one operation; n terms are combined in a tree, log2 n
operations deep; a product that only sums read is one multiply-add with them.  Recurrences are as long as the
operation's definition has them: of a Cholesky factor each column takes the root of its pivot, a division by it and the
multiply-add that makes the next pivot; of a triangular system each unknown takes one multiply-add and the product with
its pivot's reciprocal, which waits for nothing; a loop takes, for each iteration, the longest chain from an element of
its state to the same one an iteration later.  Counters are no recurrence, since each of their values is known at once.
Latencies are those of the simulator (`simulator.pipes`), and nothing is added for threads that talk to each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from compiler.analysis.trip_count import known_trip_count, step_of
from compiler.backends.nvptx.simulator.pipes import latency_of
from compiler.backends.nvptx.simulator.profile import REACH_CYCLES
from compiler.backends.nvptx.simulator.traffic import Reach
from compiler.codegen.cost import convolution_flops, dot_flops
from compiler.codegen.kernel import Kernel
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import leaves
from compiler.ir.types import F32, F64, ElementType
from compiler.ops import Trait, having

_MOVED = having(Trait.STRUCTURAL | Trait.VIEW | Trait.GENERATES | Trait.MOVES | Trait.SELECTS) | {"copy"}

_INDEXED = having(Trait.INDEXED) & having(Trait.PARTIAL)


def depth_of(kernel: Kernel) -> int:
    """Cycles of the longest chain of operations of a kernel that wait for one another."""
    ready = _ready(kernel.body(), {leaf: REACH_CYCLES[Reach.DRAM] for leaf, _ in kernel.leaves})
    return max((ready.get(root, 0) for root in kernel.roots), default=0)


def _ready(instructions: Iterable[Instruction], known: Mapping[Instruction, int]) -> dict[Instruction, int]:
    """When the values are there that hang on known ones, by when those are; what hangs on none is left out."""
    ready = dict(known)
    for instruction in instructions:
        begins = [ready[operand] for operand in instruction.operands if operand in ready]
        if instruction not in ready and begins:
            is_found = instruction.opcode in _INDEXED and any(o in ready for o in instruction.operands[1:])
            found = REACH_CYCLES[Reach.L1] if is_found else 0
            ready[instruction] = max(begins) + found + _cycles(instruction)
    return ready


def _cycles(instruction: Instruction) -> int:
    """From when the operands are there to when the last element of the result is."""
    opcode = instruction.opcode
    if opcode in _MOVED or _is_of_a_sum(instruction):
        return 0
    if opcode == "while":
        return (known_trip_count(instruction) or 1) * _recurrence(instruction.attributes["body"])
    type_ = next((leaf.element_type for leaf in leaves(instruction.shape)), None)
    return 0 if type_ is None else _CYCLES.get(opcode, _operation)(instruction, type_)


def _is_of_a_sum(instruction: Instruction) -> bool:
    """Whether a float is a product that only sums read: they are multiply-adds."""
    users = instruction.users
    is_product = instruction.opcode == "multiply" and instruction.array.element_type.is_float
    return is_product and bool(users) and all(user.opcode in ("add", "subtract") for user in users)


def _recurrence(body: Computation) -> int:
    """The longest chain through an iteration from a piece of the state to itself."""
    root, longest = body.root, 0
    for piece in body.parameters[0].users:
        if root.opcode == "tuple" and piece.opcode == "get-tuple-element":
            number = piece.attributes["index"]
            if step_of(body, number) is None:
                longest = max(longest, _ready(body.instructions, {piece: 0}).get(root.operands[number], 0))
    return longest


def _operation(instruction: Instruction, type_: ElementType) -> int:
    """One operation of an elementwise instruction, or of what no rule is known of."""
    return _latency(_PTX.get(instruction.opcode, "add"), type_)


def _latency(opcode: str, type_: ElementType) -> int:
    """Cycles of a PTX instruction on a type, in the type that it is computed in."""
    if type_.is_complex:
        return _latency(opcode, F64 if type_.bits > F64.bits else F32)
    if type_.is_float:
        return latency_of(opcode, type_.name if type_.name in ("f64", "f16", "bf16") else "f32")
    return latency_of(opcode, "s64" if type_.bits == 64 else "s32")


def _combined(terms: float, instruction: Instruction) -> int:
    """So many terms in a tree, by the computation that combines two."""
    combiner = instruction.attributes["to_apply"]
    ready = _ready(combiner.instructions, dict.fromkeys(combiner.parameters, 0))
    return _levels(terms) * ready.get(combiner.root, 0)


def _levels(terms: float) -> int:
    """The height of a tree with so many leaves."""
    return math.ceil(math.log2(max(terms, 1)))


def _reduction(instruction: Instruction, _: ElementType) -> int:
    terms = max(leaf.size for operand in instruction.operands for leaf in leaves(operand.shape))
    return _combined(terms / max(1, max(leaf.size for leaf in leaves(instruction.shape))), instruction)


def _windows(instruction: Instruction, _: ElementType) -> int:
    return _combined(math.prod(dimension.size for dimension in instruction.attributes["window"]), instruction)


def _sort(instruction: Instruction, _: ElementType) -> int:
    return _combined(instruction.operands[0].array.dims[instruction.attributes["dimensions"][0]], instruction)


def _product(instruction: Instruction, type_: ElementType) -> int:
    """The terms of an element of a product."""
    flops = dot_flops(instruction) if instruction.opcode == "dot" else convolution_flops(instruction)
    return (1 + _levels(flops / 2 / max(1, instruction.array.size))) * _latency("fma", type_)


def _transform(instruction: Instruction, type_: ElementType) -> int:
    return _levels(math.prod(instruction.attributes["fft_length"])) * _latency("fma", type_)


def _factor(instruction: Instruction, type_: ElementType) -> int:
    column = sum(_latency(opcode, type_) for opcode in ("sqrt", "div", "fma"))
    return instruction.array.dims[-1] * column


def _solution(instruction: Instruction, type_: ElementType) -> int:
    is_divided = not instruction.attributes.get("unit_diagonal", False)
    unknown = _latency("fma", type_) + (_latency("mul", type_) if is_divided else 0)
    return instruction.operands[0].array.dims[-1] * unknown


_CYCLES: Mapping[str, Callable[[Instruction, ElementType], int]] = {
    "reduce": _reduction,
    "reduce-window": _windows,
    "sort": _sort,
    "dot": _product,
    "convolution": _product,
    "fft": _transform,
    "cholesky": _factor,
    "triangular-solve": _solution,
}
"""How deep what is no single operation is, in cycles."""
_PTX: Mapping[str, str] = {
    "divide": "div",
    "remainder": "div",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "exponential": "ex2",
    "log": "lg2",
    "sine": "sin",
    "cosine": "cos",
    "tanh": "tanh",
    "logistic": "ex2",
}
"""The slowest instruction that an elementwise opcode cannot do without; others are like additions."""
