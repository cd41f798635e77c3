"""One native function for a whole module, run by every thread.

The function walks the schedule: it calls one function per kernel, in which every thread does its share, and puts a
barrier only where a kernel depends on memory that other threads may still be writing or reading.  `while`,
`conditional` and `call` are control flow inside it.  A module without any kernel worth sharing is a program for one
thread, and has no barriers at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from compiler.analysis.buffers import Assignment, branches, check_unique_callers, complete, lay_out
from compiler.analysis.placing import ALIGNMENT, Buffer, Place
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, parameters
from compiler.backends.cpu.kernels.reuse import reusable
from compiler.backends.cpu.kernels.table import EMITTERS
from compiler.backends.cpu.runtime.threads import emit_barrier
from compiler.backends.cpu.turns import Copies
from compiler.codegen import nest
from compiler.codegen.kernel import Kernel, kernel_of, scheduled
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Builder, Module, Value, integer, keep_rolled
from compiler.codegen.movement import constant_data
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Computation, Instruction
from compiler.ir.module import Module as HloModule

_PARAMETERS = [
    ("ptr readonly", "parameters"),
    ("ptr readonly", "results"),
    ("ptr", "arena"),
    ("ptr", "sync"),
    ("i64", "thread"),
    ("i64", "threads"),
]

_COPY_ALIGN = 64
"""Bytes at whose multiples a copy is shared between threads."""


@dataclass(frozen=True, slots=True)
class Program:
    """A module as LLVM IR.

    Attributes:
        ir: the LLVM module.
        module: what it was made from.
        assignment: where everything lies.
        emitted: the kernels, in the order of the schedule.
        threads: how many threads it is worth running on.
        work: estimated nanoseconds on one thread; loops count one turn.
    """

    ir: Module
    module: HloModule
    assignment: Assignment
    emitted: dict[Instruction, EmittedKernel]
    threads: int
    work: float

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


def build(module: HloModule, target: Target, threads: int) -> Program:
    """Emit a scheduled module as a program for up to that many threads."""
    check_unique_callers(module)
    ir = Module(target.present, unrolls=True)
    kernels = {instruction: kernel_of(instruction) for instruction in scheduled(module.entry)}
    assignment = lay_out(module, partial(_reusable, kernels))
    for instruction, pairs in assignment.reused.items():
        kernel = kernels[instruction]
        in_place = tuple((number, kernel.inputs.index(operand)) for number, operand in pairs)
        kernels[instruction] = replace(kernel, in_place=in_place)
    emitted = {i: EMITTERS[kernel.kind](ir, kernel, target, threads) for i, kernel in kernels.items()}
    complete(assignment, {i: kernel.workspace_bytes for i, kernel in emitted.items()}, lend_results=True)
    if not any(kernel.parallel for kernel in emitted.values()):
        threads = 1
    _Driver(ir, assignment, emitted, threads, profile=False).function(module, PROGRAM)
    return Program(ir, module, assignment, emitted, threads, sum(kernel.work for kernel in emitted.values()))


def _reusable(kernels: Mapping[Instruction, Kernel], instruction: Instruction) -> list[tuple[int, Instruction]]:
    """Results of an instruction and the operands in whose memory they may be written."""
    kernel = kernels.get(instruction)
    return [(number, kernel.inputs[n]) for number, n in reusable(kernel)] if kernel else []


@dataclass(slots=True)
class _Hazards:
    """What has happened to memory since the last barrier."""

    written: list[tuple[Buffer, bool]] = field(default_factory=list)
    read: list[tuple[Buffer, bool]] = field(default_factory=list)

    def conflict(self, reads: Iterable[Buffer], writes: Iterable[Buffer], *, shared: bool) -> bool:
        """Whether an access must wait for other threads.

        `shared` tells whether all threads take part in it; what thread 0 does alone is in order by itself.
        """
        writes = list(writes)
        before_reads = self._meets(self.written, reads, shared=shared)
        return (
            before_reads
            or self._meets(self.written, writes, shared=shared)
            or self._meets(self.read, writes, shared=shared)
        )

    @staticmethod
    def _meets(earlier: Sequence[tuple[Buffer, bool]], now: Iterable[Buffer], *, shared: bool) -> bool:
        return any((shared or was_shared) and buffer.overlaps(other) for buffer in now for other, was_shared in earlier)

    def note(self, reads: Iterable[Buffer], writes: Iterable[Buffer], *, shared: bool) -> None:
        """Record an access."""
        self.read += [(buffer, shared) for buffer in reads]
        self.written += [(buffer, shared) for buffer in writes]

    def clear(self) -> None:
        """A barrier has been passed."""
        self.written.clear()
        self.read.clear()


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
        self.hazards = _Hazards()
        self.marks = 0
        self.turns = 0
        self.copies = Copies(ir)
        self.functions = sum(len(kernel.functions) for kernel in emitted.values())
        self.barrier = emit_barrier(ir) if threads > 1 else ""

    def function(self, module: HloModule, name: str) -> None:
        """Emit the function for a module's entry computation."""
        builder = Builder(self.ir.function(name, "void", _PARAMETERS))
        self.builder = builder
        self.pointers: dict[Buffer, Value] = {}
        self._computation(module.entry)
        builder.ret()
        if self.profile:
            count = 2 * max(1, self.functions) * self.threads
            self.ir.define_global(TIMELINE, f"global [{count} x i64] zeroinitializer, align 64")

    # -- schedule -----------------------------------------------------------------------------------------------
    def _computation(self, computation: Computation) -> None:
        for instruction in computation.instructions:
            if instruction in self.emitted:
                self._kernel(self.emitted[instruction])
            elif instruction.opcode == "while":
                self._while(instruction)
            elif instruction.opcode == "conditional":
                self._conditional(instruction)
            elif instruction.opcode == "call":
                self._computation(instruction.attributes["to_apply"])

    def _kernel(self, emitted: EmittedKernel) -> None:
        kernel, assignment = emitted.kernel, self.assignment
        reads = [buffer for i in kernel.inputs for buffer in assignment.of[i]]
        writes = list(assignment.of[kernel.instruction])
        workspace = assignment.workspaces.get(kernel.instruction)
        touched = [*writes, workspace] if workspace else writes
        shared = emitted.parallel and self.threads > 1
        pointers = [self._pointer(buffer) for buffer in (*reads, *writes)]
        pointers.append(self._workspace(workspace) if workspace else Value("ptr", "null"))
        self._wait_for(reads, touched, shared=shared)
        for number, function in enumerate(emitted.functions):
            if number and shared:
                self._barrier()
            self._call(function, pointers, shared=shared)
        self.hazards.note(reads, touched, shared=shared)

    def _call(self, function: str, pointers: Sequence[Value], *, shared: bool) -> None:
        builder = self.builder
        share = (Value("i64", "%thread"), Value("i64", "%threads")) if shared else (integer(0), integer(1))

        def call() -> None:
            self._mark()
            name = self.copies.name(function) if self.turns and not shared and not self.profile else function
            builder.call(f"@{name}", "void", [*pointers, *share])
            self._mark()

        if shared or self.threads == 1:
            call()
            return
        with builder.when(builder.compare("eq", Value("i64", "%thread"), integer(0)), "alone"):
            call()

    def _mark(self) -> None:
        """Note the time in the profiling variant."""
        if not self.profile:
            return
        builder = self.builder
        now = builder.call(self.ir.declare("llvm.readcyclecounter", "i64", []), "i64", [])
        row = builder.mul(Value("i64", "%thread"), integer(2 * self.functions))
        slot = builder.gep("i64", Value("ptr", f"@{TIMELINE}"), builder.add(row, integer(self.marks)))
        builder.store(now, slot)
        self.marks += 1

    # -- memory -------------------------------------------------------------------------------------------------
    def _pointer(self, buffer: Buffer) -> Value:
        builder = self.builder
        if buffer in self.pointers:
            return self.pointers[buffer]
        if buffer.place is Place.CONSTANT:
            return self._constant(buffer.owner)
        if buffer.place is Place.ARENA:
            return builder.gep("i8", Value("ptr", "%arena"), integer(buffer.offset))
        base = "%parameters" if buffer.place is Place.PARAMETER else "%results"
        start = builder.load("ptr", builder.gep("ptr", Value("ptr", base), integer(buffer.number)))
        return builder.gep("i8", start, integer(buffer.offset)) if buffer.offset else start

    def _workspace(self, buffer: Buffer) -> Value:
        """A workspace, which starts at a multiple of `ALIGNMENT`; results, where it may lie, do not."""
        builder, pointer = self.builder, self._pointer(buffer)
        if buffer.place is Place.ARENA:
            return pointer
        up = builder.add(builder.cast("ptrtoint", pointer, "i64"), integer(ALIGNMENT - 1))
        aligned = builder.binary("and", up, integer(-ALIGNMENT))
        return builder.cast("inttoptr", aligned, "ptr")

    def _constant(self, instruction: Instruction) -> Value:
        literal = instruction.literal
        if literal.array is None:
            raise UnsupportedError(f"the constant {instruction.name}", "the CPU back end", "elided, or a tuple")
        name = "".join(c if c.isalnum() else "_" for c in f"{instruction.computation.name}.{instruction.name}")
        return constant_data(self.builder, literal, f"data.{name}")

    def _wait_for(self, reads: Sequence[Buffer], writes: Sequence[Buffer], *, shared: bool) -> None:
        if self.hazards.conflict(reads, writes, shared=shared):
            self._barrier()

    def _barrier(self) -> None:
        self.hazards.clear()
        if self.threads > 1:
            self.builder.call(self.barrier, "void", [Value("ptr", "%sync"), Value("i64", "%threads")])

    def _copy(self, pairs: Iterable[tuple[Buffer, Buffer]]) -> None:
        """Copy whole buffers (from, to), every thread its share."""
        copies = [(source, target) for source, target in pairs if source is not target and target.size_bytes]
        if not copies:
            return
        sources, targets = [source for source, _ in copies], [target for _, target in copies]
        self._wait_for(sources, targets, shared=self.threads > 1)
        for source, target in copies:
            self._copy_bytes(self._pointer(source), self._pointer(target), target.size_bytes)
        self.hazards.note(sources, targets, shared=self.threads > 1)

    # -- control ------------------------------------------------------------------------------------------------
    def _while(self, instruction: Instruction) -> None:
        if self.threads == 1 or any(self._shares(callee) for callee in instruction.called_computations()):
            self._loop(instruction)
            return
        # A loop of small kernels is one thread's work from the first turn to the last.
        self._barrier()
        threads, self.threads = self.threads, 1
        with self.builder.when(self.builder.compare("eq", Value("i64", "%thread"), integer(0)), "alone"):
            self._loop(instruction)
        self.threads = threads
        self._barrier()

    def _shares(self, computation: Computation) -> bool:
        """Whether any kernel of a computation is worth several threads."""
        return any(self.emitted[i].parallel for i in scheduled(computation))

    def _loop(self, instruction: Instruction) -> None:
        builder, of = self.builder, self.assignment.of
        state, exchanged = of[instruction], self.assignment.exchanged[instruction]
        self._copy(zip(of[instruction.operands[0]], state, strict=True))
        self._barrier()
        before = [(self._pointer(present), self._pointer(other)) for present, other in exchanged]
        header, body, done = (builder.new_label(name) for name in ("while", "while.body", "while.end"))
        entry = builder.block
        builder.branch(header)
        builder.begin(header)
        roles = builder.placeholders("ptr", 2 * len(exchanged))
        outside = dict(self.pointers)
        self.pointers |= dict(zip([b for pair in exchanged for b in pair], roles, strict=True))
        condition: Computation = instruction.attributes["condition"]
        self.turns += 1
        self._computation(condition)
        self._barrier()
        builder.branch_if(self._predicate(condition.root), body, done)
        builder.begin(body)
        step: Computation = instruction.attributes["body"]
        self._computation(step)
        self.turns -= 1
        swapped = {present for present, _ in exchanged}
        self._copy((a, b) for a, b in zip(of[step.root], state, strict=True) if b not in swapped)
        self._barrier()
        for number, (present, other) in enumerate(before):
            now, then = roles[2 * number], roles[2 * number + 1]
            builder.fill(now, [(present, entry), (then, builder.block)])
            builder.fill(then, [(other, entry), (now, builder.block)])
        # Of its own notes: otherwise LLVM may take those of a loop that a turn ends with for this one's.
        builder.branch(header, keep_rolled(self.ir, scalar=True))
        builder.begin(done)
        # Nobody may write over the predicate before everybody has seen the loop end.
        self._barrier()
        self.pointers = outside
        self._settle(exchanged, before, roles)

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
                self._copy_bytes(roles[2 * number], home, present.size_bytes)
        if exchanged:
            self._barrier()

    def _copy_bytes(self, source: Value, target: Value, size: int) -> None:
        """Copy memory, every thread its share."""
        builder = self.builder
        offset, length = integer(0), integer(size)
        if self.threads > 1:
            part = nest.share(builder, size, THREAD, THREADS, align=_COPY_ALIGN)
            offset, length = part.start, builder.sub(part.stop, part.start)
        builder.copy_bytes(builder.gep("i8", source, offset), builder.gep("i8", target, offset), length)

    def _predicate(self, instruction: Instruction) -> Value:
        (buffer,) = self.assignment.of[instruction]
        byte = self.builder.load("i8", self._pointer(buffer))
        return self.builder.compare("ne", byte, integer(0, "i8"))

    def _conditional(self, instruction: Instruction) -> None:
        builder, of = self.builder, self.assignment.of
        selector, computations = instruction.operands[0], branches(instruction)
        self._barrier()
        labels = [builder.new_label("branch") for _ in computations]
        done = builder.new_label("conditional.end")
        if selector.array.element_type.name == "pred":
            builder.branch_if(self._predicate(selector), *labels)
        else:
            index = builder.load("i32", self._pointer(of[selector][0]))
            cases = " ".join(f"i32 {number}, label %{label}" for number, label in enumerate(labels))
            builder.line(f"switch {index}, label %{labels[-1]} [ {cases} ]")
        for label, computation in zip(labels, computations, strict=True):
            builder.begin(label)
            self._computation(computation)
            self._copy(zip(of[computation.root], of[instruction], strict=True))
            self._barrier()
            builder.branch(done)
        builder.begin(done)
