"""A module as a list of steps for the host: launches, copies, loops and branches, all decided at compile time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compiler.analysis.buffers import Assignment, assign, branches, check_unique_callers, pack_again
from compiler.analysis.storage import Buffer, Storage
from compiler.analysis.trip_count import known_trip_count
from compiler.backends.decisions import Decided, Decisions, details_of, others_of, placed
from compiler.backends.nvptx.estimate import Estimate
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Gpu
from compiler.backends.nvptx.kernels.strategy import Launches
from compiler.backends.nvptx.kernels.table import KINDS
from compiler.backends.nvptx.persistent import persist
from compiler.backends.nvptx.steps import ConditionalStep, CopyStep, LaunchStep, Step, WhileStep, lines
from compiler.backends.nvptx.streams import spread
from compiler.backends.strategy import Choice
from compiler.codegen.kernel import Kernel, KernelKind, kernel_of, scheduled
from compiler.codegen.llvm_ir import Module
from compiler.diagnostics import UnsupportedError
from compiler.ir.decisions import went
from compiler.ir.module import Computation, Instruction
from compiler.ir.module import Module as HloModule
from compiler.ir.rewrite import Refusal, path_of


@dataclass(frozen=True, slots=True)
class Program:
    """A module as LLVM IR and the steps that run it.

    Attributes:
        ir: the LLVM module.
        assignment: where everything lies.
        steps: what a call does.
        emitted: the kernels, in the order of the schedule.
        choices: what was decided about each of them.
    """

    ir: Module
    assignment: Assignment
    steps: tuple[Step, ...]
    emitted: dict[Instruction, EmittedKernel]
    choices: dict[Instruction, Choice[Launches]]

    def to_text(self) -> str:
        """The steps of a call as text, for dumps: those between the host's transfers, which are on stream 0."""
        before = (f"copy in {buffer}" for buffer in self._of(Storage.PARAMETER))
        after = (f"copy out {buffer}" for buffer in self._of(Storage.RESULT))
        return "".join(f"{line}\n" for line in (*before, *lines(self.steps), *after))

    def _of(self, storage: Storage) -> list[Buffer]:
        """What the host fills or fetches, in order."""
        found = {b for buffers in self.assignment.of.values() for b in buffers if b.storage is storage and b.size_bytes}
        return sorted(found, key=lambda buffer: buffer.number)


@dataclass(frozen=True, slots=True)
class Kernels:
    """The kernels of a module.

    Attributes:
        ir: their functions, one or several for each.
        emitted: the kernels, in the order of the schedule.
        choices: what was decided about each of them.
    """

    ir: Module
    emitted: dict[Instruction, EmittedKernel]
    choices: dict[Instruction, Choice[Launches]]


def emit(module: HloModule, gpu: Gpu) -> Kernels:
    """Decide about the kernels of a scheduled module, and write them."""
    check_unique_callers(module)
    kernels = {i: kernel_of(i) for i in scheduled(module.entry)}
    choices = {i: _choice(kernel, gpu) for i, kernel in kernels.items()}
    ir = Module(gpu.features)
    return Kernels(ir, {i: _emit(ir, kernel, choices[i]) for i, kernel in kernels.items()}, choices)


def build(module: HloModule, gpu: Gpu, *, persistent: bool) -> Program:
    """Emit a scheduled module for a `gpu`, with launches put together where they may be `persistent`."""
    kernels = emit(module, gpu)
    ir, emitted = kernels.ir, kernels.emitted
    launched = [(one.kernel.kind.value, [launch.function for launch in one.launches]) for one in emitted.values()]
    went("nvptx", launched, ir.functions)
    assignment = assign(module, {i: kernel.workspace_bytes for i, kernel in emitted.items()})
    steps = tuple(_Steps(emitted, assignment).of(module.entry))
    if persistent:
        steps = persist(ir, steps, list(emitted.values()), "persistent")
    steps, order = spread(steps)
    pack_again(assignment, order.allows_sharing)
    return Program(ir, assignment, steps, emitted, kernels.choices)


def _choice(kernel: Kernel, gpu: Gpu) -> Choice[Launches]:
    """What is decided about a kernel."""
    instruction, kind = kernel.instruction, KINDS.get(kernel.kind)
    if kernel.kind is KernelKind.FOREIGN:
        target = instruction.attributes["custom_call_target"]
        reason = f"the meaning of {target!r} is a Python function, which a GPU cannot call"
        raise instruction.unsupported(reason, by="the NVPTX back end")
    if kind is None:
        raise UnsupportedError(f"a {kernel.kind.value} kernel", "the NVPTX back end", f"at {instruction.name}")
    return kind.decide(kernel, gpu)


