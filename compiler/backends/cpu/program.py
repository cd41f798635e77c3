"""One native function for a whole module, whose work several threads share.

The function walks the schedule on the thread that calls it: one function for each kernel, of which those worth several
threads are put into phases (`phases`) that end where a kernel depends on memory that others may still be writing or
reading.  `while`, `conditional` and `call` are control flow inside it.  A module without any kernel worth sharing is a
program for one thread, and has no phases at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from compiler.analysis.buffers import Assignment, branches, complete
from compiler.analysis.storage import Buffer, Storage, alignment_of
from compiler.analysis.trip_count import counted_trip_count
from compiler.backends.cpu.contraction import contract
from compiler.backends.cpu.frame import lay_in_frame
from compiler.backends.cpu.inline_kernels import Copies
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, parameters
from compiler.backends.cpu.kernels.strategy import Functions
from compiler.backends.cpu.machine import Machine
from compiler.backends.cpu.negligible import translate_quickly
from compiler.backends.cpu.phases import Phases, Step
from compiler.backends.cpu.plan import ProgramPlan, plan
from compiler.backends.cpu.pointers import BASES, Pointers
from compiler.backends.cpu.sharing import shared_work
from compiler.codegen import cost, nest
from compiler.codegen.llvm_ir import Builder, Module, Value, integer, keep_rolled
from compiler.ir.decisions import went
from compiler.ir.module import Computation, Instruction
from compiler.ir.module import Module as HloModule

_COPY_ALIGN = 64
"""Bytes at whose multiples a copy is cut into chunks."""

_COPY_NS = 0.1
"""What a byte takes, in cache."""


@dataclass(frozen=True, slots=True)
class Program:
    """A module as LLVM IR.

    Attributes:
        ir: the LLVM module.
        module: what it was made from.
        assignment: where everything lies.
        emitted: the kernels, in the order of the schedule.
        threads: how many threads it is worth running on.
        cost_ns: estimated nanoseconds on one thread; loops count one iteration.
        shared_work: the same of what threads share, all iterations of loops counted.
        plan: what was decided about it.
    """

    ir: Module
    module: HloModule
    assignment: Assignment
    emitted: dict[Instruction, EmittedKernel]
    threads: int
    cost_ns: float
    shared_work: float
    plan: ProgramPlan

    @property
    def functions(self) -> list[str]:
        """The kernels' functions, in the order of their marks in the timeline."""
        return [function for kernel in self.emitted.values() for function in kernel.functions]

    def profile_ir(self) -> Module:
        """`PROFILE` alone, which does what `PROGRAM` does and also notes when each kernel starts and ends."""
        ir = Module()
        for kernel in self.emitted.values():
            types = [type_.split(" ")[0] for type_, _ in parameters(kernel.kernel)]
            for function in kernel.functions:
                ir.declare(function, "void", types)
        _Driver(ir, self.assignment, self.emitted, self.threads, profile=True).function(self.module, PROFILE)
        return ir


PROGRAM = "program"
"""The function that runs a module."""

PROFILE = "program.profile"
"""The function that runs it for `TIMELINE`."""

TIMELINE = "timeline"
"""The global that holds (start, end) cycle counts of each function of each kernel, in order, for each thread."""


def build(module: HloModule, machine: Machine, threads: int) -> Program:
    """Emit a scheduled module as a program for up to that many threads of a machine."""
    decided = plan(module, machine, threads)
    ir, assignment = Module(machine.features, unrolls=True), decided.assignment
    emitted = _emitted(ir, decided)
    if machine.has_multiply_add:
        contract(ir)
    translate_quickly(ir, module.entry, emitted)
    went("cpu", [(one.kernel.kind.value, one.functions) for one in emitted.values()], ir.functions)
    lay_in_frame(module.entry, assignment, emitted, decided.threads)
    complete(assignment, {i: kernel.workspace_bytes for i, kernel in emitted.items()}, lend_results=True)
    _Driver(ir, assignment, emitted, decided.threads, profile=False).function(module, PROGRAM)
    cost_ns = sum(kernel.cost_ns for kernel in emitted.values())
    shared_ns = shared_work(module.entry, emitted)
    return Program(ir, module, assignment, emitted, decided.threads, cost_ns, shared_ns, decided)


def _emitted(ir: Module, decided: ProgramPlan) -> dict[Instruction, EmittedKernel]:
    """Write the kernels as they were decided: those that share a choice share its functions, however finely cut."""
    functions: dict[int, Functions] = {}
    emitted = {}
    for instruction, kernel in decided.kernels.items():
        chosen = decided.choices[instruction].plan
        if id(chosen.emit) not in functions:
            functions[id(chosen.emit)] = chosen.emit(ir)
        emitted[instruction] = EmittedKernel(
            kernel=kernel,
            functions=functions[id(chosen.emit)],
            workspace_bytes=chosen.workspace_bytes,
            parallel=decided.shares(instruction),
            cost_ns=chosen.cost_ns,
            chunks_per_thread=chosen.chunks_per_thread,
            callback=chosen.keeps,
        )
    return emitted


