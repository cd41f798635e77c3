"""The code of a persistent launch: one block that goes through the blocks of others in turn.

Every kernel that it does the work of is emitted again, as a part of it that is told which thread of which block it is.
A barrier stands between two steps where one writes what the other touches.  Blocks without barriers or shared memory go
side by side; others have a barrier of their own, for as many threads as they are made for.  All of these have the same
number, so a barrier for all stands between two that are for different numbers of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from compiler.analysis.storage import Buffer
from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Launch, LaunchModule
from compiler.backends.nvptx.steps import (
    ConditionalStep,
    CopyStep,
    LaunchStep,
    RecordStep,
    Step,
    WaitStep,
    WhileStep,
    buffers_of,
    launches_of,
    written_by,
)
from compiler.codegen.llvm_ir import I8, I32, Builder, Function, Module, Value, integer, keep_rolled

MOST_THREADS = 512
"""Threads of a launch: with as many, each may have 128 registers."""


def side_by_side(function: Function, launch: Launch) -> int:
    """How many blocks of a launch may go side by side in a larger one."""
    alone = function.waits or function.shared or launch.threads % grid.WARP or MOST_THREADS % launch.threads
    return 1 if alone else MOST_THREADS // launch.threads


_Caller = Callable[[Value, Value], None]
"""Calls a function for a thread and a block."""


class _Since:
    """What steps have done since the last barrier for all, which tells whether the next needs one before it."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions
        self.clear()

    def clear(self) -> None:
        """Begin anew, behind a barrier."""
        self.read: set[Buffer] = set()
        self.wrote: set[Buffer] = set()
        self.waiting = 0

    def add(self, step: LaunchStep | CopyStep) -> None:
        """Remember a step."""
        self.read.update(step.reads)
        self.wrote.update(step.writes)
        self.waiting = self._waiting(step) or self.waiting

    def needs_barrier(self, step: LaunchStep | CopyStep) -> bool:
        """Whether a step must not begin before all is done.

        That is where it reads what another has written, writes what another has touched, or uses shared memory.  Where
        both wait for different numbers of threads, too: those that only the second has would wait with the first.
        """
        if any(buffer in self.wrote for buffer in step.reads):
            return True
        if any(buffer in self.read or buffer in self.wrote for buffer in step.writes):
            return True
        if self.read and isinstance(step, LaunchStep) and self.functions[step.launch.function].shared:
            return True
        return self._waiting(step) > 0 and self.waiting not in (0, self._waiting(step))

    def _waiting(self, step: LaunchStep | CopyStep) -> int:
        """For how many threads a step's own barrier is; 0 where it has none."""
        if not isinstance(step, LaunchStep):
            return 0
        function = self.functions[step.launch.function]
        return step.launch.threads if function.waits or function.shared else 0