def _emit(ir: Module, kernel: Kernel, choice: Choice[Launches]) -> EmittedKernel:
    """Write a kernel as it was decided."""
    plan = choice.plan
    return EmittedKernel(kernel, plan.emit(ir), plan.workspace_bytes, plan.emit)


def decisions(
    program: Program | Kernels,
    module: HloModule,
    gpu: str,
    refusals: Sequence[Refusal] | None,
    estimated: Mapping[Instruction, Estimate],
) -> Decisions:
    """What was decided about a module, to be read.

    Args:
        program: what was made of it.
        module: the module.
        gpu: what it was made for, in words.
        refusals: what fusion considered and did not do; where nobody knows, no reasons are asked for at all.
        estimated: what kernels are expected to take, of those that were looked at; of others the plan says it.
    """
    kernels = []
    for instruction, choice in program.choices.items():
        launches = program.emitted[instruction].launches
        together = "launches" if len(launches) != 1 else "launch"
        estimate, least = estimated.get(instruction), choice.plan.cost_ns
        decided = Decided(
            instruction=path_of(instruction),
            kind=program.emitted[instruction].kernel.kind.value,
            strategy=choice.path,
            others=() if refusals is None else others_of(choice),
            cost_ns=least if estimate is None else estimate.ns,
            on="on a GPU at least" if estimate is None else estimate.on,
            workspace_bytes=choice.plan.workspace_bytes,
            shared=f"{len(launches)} {together}",
            overwritten=(),
            details={**details_of(choice), "grid": [f"{launch.blocks}*{launch.threads}" for launch in launches]},
            modelled=dict(estimate.details()) if estimate is not None else {},
        )
        kernels.append(decided)
    return Decisions("nvptx", gpu, tuple(placed(module, program.choices, refusals or ())), tuple(kernels))


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
            yield LaunchStep(launch, tuple(buffers), len(of[kernel.instruction]) + 1)

    def _copies(self, source: Instruction, target: Instruction) -> Iterator[CopyStep]:
        of = self.assignment.of
        for a, b in zip(of[source], of[target], strict=True):
            if a is not b and b.size_bytes:
                yield CopyStep(a, b)

    def _while(self, instruction: Instruction) -> Iterator[Step]:
        condition: Computation = instruction.attributes["condition"]
        body: Computation = instruction.attributes["body"]
        yield from self._copies(instruction.operands[0], instruction)
        (predicate,) = self.assignment.of[condition.root]
        steps, trip_count = tuple(self.of(body)), known_trip_count(instruction)
        asked = tuple(self.of(condition)) if trip_count is None else ()
        exchanged = dict(self.assignment.exchanged[instruction])
        if trip_count is None or not exchanged or not all(isinstance(step, LaunchStep | CopyStep) for step in steps):
            yield WhileStep(asked, predicate, (*steps, *self._copies(body.root, instruction)), trip_count)
            return
        # What two buffers hold in turn changes roles: the body is there twice, so that nothing is copied.
        steps = (*steps, *(copy for copy in self._copies(body.root, instruction) if copy.target not in exchanged))
        roles = {**exchanged, **{other: present for present, other in exchanged.items()}}
        yield WhileStep(asked, predicate, (*steps, *(_in_roles(step, roles) for step in steps)), trip_count // 2)
        if trip_count % 2:
            yield from steps
            yield from (CopyStep(other, present) for present, other in exchanged.items())

    def _conditional(self, instruction: Instruction) -> Step:
        selector = instruction.operands[0]
        (buffer,) = self.assignment.of[selector]
        steps = tuple((*self.of(branch), *self._copies(branch.root, instruction)) for branch in branches(instruction))
        return ConditionalStep(buffer, selector.array.element_type.name == "pred", steps)


def _in_roles(step: Step, roles: Mapping[Buffer, Buffer]) -> Step:
    """A step with other buffers."""
    if isinstance(step, LaunchStep):
        return replace(step, buffers=tuple(buffer and roles.get(buffer, buffer) for buffer in step.buffers))
    assert isinstance(step, CopyStep)
    return CopyStep(roles.get(step.source, step.source), roles.get(step.target, step.target))
