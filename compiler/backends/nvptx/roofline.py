"""The least that a kernel can take on a GPU: bytes to move, operations to do, steps one after the other, launches.

Every input is read once (of slices no more than they take), every result written once; each element of an instruction
is one operation, a product and a sum are one multiply-add; loops whose trip counts are known do so much as often, of
others one iteration is counted.  All runs at the card's peak.  Steps that wait for one another by the operation's
definition take their latencies, however many multiprocessors there are (`depth`).  The three overlap without loss, so
the longest rules.  One launch is needed; a second one where each result depends on a line that no multiprocessor can
hold in its shared memory, and elements go from every block to every other, or what some blocks come to goes to all that
follow: blocks of a launch do not wait for each other.  It is a bound, and no estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from compiler.analysis.trip_count import known_trip_count
from compiler.backends.nvptx.cards import Card
from compiler.backends.nvptx.depth import depth_of
from compiler.backends.nvptx.simulator.pipes import Pipe
from compiler.codegen.cost import convolution_flops, dot_flops, moved_bytes
from compiler.codegen.kernel import Kernel
from compiler.codegen.scanning import direction
from compiler.ir.module import Instruction
from compiler.ir.shape import leaves
from compiler.ops import Trait, having

_NOTHING = having(Trait.STRUCTURAL | Trait.VIEW | Trait.GENERATES | Trait.MOVES)
_TENSOR_PIPES = {
    **dict.fromkeys(("bf16", "f16"), Pipe.TENSOR),
    **dict.fromkeys(("s8", "u8"), Pipe.TENSOR_INT8),
    "f64": Pipe.TENSOR_FP64,
}
"""By what products of a type are multiplied where accuracy allows it; other types by fused multiply-adds."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The least that a kernel takes.

    Attributes:
        bytes: to move.
        operations: to do.
        depth: cycles of the longest chain of operations that wait for one another.
        launches: that are needed.
        ns: nanoseconds in all.
        rule: which of them decides: bytes, operations, depth, or launches where these take longer.
    """

    bytes: int
    operations: int
    depth: int
    launches: int
    ns: float
    rule: str


def bound_of(kernel: Kernel, card: Card) -> Bound:
    """The least that a kernel takes on a GPU."""
    moved, depth = moved_bytes(kernel), depth_of(kernel)
    work = list(_all_work(kernel.body(), 1))
    cycles = {pipe: sum(n for of, n in work if of is pipe) / card.rates[pipe] for pipe in {pipe for pipe, _ in work}}
    terms = {
        "bytes": moved / card.memory_bytes_per_ns,
        "operations": max(cycles.values(), default=0.0) / card.multiprocessors / card.clock_ghz,
        "depth": depth / card.clock_ghz,
    }
    rule = max(terms, key=lambda name: terms[name])
    launches = max((_launches(instruction, card) for instruction in kernel.body()), default=1)
    ns = launches * card.launch_ns
    operations = sum(operations for _, operations in work)
    return Bound(moved, operations, depth, launches, ns + terms[rule], rule if terms[rule] > ns else "launches")


def _launches(instruction: Instruction, card: Card) -> int:
    """Launches of an instruction: lines that are permuted, transformed or scanned may not fit a multiprocessor."""
    dims = _LINES[instruction.opcode](instruction) if instruction.opcode in _LINES else ()
    arrays = [operand.array for operand in instruction.operands if dims and operand.array.rank]
    return 2 if math.prod(dims) * sum(array.element_type.size_bytes for array in arrays) > card.shared_bytes else 1


def _all_work(instructions: Iterable[Instruction], times: int) -> Iterator[tuple[Pipe, int]]:
    """The work of instructions that run so often, and of loops among them; of unknown trip counts that of one."""
    for instruction in instructions:
        if instruction.opcode == "while":
            trips = times * (known_trip_count(instruction) or 1)
            yield from _all_work(instruction.attributes["body"].instructions, trips)
            continue
        pipe, operations = _work(instruction)
        yield pipe, operations * times


def _work(instruction: Instruction) -> tuple[Pipe, int]:
    """The operations of an instruction, and the unit that does them."""
    opcode = instruction.opcode
    types = [leaf.element_type.name for leaf in leaves(instruction.shape)]
    type_ = types[0] if types else "f32"
    if opcode in ("dot", "convolution"):
        flops = dot_flops(instruction) if opcode == "dot" else convolution_flops(instruction)
        of_operand = instruction.operands[0].array.element_type.name
        return _TENSOR_PIPES.get(of_operand, Pipe.FP32), flops // 2
    pipe = Pipe.FP64 if type_ in ("f64", "c128") else Pipe.FP32 if type_[0] in "fbc" else Pipe.INTEGER
    return pipe, _operations(instruction)


def _operations(instruction: Instruction) -> int:
    opcode = instruction.opcode
    size = max((leaf.size for leaf in leaves(instruction.shape)), default=0)
    if opcode in _NOTHING:
        return 0
    return int(size * _PER_ELEMENT.get(opcode, _one)(instruction))


def _one(_: Instruction) -> float:
    return 1.0


def _per_term(instruction: Instruction) -> float:
    """Terms of each result, where every element of the operands is one."""
    terms = max(leaf.size for operand in instruction.operands for leaf in leaves(operand.shape))
    return terms / max(1, max(leaf.size for leaf in leaves(instruction.shape)))


def _of_transform(instruction: Instruction) -> float:
    """Operations of a fast Fourier transform for each element: 5 n log2 n for n of them, two in a multiply-add."""
    return 2.5 * math.log2(max(math.prod(instruction.attributes["fft_length"]), 2))


def _of_sort(instruction: Instruction) -> float:
    """Comparisons of a sort for each element."""
    return math.log2(max(instruction.operands[0].array.dims[instruction.attributes["dimensions"][0]], 2))


def _scanned(instruction: Instruction) -> Sequence[int]:
    """The line of a scan; of other windows none."""
    way = direction(instruction)
    return () if way is None else [instruction.operands[0].array.dims[way.dim]]


_PER_ELEMENT: Mapping[str, Callable[[Instruction], float]] = {
    "reduce": _per_term,
    "scatter": _per_term,
    "fft": _of_transform,
    "sort": _of_sort,
    "cholesky": lambda instruction: instruction.array.dims[-1] / 6,
    "triangular-solve": lambda instruction: instruction.operands[0].array.dims[-1] / 2,
}
"""Operations for each element of the result; 1 where nothing is said."""
_LINES: Mapping[str, Callable[[Instruction], Sequence[int]]] = {
    "sort": lambda instruction: [instruction.operands[0].array.dims[instruction.attributes["dimensions"][0]]],
    "fft": lambda instruction: instruction.attributes["fft_length"],
    "reduce-window": _scanned,
}
"""What each result of an operation may depend on as a whole: the dimensions of a line."""
