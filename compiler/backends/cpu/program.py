"""One native function for a whole module, run by every thread.

The function walks the schedule: it calls one function per kernel, in which every thread does its share, and puts a
barrier only where a kernel depends on memory that other threads may still be writing or reading.  `while`,
`conditional` and `call` are control flow inside it.  A module without any kernel worth sharing is a program for one
thread, and has no barriers at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial

from compiler.analysis.buffers import Assignment, branches, check_unique_callers, complete, lay_out
from compiler.analysis.placing import ALIGNMENT, Buffer, Place, alignment_of
from compiler.analysis.turns import counted_turns
from compiler.backends.cpu.frame import lay_in_frame
from compiler.backends.cpu.hazards import Hazards
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, parameters
from compiler.backends.cpu.kernels.reuse import reusable
from compiler.backends.cpu.kernels.table import EMITTERS
from compiler.backends.cpu.runtime.threads import emit_barrier
from compiler.backends.cpu.sharing import alone, shares
from compiler.backends.cpu.turns import Copies
from compiler.codegen import nest
from compiler.codegen.kernel import Kernel, callees, kernel_of, scheduled
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Builder, Module, Value, integer, keep_rolled
from compiler.codegen.movement import constant_data
from compiler.diagnostics import UnsupportedError
from compiler.ir.decisions import went
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
    unasked = {loop.attributes["condition"].root for loop in _loops(module.entry) if counted_turns(loop) is not None}
    kernels = {i: kernel_of(i) for i in scheduled(module.entry) if i not in unasked}
    assignment = lay_out(module, partial(_reusable, kernels))
    for instruction, pairs in assignment.reused.items():
        kernel = kernels[instruction]
        in_place = tuple((number, kernel.inputs.index(operand)) for number, operand in pairs)
        kernels[instruction] = replace(kernel, in_place=in_place)
    emitted = {i: EMITTERS[kernel.kind](ir, kernel, target, threads) for i, kernel in kernels.items()}
    went("cpu", [(one.kernel.kind.value, one.functions) for one in emitted.values()], ir.functions)
    by_one = alone(module.entry, emitted, threads)
    emitted = {i: replace(kernel, parallel=kernel.parallel and i not in by_one) for i, kernel in emitted.items()}
    if not any(kernel.parallel for kernel in emitted.values()):
        threads = 1
    lay_in_frame(module.entry, assignment, emitted, threads)
    complete(assignment, {i: kernel.workspace_bytes for i, kernel in emitted.items()}, lend_results=True)
    _Driver(ir, assignment, emitted, threads, profile=False).function(module, PROGRAM)
    return Program(ir, module, assignment, emitted, threads, sum(kernel.work for kernel in emitted.values()))


def _loops(computation: Computation) -> Iterator[Instruction]:
    """The loops of a computation and of those that its control flow runs."""
    for instruction in computation.instructions:
        yield from (instruction,) if instruction.opcode == "while" else ()
        for callee in callees(instruction):
            yield from _loops(callee)


def _reusable(kernels: Mapping[Instruction, Kernel], instruction: Instruction) -> list[tuple[int, Instruction]]:
    """Results of an instruction and the operands in whose memory they may be written."""
    kernel = kernels.get(instruction)
    return [(number, kernel.inputs[n]) for number, n in reusable(kernel)] if kernel else []


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
        self.hazards = Hazards()
        self.marks = 0
        self.turns = 0
        self.copies = Copies(ir)
        self.functions = sum(len(kernel.functions) for kernel in emitted.values())
        self.barrier = emit_barrier(ir) if threads > 1 else ""
        self.unchanging = f", !invariant.load {ir.metadata('!{}')}"

    def function(self, module: HloModule, name: str) -> None:
        """Emit the function for a module's entry computation."""
        builder = Builder(self.ir.function(name, "void", _PARAMETERS))
        self.builder = builder
        framed = [(b, alignment_of(b.size_bytes)) for b in self.assignment.buffers if b.place is Place.FRAME]
        self.pointers = {b: builder.emit("ptr", f"alloca [{b.size_bytes} x i8], align {a}") for b, a in framed}
        self._entry(module.entry.instructions)
        builder.ret()
        if self.profile:
            count = 2 * max(1, self.functions) * self.threads
            self.ir.define_global(TIMELINE, f"global [{count} x i64] zeroinitializer, align 64")

    # -- schedule -----------------------------------------------------------------------------------------------
    def _entry(self, instructions: Sequence[Instruction]) -> None:
        """The whole program; where nothing is left to share, the other threads need not wait for its end."""
        shared = [number for number, instruction in enumerate(instructions) if self._shares(instruction)]
        together = shared[-1] + 1 if shared else 0
        self._instructions(instructions[:together])
        if self.hazards.are_shared:
            self._barrier()
        with self._by_one():
            self._instructions(instructions[together:])

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

    def _shares(self, instruction: Instruction) -> bool:
        """Whether anything of what an instruction runs is worth several threads."""
        return self.threads > 1 and shares(instruction, self.emitted)

    @contextmanager
    def _by_one(self) -> Iterator[None]:
        """What follows is the first thread's work alone."""
        if self.threads == 1:
            yield
            return
        threads, self.threads = self.threads, 1
        with self.builder.when(self.builder.compare("eq", Value("i64", "%thread"), integer(0)), "alone"):
            yield
        self.threads = threads

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

        name = self.copies.name(function) if self.turns and not shared and not self.profile else function
        with nullcontext() if shared else self._by_one():
            self._mark()
            builder.call(f"@{name}", "void", [*pointers, *share])
            self._mark()

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
        address = builder.gep("ptr", Value("ptr", base), integer(buffer.number))
        start = builder.load("ptr", address, metadata=self.unchanging)
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
        if self.threads == 1 or self._shares(instruction):
            self._loop(instruction)
            return
        # A loop of small kernels is one thread's work from the first turn to the last.
        self._barrier()
        with self._by_one():
            self._loop(instruction)
        self._barrier()

    def _loop(self, instruction: Instruction) -> None:
        builder, of = self.builder, self.assignment.of
        state, exchanged = of[instruction], self.assignment.exchanged[instruction]
        body: Computation = instruction.attributes["body"]
        self._copy(zip(of[instruction.operands[0]], state, strict=True))
        self._barrier()
        before = [(self._pointer(present), self._pointer(other)) for present, other in exchanged]
        header, turn, done = (builder.new_label(name) for name in ("while", "while.body", "while.end"))
        entry = builder.block
        builder.branch(header)
        builder.begin(header)
        number, *roles = [*builder.placeholders("i64", 1), *builder.placeholders("ptr", 2 * len(exchanged))]
        outside = dict(self.pointers)
        self.pointers |= dict(zip([b for pair in exchanged for b in pair], roles, strict=True))
        self.turns += 1
        builder.branch_if(self._goes_on(instruction, number), turn, done)
        builder.begin(turn)
        self._instructions(body.instructions)
        self.turns -= 1
        swapped = {present for present, _ in exchanged}
        self._copy((a, b) for a, b in zip(of[body.root], state, strict=True) if b not in swapped)
        self._barrier()
        following = builder.add(number, integer(1))
        builder.fill(number, [(integer(0), entry), (following, builder.block)])
        for place, (present, other) in enumerate(before):
            now, then = roles[2 * place], roles[2 * place + 1]
            builder.fill(now, [(present, entry), (then, builder.block)])
            builder.fill(then, [(other, entry), (now, builder.block)])
        # Of its own notes: otherwise LLVM may take those of a loop that a turn ends with for this one's.
        builder.branch(header, keep_rolled(self.ir, scalar=True))
        builder.begin(done)
        # Nobody may write over a predicate before everybody has seen the loop end.
        if counted_turns(instruction) is None:
            self._barrier()
        self.pointers = outside
        self._settle(exchanged, before, roles)

    def _goes_on(self, loop: Instruction, number: Value) -> Value:
        """Whether there is a turn of that number, for which every thread may count for itself where all is known."""
        turns = counted_turns(loop)
        if turns is not None:
            return self.builder.compare("ult", number, integer(turns))
        condition: Computation = loop.attributes["condition"]
        self._instructions(condition.instructions)
        self._barrier()
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
            self._instructions(computation.instructions)
            self._copy(zip(of[computation.root], of[instruction], strict=True))
            self._barrier()
            builder.branch(done)
        builder.begin(done)
