"""A module as a list of steps for the host: launches, copies, loops and branches, all decided at compile time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.analysis.buffers import Assignment, Buffer, assign, branches, check_unique_callers
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Launch
from compiler.backends.nvptx.kernels.table import EMITTERS
from compiler.codegen.kernel import kernel_of, scheduled
from compiler.codegen.llvm_ir import Module
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Computation, Instruction
from compiler.ir.module import Module as HloModule


@dataclass(frozen=True, slots=True)
class LaunchStep:
    """Launch one function of a kernel; `buffers` are its pointer arguments, None for null."""

    launch: Launch
    buffers: tuple[Buffer | None, ...]

    def __str__(self) -> str:
        pointers = [str(buffer) if buffer else "null" for buffer in self.buffers]
        given = "; ".join([*pointers, *map(str, self.launch.numbers)])
        return f"launch {self.launch.function}<<<{self.launch.blocks}, {self.launch.threads}>>>({given})"


@dataclass(frozen=True, slots=True)
class CopyStep:
    """Copy one buffer over another on the device."""

    source: Buffer
    target: Buffer

    def __str__(self) -> str:
        return f"copy {self.source} -> {self.target}"


@dataclass(frozen=True, slots=True)
class WhileStep:
    """Run `condition`, read one byte of `predicate`, and while it is not 0 run `body` and again."""

    condition: tuple[Step, ...]
    predicate: Buffer
    body: tuple[Step, ...]

    def __str__(self) -> str:
        return f"while ({self.predicate})"


@dataclass(frozen=True, slots=True)
class ConditionalStep:
    """Read the selector (a pred picks branch 0 when true, an s32 by number, the last when out of range)."""

    selector: Buffer
    is_pred: bool
    branches: tuple[tuple[Step, ...], ...]

    def __str__(self) -> str:
        return f"conditional ({self.selector})"


Step = LaunchStep | CopyStep | WhileStep | ConditionalStep


@dataclass(frozen=True, slots=True)
class Program:
    """A module as LLVM IR and the steps that run it."""

    ir: Module
    assignment: Assignment
    steps: tuple[Step, ...]

    def to_text(self) -> str:
        """The steps as text, for dumps."""
        return "".join(f"{line}\n" for line in _lines(self.steps, 0))


def _lines(steps: tuple[Step, ...], depth: int) -> Iterator[str]:
    for step in steps:
        yield "  " * depth + str(step)
        if isinstance(step, WhileStep):
            yield from _lines((*step.condition, *step.body), depth + 1)
        elif isinstance(step, ConditionalStep):
            for branch in step.branches:
                yield from _lines(branch, depth + 1)


def build(module: HloModule, capability: int) -> Program:
    """Emit a scheduled module for GPUs of that compute capability, such as 80."""
    check_unique_callers(module)
    ir = Module()
    emitted = {i: _emit(ir, i, capability) for i in scheduled(module.entry)}
    assignment = assign(module, {i: kernel.workspace_bytes for i, kernel in emitted.items()})
    steps = _Steps(emitted, assignment)
    return Program(ir, assignment, tuple(steps.of(module.entry)))


def _emit(ir: Module, instruction: Instruction, capability: int) -> EmittedKernel:
    kernel = kernel_of(instruction)
    emitter = EMITTERS.get(kernel.kind)
    if emitter is None:
        raise UnsupportedError(f"a {kernel.kind.value} kernel", "the NVPTX back end", f"at {instruction.name}")
    return emitter(ir, kernel, capability)


@dataclass(frozen=True, slots=True)
class _Steps:
    """Turns a schedule into steps."""

    emitted: dict[Instruction, EmittedKernel]
    assignment: Assignment

    def of(self, computation: Computation) -> Iterator[Step]:
        """The steps of a computation."""
        for instruction in computation.instructions:
            if instruction in self.emitted:
                yield from self._launches(self.emitted[instruction])
            elif instruction.opcode == "while":
                yield from self._while(instruction)
            elif instruction.opcode == "conditional":
                yield self._conditional(instruction)
            elif instruction.opcode == "call":
                yield from self.of(instruction.attributes["to_apply"])

    def _launches(self, emitted: EmittedKernel) -> Iterator[Step]:
        kernel, of = emitted.kernel, self.assignment.of
        buffers: list[Buffer | None] = [buffer for i in kernel.inputs for buffer in of[i]]
        buffers += of[kernel.instruction]
        buffers.append(self.assignment.workspaces.get(kernel.instruction))
        for launch in emitted.launches:
            yield LaunchStep(launch, tuple(buffers))

    def _copies(self, source: Instruction, target: Instruction) -> Iterator[Step]:
        of = self.assignment.of
        for a, b in zip(of[source], of[target], strict=True):
            if a is not b and b.size_bytes:
                yield CopyStep(a, b)

    def _while(self, instruction: Instruction) -> Iterator[Step]:
        condition: Computation = instruction.attributes["condition"]
        body: Computation = instruction.attributes["body"]
        yield from self._copies(instruction.operands[0], instruction)
        (predicate,) = self.assignment.of[condition.root]
        steps = (*self.of(body), *self._copies(body.root, instruction))
        yield WhileStep(tuple(self.of(condition)), predicate, steps)

    def _conditional(self, instruction: Instruction) -> Step:
        selector = instruction.operands[0]
        (buffer,) = self.assignment.of[selector]
        steps = tuple((*self.of(branch), *self._copies(branch.root, instruction)) for branch in branches(instruction))
        return ConditionalStep(buffer, selector.array.element_type.name == "pred", steps)