class _Driver:
    """Emits the function that walks the schedule."""

    def __init__(
        self,
        ir: Module,
        assignment: Assignment,
        emitted: dict[Instruction, EmittedKernel],
        threads: int,
        *,
        profile: bool,
    ) -> None:
        self.ir = ir
        self.assignment = assignment
        self.emitted = emitted
        self.threads = threads
        self.profile = profile
        self.marks = 0
        self.loop_depth = 0
        self.copies = Copies(ir)
        self.functions = sum(len(kernel.functions) for kernel in emitted.values())

    def function(self, module: HloModule, name: str) -> None:
        """Emit the function for a module's entry computation."""
        builder = Builder(self.ir.function(name, "void", [*BASES, ("ptr", "team")]))
        self.builder = builder
        cold = builder.function.cold = all(instruction.opcode != "while" for instruction in module.instructions())
        framed = [(b, alignment_of(b.size_bytes)) for b in self.assignment.buffers if b.storage is Storage.FRAME]
        self.known = {b: builder.emit("ptr", f"alloca [{b.size_bytes} x i8], align {a}") for b, a in framed}
        unchanging = f", !invariant.load {self.ir.metadata('!{}')}"
        self.pointers = Pointers(builder, self.assignment, self.known, unchanging)
        self.phases = Phases(self.pointers, self.threads, self._context(), cold)
        self._instructions(module.entry.instructions)
        self.phases.end()
        builder.ret()
        if self.profile:
            count = 2 * max(1, self.functions) * self.threads
            self.ir.define_global(TIMELINE, f"global [{count} x i64] zeroinitializer, align 64")

    def _context(self) -> Value:
        """Memory for the addresses that phases are told, as many as there are buffers that change roles."""
        count = 2 * sum(len(pairs) for pairs in self.assignment.exchanged.values())
        if self.threads == 1 or not count:
            return Value("ptr", "null")
        return self.builder.emit("ptr", f"alloca [{count} x ptr], align 8")

    # -- schedule -----------------------------------------------------------------------------------------------
    def _instructions(self, instructions: Iterable[Instruction]) -> None:
        for instruction in instructions:
            if instruction in self.emitted:
                self._kernel(self.emitted[instruction])
            elif instruction.opcode == "while":
                self._while(instruction)
            elif instruction.opcode == "conditional":
                self._conditional(instruction)
            elif instruction.opcode == "call":
                self._instructions(instruction.attributes["to_apply"].instructions)

    def _kernel(self, emitted: EmittedKernel) -> None:
        assignment, instruction = self.assignment, emitted.kernel.instruction
        reads = [buffer for i in emitted.kernel.inputs for buffer in assignment.of[i]]
        writes = list(assignment.of[instruction])
        workspace = assignment.workspaces.get(instruction)
        touched = [*writes, workspace] if workspace else writes
        shared = emitted.parallel and self.threads > 1
        for number, function in enumerate(emitted.functions):
            if number and shared:
                self.phases.end()
            emit = partial(self._call, function, (*reads, *writes), instruction, shared=shared)
            work = emitted.cost_ns / len(emitted.functions)
            # The timeline has a row for each thread.
            per_thread = 1 if self.profile else emitted.chunks_per_thread
            self.phases.add(Step(emit, reads, touched, shared, work, per_thread))

    def _call(
        self, function: str, buffers: Sequence[Buffer], kernel: Instruction, here: Pointers, *, shared: bool
    ) -> None:
        builder = here.builder
        arguments = [*map(here.of, buffers), here.workspace(kernel)]
        share = (THREAD, THREADS) if shared else (integer(0), integer(1))
        name = self.copies.name(function) if self.loop_depth and not shared and not self.profile else function
        self._mark(builder, row=THREAD if shared else integer(0))
        builder.call(f"@{name}", "void", [*arguments, *share])
        self._mark(builder, row=THREAD if shared else integer(0))

    def _mark(self, builder: Builder, *, row: Value) -> None:
        """Note the time in the profiling variant, in a row of the timeline for each chunk."""
        if not self.profile:
            return
        now = builder.call(self.ir.declare("llvm.readcyclecounter", "i64", []), "i64", [])
        start = builder.mul(row, integer(2 * self.functions))
        slot = builder.gep("i64", Value("ptr", f"@{TIMELINE}"), builder.add(start, integer(self.marks)))
        builder.store(now, slot)
        self.marks += 1

    # -- memory -------------------------------------------------------------------------------------------------
    def _copy(self, pairs: Iterable[tuple[Buffer, Buffer]]) -> None:
        """Copy whole buffers (from, to), of which none overlaps another."""
        copies = [(source, target) for source, target in pairs if source is not target and target.size_bytes]
        for shared in (False, True):
            some = [pair for pair in copies if self._is_long(pair[1]) == shared]
            sources, targets = [source for source, _ in some], [target for _, target in some]
            work = sum(map(_copy_ns, targets))
            if some:
                self.phases.add(Step(partial(_copy_all, some, shared=shared), sources, targets, shared, work))

    def _is_long(self, buffer: Buffer) -> bool:
        """Whether to copy a buffer takes long enough to be shared."""
        return self.threads > 1 and cost.pays_threads(_copy_ns(buffer))

    # -- control ------------------------------------------------------------------------------------------------
    def _while(self, instruction: Instruction) -> None:
        builder, of = self.builder, self.assignment.of
        state, exchanged = of[instruction], self.assignment.exchanged[instruction]
        body: Computation = instruction.attributes["body"]
        self._copy(zip(of[instruction.operands[0]], state, strict=True))
        self.phases.end()
        before = [(self.pointers.of(present), self.pointers.of(other)) for present, other in exchanged]
        header, iteration, done = (builder.new_label(name) for name in ("while", "while.body", "while.end"))
        entry = builder.block
        builder.branch(header)
        builder.begin(header)
        number, *roles = [*builder.placeholders("i64", 1), *builder.placeholders("ptr", 2 * len(exchanged))]
        outside = dict(self.known)
        self.known |= dict(zip([b for pair in exchanged for b in pair], roles, strict=True))
        self.loop_depth += 1
        builder.branch_if(self._goes_on(instruction, number), iteration, done)
        builder.begin(iteration)
        self._instructions(body.instructions)
        swapped = {present for present, _ in exchanged}
        self._copy((a, b) for a, b in zip(of[body.root], state, strict=True) if b not in swapped)
        self.phases.end()
        self.loop_depth -= 1
        following = builder.add(number, integer(1))
        builder.fill(number, [(integer(0), entry), (following, builder.block)])
        for position, (present, other) in enumerate(before):
            now, then = roles[2 * position], roles[2 * position + 1]
            builder.fill(now, [(present, entry), (then, builder.block)])
            builder.fill(then, [(other, entry), (now, builder.block)])
        # Of its own notes: otherwise LLVM may take those of a loop that an iteration ends with for this one's.
        builder.branch(header, keep_rolled(self.ir, scalar=True))
        builder.begin(done)
        self.known.clear()
        self.known.update(outside)
        self._settle(exchanged, before, roles)

    def _goes_on(self, loop: Instruction, number: Value) -> Value:
        """Whether there is an iteration of that number."""
        trip_count = counted_trip_count(loop)
        if trip_count is not None:
            return self.builder.compare("ult", number, integer(trip_count))
        condition: Computation = loop.attributes["condition"]
        self._instructions(condition.instructions)
        self.phases.end()
        return self._predicate(condition.root)

    def _settle(
        self,
        exchanged: Sequence[tuple[Buffer, Buffer]],
        before: Sequence[tuple[Value, Value]],
        roles: Sequence[Value],
    ) -> None:
        """Bring what ended up in the other buffer to where the rest of the program looks for it."""
        builder = self.builder
        for number, ((present, _), (home, _)) in enumerate(zip(exchanged, before, strict=True)):
            moved = builder.compare("ne", roles[2 * number], home)
            with builder.when(moved, "settle"):
                builder.copy_bytes(roles[2 * number], home, integer(present.size_bytes))

    def _predicate(self, instruction: Instruction) -> Value:
        (buffer,) = self.assignment.of[instruction]
        byte = self.builder.load("i8", self.pointers.of(buffer))
        return self.builder.compare("ne", byte, integer(0, "i8"))

    def _conditional(self, instruction: Instruction) -> None:
        builder, of = self.builder, self.assignment.of
        selector, computations = instruction.operands[0], branches(instruction)
        self.phases.end()
        labels = [builder.new_label("branch") for _ in computations]
        done = builder.new_label("conditional.end")
        if selector.array.element_type.name == "pred":
            builder.branch_if(self._predicate(selector), *labels)
        else:
            index = builder.load("i32", self.pointers.of(of[selector][0]))
            cases = " ".join(f"i32 {number}, label %{label}" for number, label in enumerate(labels))
            builder.line(f"switch {index}, label %{labels[-1]} [ {cases} ]")
        for label, computation in zip(labels, computations, strict=True):
            builder.begin(label)
            self._instructions(computation.instructions)
            self._copy(zip(of[computation.root], of[instruction], strict=True))
            self.phases.end()
            builder.branch(done)
        builder.begin(done)


def _copy_ns(buffer: Buffer) -> float:
    return buffer.size_bytes * _COPY_NS


def _copy_all(copies: Sequence[tuple[Buffer, Buffer]], here: Pointers, *, shared: bool) -> None:
    """Copy buffers (from, to): all of each, or the chunk's share."""
    builder = here.builder
    for source, target in copies:
        offset, length = integer(0), integer(target.size_bytes)
        if shared:
            chunk = nest.share(builder, target.size_bytes, THREAD, THREADS, align=_COPY_ALIGN)
            offset, length = chunk.start, builder.sub(chunk.stop, chunk.start)
        builder.copy_bytes(
            builder.gep("i8", here.of(source), offset), builder.gep("i8", here.of(target), offset), length
        )
