"""Kernels: what an instruction of a scheduled computation becomes, on both back ends.

A kernel evaluates one instruction: a fusion, or a single op when nothing was fused.  Seen from inside, it is a set of
`roots` to be computed from `leaves`, the things that lie in memory; the two cases differ only in where those are found.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from compiler.analysis.aliasing import overwritten
from compiler.codegen import elemental, windows
from compiler.codegen.product import is_sum_of_products
from compiler.diagnostics import UnsupportedError
from compiler.expansion.lapack import call_of
from compiler.ir.meanings import given
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import ArrayShape, leaves
from compiler.ops import Trait, having
from compiler.ops.custom_call import unknown


class KernelKind(enum.Enum):
    """The way a kernel walks over its data."""

    LOOP = "loop"
    ITERATION = "iteration"
    REDUCE = "reduce"
    ROW = "row"
    DOT = "dot"
    CONVOLUTION = "convolution"
    REDUCE_WINDOW = "reduce-window"
    SCATTER = "scatter"
    UPDATE = "update"
    SELECT_AND_SCATTER = "select-and-scatter"
    SORT = "sort"
    CHOLESKY = "cholesky"
    TRIANGULAR_SOLVE = "triangular-solve"
    FFT = "fft"
    LAPACK = "lapack"
    FOREIGN = "foreign"


@dataclass(frozen=True)
class Kernel:
    """Instructions that are computed by one function or one grid launch: leaves, roots and what is between.

    Attributes:
        instruction: the scheduled instruction that it computes.
        kind: how it walks over its data.
        inputs: the instructions outside whose values it reads, each once.
        leaves: what stands for each input inside: (inner instruction, number of the input).
        roots: the inner instructions to be computed; together they yield the arrays of the result.
        in_place: numbers of outputs and of the inputs in whose memory they lie.
    """

    instruction: Instruction
    kind: KernelKind
    inputs: tuple[Instruction, ...]
    leaves: tuple[tuple[Instruction, int], ...]
    roots: tuple[Instruction, ...]
    in_place: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        """A name that LLVM and PTX accept; `llvm_ir.Module` keeps those apart that come out alike."""
        instruction = self.instruction
        text = f"{instruction.computation.name}.{instruction.name}"
        return "".join(c if c.isalnum() or c == "_" else "_" for c in text)

    @property
    def outputs(self) -> tuple[ArrayShape, ...]:
        """The arrays of the result."""
        return tuple(leaves(self.instruction.shape))

    @property
    def updated(self) -> Instruction | None:
        """The leaf whose memory is the result's."""
        return self.roots[0].operands[0] if self.kind is KernelKind.UPDATE else None

    @property
    def is_of_arrays(self) -> bool:
        """Whether everything inside is an array, and nothing a tuple."""
        return all(isinstance(i.shape, ArrayShape) for i in (*self.body(), *(leaf for leaf, _ in self.leaves)))

    def body(self) -> Iterator[Instruction]:
        """The instructions that are computed inside: all that the roots need down to the leaves, operands first."""
        return iter(self._body)

    @cached_property
    def _body(self) -> tuple[Instruction, ...]:
        return tuple(computed(self.roots, (leaf for leaf, _ in self.leaves)))

    def of_opcode(self, opcode: str) -> list[Instruction]:
        """The inner instructions of an opcode."""
        return [instruction for instruction in self.body() if instruction.opcode == opcode]


