"""Which kernel an instruction of a scheduled computation becomes; both back ends read it from here.

A kernel evaluates one instruction: a fusion, or a single op when nothing was fused.  Seen from inside, it is a set of
`roots` to be computed from `leaves`, the things that lie in memory; the two cases differ only in where those are found.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace

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
    """How a kernel walks over its data."""

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


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel.

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
        """What is computed inside: everything the roots need down to the leaves, operands first."""
        given = {leaf for leaf, _ in self.leaves}
        seen: set[Instruction] = set()
        stack: list[tuple[Instruction, bool]] = [(root, False) for root in reversed(self.roots)]
        while stack:
            instruction, ready = stack.pop()
            if ready:
                yield instruction
                continue
            if instruction in seen or instruction in given:
                continue
            seen.add(instruction)
            stack.append((instruction, True))
            stack.extend((operand, False) for operand in reversed(instruction.operands))

    def of_opcode(self, opcode: str) -> list[Instruction]:
        """The inner instructions of an opcode."""
        return [instruction for instruction in self.body() if instruction.opcode == opcode]


_FUSION_KINDS = {
    "kLoop": KernelKind.LOOP,
    "kInput": KernelKind.REDUCE,
    "kOutput": KernelKind.DOT,
    "kCustom": KernelKind.ROW,
}
_OPCODE_KINDS = {
    kind.value: kind
    for kind in (
        KernelKind.REDUCE,
        KernelKind.DOT,
        KernelKind.CONVOLUTION,
        KernelKind.REDUCE_WINDOW,
        KernelKind.SCATTER,
        KernelKind.SELECT_AND_SCATTER,
        KernelKind.SORT,
        KernelKind.CHOLESKY,
        KernelKind.TRIANGULAR_SOLVE,
        KernelKind.FFT,
    )
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
    kind = _OPCODE_KINDS.get(instruction.opcode)
    if instruction.opcode == "custom-call" and call_of(instruction) is not None:
        kind = KernelKind.LAPACK
    if given(instruction):
        operands = tuple(dict.fromkeys(instruction.operands))
        numbered = tuple((operand, number) for number, operand in enumerate(operands))
        return Kernel(instruction, KernelKind.FOREIGN, operands, numbered, (instruction,))
    if kind is None:
        if not elemental.supports(instruction):
            if instruction.opcode == "custom-call":
                raise unknown(instruction, "code generation")
            raise UnsupportedError(f"opcode {instruction.opcode}", "code generation", f"at {instruction.name}")
        kind = KernelKind.LOOP
    if instruction.opcode == "dot" and instruction.array.element_type.is_complex:
        kind = KernelKind.LOOP
    if instruction.opcode == "convolution" and not is_sum_of_products(instruction):
        kind = KernelKind.LOOP
    if instruction.opcode == "reduce-window" and not windows.is_plain(instruction):
        kind = KernelKind.LOOP
    inputs = tuple(dict.fromkeys(o for o in instruction.operands if not _inlined(o)))
    numbered = tuple((operand, number) for number, operand in enumerate(inputs))
    return Kernel(instruction, kind, inputs, numbered, (instruction,))


def _inlined(operand: Instruction) -> bool:
    """Whether an operand is a scalar constant, which is written into the code."""
    return operand.opcode == "constant" and isinstance(operand.shape, ArrayShape) and operand.shape.size == 1


def _roots(root: Instruction) -> tuple[Instruction, ...]:
    return root.operands if root.opcode == "tuple" else (root,)


def _of_fusion(fusion: Instruction) -> Kernel:
    kind = _FUSION_KINDS.get(fusion.attributes["kind"])
    if overwritten(fusion) is not None:
        kind = KernelKind.UPDATE
    if kind is None:
        raise UnsupportedError(f"fusion of kind {fusion.attributes['kind']}", "code generation", f"at {fusion.name}")
    body = fusion.attributes["calls"]
    if body.root.opcode == "scatter":
        kind = KernelKind.SCATTER
    if any(instruction.opcode == "sort" for instruction in body.instructions):
        kind = KernelKind.SORT
    inputs = tuple(dict.fromkeys(fusion.operands))
    numbered = tuple((p, inputs.index(fusion.operands[p.parameter_number])) for p in body.parameters)
    kernel = Kernel(fusion, kind, inputs, numbered, _roots(body.root))
    if kind is KernelKind.LOOP and kernel.of_opcode("while"):
        return replace(kernel, kind=KernelKind.ITERATION)
    convolutions = kernel.of_opcode("convolution") if kind is KernelKind.DOT else []
    if convolutions:
        product = KernelKind.CONVOLUTION if all(map(is_sum_of_products, convolutions)) else KernelKind.LOOP
        kernel = replace(kernel, kind=product)
    # An input program may bring fusions of its own making: they are lowered by what they hold.
    if kind is KernelKind.LOOP and kernel.of_opcode("dot"):
        raise UnsupportedError("a loop fusion with a dot inside", "code generation", f"at {fusion.name}")
    return kernel