class Emission:
    """One persistent launch being emitted."""

    def __init__(self, ir: Module, kernels: Mapping[str, EmittedKernel], row: Sequence[Step]) -> None:
        self.ir, self.row = ir, tuple(row)
        self.functions = {function.name: function for function in ir.functions}
        written = dict.fromkeys(written_by(row))
        self.buffers = (*(b for b in dict.fromkeys(buffers_of(row)) if b not in written), *written)
        self.written = len(written)
        self.pointers = {buffer: Value("ptr", f"%buffer{number}") for number, buffer in enumerate(self.buffers)}
        self.since = _Since(self.functions)
        launches = [step.launch for step in launches_of(row)]
        self.threads = max((launch.threads for launch in launches), default=grid.WARP)
        if any(launch.blocks > 1 and side_by_side(self.functions[launch.function], launch) > 1 for launch in launches):
            self.threads = MOST_THREADS
        self.threads = -(-self.threads // grid.WARP) * grid.WARP
        self.callees = dict(self._emitted({id(k): k for k in (kernels[launch.function] for launch in launches)}))

    def launch(self, name: str) -> LaunchStep:
        """Emit the function that runs all steps in one launch."""
        attributes = f'nounwind "nvvm.maxntid"="{self.threads}" "nvvm.minctasm"="1"'
        parameters = [(f"ptr align {self._alignment(b)}", self.pointers[b].name[1:]) for b in self.buffers]
        whole = self.ir.function(name, "void", parameters, linkage="ptx_kernel", attributes=attributes)
        self.builder = Builder(whole)
        self.thread = grid.thread(self.builder)
        self._sequence(self.row)
        self.builder.ret()
        return LaunchStep(Launch(whole.name, 1, self.threads), self.buffers, self.written, within=self.row)

    @staticmethod
    def _alignment(buffer: Buffer) -> int:
        return next((size for size in (16, 8, 4, 2) if buffer.size_bytes >= size), 1)

    def _emitted(self, kernels: Mapping[int, EmittedKernel]) -> Iterator[tuple[str, str]]:
        """The names of launches' functions, and of the parts that do the same."""
        module = LaunchModule.of(self.ir, self.threads)
        for kernel in kernels.values():
            for launch, function in zip(kernel.launches, kernel.emit(module), strict=True):
                yield launch.function, function.function

    # -- steps --------------------------------------------------------------------------------------------------
    def _sequence(self, steps: Sequence[Step]) -> None:
        for step in steps:
            match step:
                case LaunchStep():
                    self._order(step)
                    self._call(step)
                case CopyStep():
                    self._order(step)
                    self._move(step)
                case WhileStep():
                    self._loop(step)
                case ConditionalStep():
                    self._branch(step)
                case RecordStep() | WaitStep():
                    pass

    def _barrier(self) -> None:
        grid.barrier(self.builder)
        self.since.clear()

    def _order(self, step: LaunchStep | CopyStep) -> None:
        if self.since.needs_barrier(step):
            self._barrier()
        self.since.add(step)

    def _call(self, step: LaunchStep) -> None:
        launch, builder = step.launch, self.builder
        callee = self.callees[launch.function]
        pointers = [Value("ptr", "null") if buffer is None else self.pointers[buffer] for buffer in step.buffers]
        given = [*pointers, *map(integer, launch.numbers)]

        def call(thread: Value, block: Value) -> None:
            own = [builder.cast("trunc", value, I32) for value in (thread, block)]
            builder.call(f"@{callee}", "void", [*given, *own])

        together = min(side_by_side(self.functions[launch.function], launch), self.threads // launch.threads)
        if launch.blocks > 1 and together > 1:
            group, thread = builder.udivrem(self.thread, integer(launch.threads))
            with builder.loop(group, integer(launch.blocks), step=together, metadata=keep_rolled(self.ir)) as blocks:
                call(thread, blocks.index)
            return
        if launch.threads < self.threads:
            with builder.when(builder.compare("slt", self.thread, integer(launch.threads)), "some"):
                self._blocks(launch, call)
        else:
            self._blocks(launch, call)

    def _blocks(self, launch: Launch, call: _Caller) -> None:
        """One block after the other; shared memory is the next one's when all are done with it."""
        if launch.blocks == 1:
            call(self.thread, integer(0))
            return
        builder = self.builder
        with builder.loop(integer(0), integer(launch.blocks), nonempty=True, metadata=keep_rolled(self.ir)) as blocks:
            call(self.thread, blocks.index)
            if self.functions[launch.function].shared:
                grid.some_wait(builder, launch.threads)

    def _move(self, step: CopyStep) -> None:
        """Copy, each thread a word at a time as wide as the size allows."""
        builder, size = self.builder, step.target.size_bytes
        width, type_ = next((w, f"i{8 * w}") for w in (8, 4, 2, 1) if size % w == 0)
        with builder.loop(
            self.thread, integer(size // width), step=self.threads, name="copy", metadata=keep_rolled(self.ir)
        ) as loop:
            source, target = (builder.gep(type_, self.pointers[b], loop.index) for b in (step.source, step.target))
            builder.store(builder.load(type_, source, align=width), target, align=width)

    def _loop(self, step: WhileStep) -> None:
        builder = self.builder
        self._barrier()
        if step.trip_count is not None:
            with builder.loop(integer(0), integer(step.trip_count), metadata=keep_rolled(self.ir), name="iteration"):
                self._sequence(step.body)
                self._barrier()
            return
        header, body, done = (builder.new_label(name) for name in ("while", "while.body", "while.end"))
        builder.branch(header)
        builder.begin(header)
        self._sequence(step.condition)
        self._barrier()
        predicate = builder.load(I8, self.pointers[step.predicate])
        # Nobody may write over the predicate before everybody has read it.
        self._barrier()
        builder.branch_if(builder.compare("ne", predicate, integer(0, I8)), body, done)
        builder.begin(body)
        self._sequence(step.body)
        self._barrier()
        builder.branch(header, keep_rolled(self.ir, scalar=True))
        builder.begin(done)

    def _branch(self, step: ConditionalStep) -> None:
        builder = self.builder
        self._barrier()
        selector = builder.load(I8 if step.is_pred else I32, self.pointers[step.selector])
        # A branch may write over the selector.
        self._barrier()
        labels = [builder.new_label("branch") for _ in step.branches]
        done = builder.new_label("conditional.end")
        if step.is_pred:
            builder.branch_if(builder.compare("ne", selector, integer(0, I8)), *labels)
        else:
            cases = " ".join(f"i32 {number}, label %{label}" for number, label in enumerate(labels))
            builder.line(f"switch {selector}, label %{labels[-1]} [ {cases} ]")
        for label, branch in zip(labels, step.branches, strict=True):
            builder.begin(label)
            self._sequence(branch)
            self._barrier()
            builder.branch(done)
        builder.begin(done)