def computed(roots: Sequence[Instruction], leaves: Iterable[Instruction]) -> Iterator[Instruction]:
    """The instructions that roots need, down to the leaves, operands first."""
    seen = set(leaves)
    stack: list[tuple[Instruction, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        instruction, ready = stack.pop()
        if ready:
            yield instruction
        elif instruction not in seen:
            seen.add(instruction)
            stack.append((instruction, True))
            stack.extend((operand, False) for operand in reversed(instruction.operands))


_FUSION_KINDS = {
    "kLoop": KernelKind.LOOP,
    "kInput": KernelKind.REDUCE,
    "kOutput": KernelKind.DOT,
    "kCustom": KernelKind.ROW,
}
NO_KERNEL = having(Trait.STRUCTURAL | Trait.VIEW) | {"after-all"}
"""Opcodes whose value already lies in memory: no code runs for them."""

CONTROL = having(Trait.CONTROL)
"""Opcodes that run other computations."""


def callees(instruction: Instruction) -> tuple[Computation, ...]:
    """The computations that an instruction runs, if it is control flow; those that others name belong to a kernel."""
    return tuple(instruction.called_computations()) if instruction.opcode in CONTROL else ()


def scheduled(computation: Computation) -> Iterator[Instruction]:
    """The instructions that become kernels, in a computation and in those that its control flow runs."""
    for instruction in computation.instructions:
        if instruction.opcode in CONTROL:
            for callee in instruction.called_computations():
                yield from scheduled(callee)
        elif instruction.opcode not in NO_KERNEL:
            yield instruction


def kernel_of(instruction: Instruction) -> Kernel:
    """The kernel for an instruction, or UnsupportedError."""
    if instruction.opcode == "fusion":
        return _of_fusion(instruction)
    kind = _kind_of(instruction)
    operands = (o for o in instruction.operands if kind in _OF_WHOLE_ARRAYS or not _inlined(o))
    inputs = tuple(dict.fromkeys(operands))
    numbered = tuple((operand, number) for number, operand in enumerate(inputs))
    return Kernel(instruction, kind, inputs, numbered, (instruction,))


def _kind_of(instruction: Instruction) -> KernelKind:
    """How an instruction that is no fusion is computed."""
    if given(instruction):
        return KernelKind.FOREIGN
    if instruction.opcode in _KINDS:
        kind, is_so = _KINDS[instruction.opcode]
        if is_so(instruction):
            return kind
        if kind is KernelKind.LAPACK:
            raise unknown(instruction, "code generation")
    elif not elemental.supports(instruction):
        raise UnsupportedError(f"opcode {instruction.opcode}", "code generation", f"at {instruction.name}")
    return KernelKind.LOOP


def _inlined(operand: Instruction) -> bool:
    """Whether an operand is a constant of one element, which is written into the code that asks for elements."""
    return operand.opcode == "constant" and isinstance(operand.shape, ArrayShape) and operand.shape.size == 1


def _roots(root: Instruction) -> tuple[Instruction, ...]:
    return root.operands if root.opcode == "tuple" else (root,)


def _of_fusion(fusion: Instruction) -> Kernel:
    body = fusion.attributes["calls"]
    inputs = tuple(dict.fromkeys(fusion.operands))
    numbered = tuple((p, inputs.index(fusion.operands[p.parameter_number])) for p in body.parameters)
    return Kernel(fusion, _kind_of_fusion(fusion), inputs, numbered, _roots(body.root))


def _kind_of_fusion(fusion: Instruction) -> KernelKind:
    """How a fusion is computed: by what it holds where that decides alone, else by its own kind.

    An input program may bring fusions of its own making, which are lowered in the same way.
    """
    body, stated = fusion.attributes["calls"], _FUSION_KINDS.get(fusion.attributes["kind"])
    updates = overwritten(fusion) is not None
    if stated is None and not updates:
        raise UnsupportedError(f"fusion of kind {fusion.attributes['kind']}", "code generation", f"at {fusion.name}")
    if any(instruction.opcode == "sort" for instruction in body.instructions):
        return KernelKind.SORT
    if body.root.opcode == "scatter":
        return KernelKind.SCATTER
    if updates:
        return KernelKind.UPDATE
    assert stated is not None
    return _kind_of_loop_or_product(fusion, stated)


def _kind_of_loop_or_product(fusion: Instruction, stated: KernelKind) -> KernelKind:
    """What a loop fusion, or one around a product, is computed as; others as they say."""
    held = list(computed(_roots(fusion.attributes["calls"].root), fusion.attributes["calls"].parameters))
    convolutions = [instruction for instruction in held if instruction.opcode == "convolution"]
    if stated is KernelKind.LOOP and any(instruction.opcode == "while" for instruction in held):
        return KernelKind.ITERATION
    if stated is KernelKind.DOT and convolutions:
        stated = KernelKind.CONVOLUTION if all(map(is_sum_of_products, convolutions)) else KernelKind.LOOP
    if stated is KernelKind.LOOP and any(instruction.opcode == "dot" for instruction in held):
        raise UnsupportedError("a loop fusion with a dot inside", "code generation", f"at {fusion.name}")
    return stated


def _always(_: Instruction) -> bool:
    return True


def _is_real(instruction: Instruction) -> bool:
    return not instruction.array.element_type.is_complex


def _is_routine(instruction: Instruction) -> bool:
    return call_of(instruction) is not None


_KINDS: Mapping[str, tuple[KernelKind, Callable[[Instruction], bool]]] = {
    **{
        kind.value: (kind, _always)
        for kind in (
            KernelKind.REDUCE,
            KernelKind.SCATTER,
            KernelKind.SELECT_AND_SCATTER,
            KernelKind.SORT,
            KernelKind.CHOLESKY,
            KernelKind.TRIANGULAR_SOLVE,
            KernelKind.FFT,
        )
    },
    "dot": (KernelKind.DOT, _is_real),
    "convolution": (KernelKind.CONVOLUTION, is_sum_of_products),
    "reduce-window": (KernelKind.REDUCE_WINDOW, windows.is_plain),
    "custom-call": (KernelKind.LAPACK, _is_routine),
}
"""The kind of an opcode's kernels, and which of its instructions have it; the others are loops over elements."""

_OF_WHOLE_ARRAYS = frozenset(
    {KernelKind.CHOLESKY, KernelKind.TRIANGULAR_SOLVE, KernelKind.FFT, KernelKind.LAPACK, KernelKind.FOREIGN}
)
"""Kinds that are given the addresses of their operands, and ask for no elements: constants too lie in memory."""
