"""The instructions themselves: one method for each form that the kernels use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from compiler.codegen.llvm_ir.module import Function, unrolling
from compiler.codegen.llvm_ir.values import FLOAT_TYPES, I1, I32, Value, element_of, fold, integer, mangled, vector_type

_MOST_LINES = 256
"""Lines of LLVM IR that an unrolled loop may come to: gemv and sums of columns compile in two thirds of the time
(11-21)."""
_MOST_VECTOR_LINES = 1024
"""Instructions up to which all iterations of a loop are written out; scalar ones may still become vectors as a loop."""

_SHARED = "atomic ", " monotonic"
"""What stands before the type and behind the address of an access that other threads may run into."""

_EFFECT = "  call void "
"""How a line begins that calls something for its effects: no loop around it is made vectors."""


@dataclass(slots=True)
class Loop:
    """A counted loop being emitted: its induction variable, and the values carried from iteration to iteration."""

    index: Value
    carried: list[Value]
    results: list[Value] = field(default_factory=list)
    _next: list[Value] = field(default_factory=list)

    def carry(self, *values: Value) -> None:
        """Set what the carried values are in the next iteration (and, after the last one, `results`)."""
        self._next = list(values)


class Builder:
    """Appends instructions to the current block of a function."""

    __slots__ = ("_block", "_lines", "_loops", "_placeholders", "_visited", "calls_functions", "function", "module")
    call_attributes, calls_routines = "", False  # of calls of math functions; whether all of these may be routines

    def __init__(self, function: Function, entry: str = "entry") -> None:
        self.function = function
        self.module = function.module
        self._lines = function.lines
        self._block = entry
        self._placeholders: dict[str, int] = {}
        self._visited: set[str] = set()
        self._loops, self.calls_functions = 0, False
        self.begin(entry)

    @property
    def writes_out(self) -> bool:
        """Whether functions are written out where they are called."""
        return False

    # -- blocks -------------------------------------------------------------------------------------------------
    def new_label(self, hint: str) -> str:
        """A fresh label; `begin` starts its block."""
        self.function.counter += 1
        return f"{hint}.{self.function.counter}"

    def begin(self, label: str) -> None:
        """Start the block `label`; what follows is appended there."""
        self._lines.append(f"{label}:")
        self._block = label
        self._visited.add(label)

    @property
    def block(self) -> str:
        """The label of the current block."""
        return self._block

    def branch(self, label: str, metadata: str = "") -> None:
        """Jump to a block."""
        self._lines.append(f"  br label %{label}{metadata}")
        self._note_loop(label)

    def branch_if(self, condition: Value, then: str, otherwise: str, metadata: str = "") -> None:
        """Jump to the label `then` where an i1 `condition` holds, else to `otherwise`; `metadata` is LLVM's."""
        self._lines.append(f"  br i1 {condition.name}, label %{then}, label %{otherwise}{metadata}")
        self._note_loop(then)
        self._note_loop(otherwise)

    def _note_loop(self, label: str) -> None:
        if label in self._visited:
            self._loops += 1
            self.function.scalar_loops += 1

    def ret(self, value: Value | None = None) -> None:
        """Return."""
        self._lines.append(f"  ret {value}" if value else "  ret void")

    # -- instructions -------------------------------------------------------------------------------------------
    def emit(self, type_: str, text: str) -> Value:
        """Append `%n = text` and return the value, of type `type_`."""
        self.function.counter += 1
        name = f"%{self.function.counter}"
        # A leading letter keeps names free of LLVM's rule that plain numbers must be consecutive.
        name = f"%v{name[1:]}"
        self._lines.append(f"  {name} = {text}")
        return Value(type_, name)

    def line(self, text: str) -> None:
        """Append an instruction that has no result."""
        self._lines.append(f"  {text}")

    def binary(self, opcode: str, left: Value, right: Value, flags: str = "") -> Value:
        """`opcode [flags] left, right`; integer literals are folded."""
        if opcode[0] != "f":
            folded = fold(opcode, left, right)
            if folded is not None:
                return folded
        flags = f"{flags} " if flags else ""
        return self.emit(left.type, f"{opcode} {flags}{left.type} {left.name}, {right.name}")

    def add(self, left: Value, right: Value) -> Value:
        """Integer sum that does not overflow (index arithmetic)."""
        return self.binary("add", left, right, "nsw")

    def sub(self, left: Value, right: Value) -> Value:
        """Integer difference that does not overflow."""
        return self.binary("sub", left, right, "nsw")

    def mul(self, left: Value, right: Value) -> Value:
        """Integer product that does not overflow."""
        return self.binary("mul", left, right, "nsw")

    def udivrem(self, left: Value, right: Value) -> tuple[Value, Value]:
        """Quotient and remainder of integers that are not negative: the row and the column of a place, for one."""
        return self.binary("udiv", left, right), self.binary("urem", left, right)

    def smin(self, left: Value, right: Value) -> Value:
        """The lesser of two signed integers."""
        return self._extremum("smin", left, right)

    def smax(self, left: Value, right: Value) -> Value:
        """The greater of two signed integers."""
        return self._extremum("smax", left, right)

    def umin(self, left: Value, right: Value) -> Value:
        """The lesser of two unsigned integers."""
        return self.overloaded("umin", [left, right])

    def _extremum(self, name: str, left: Value, right: Value) -> Value:
        folded = fold(name, left, right)
        return self.overloaded(name, [left, right]) if folded is None else folded

    def clamp(self, value: Value, low: Value, high: Value) -> Value:
        """A signed integer `value` from `low` to `high`, which wins where they cross."""
        return self.smin(self.smax(value, low), high)

    def compare(self, predicate: str, left: Value, right: Value) -> Value:
        """`icmp` or `fcmp` of `left` and `right` by LLVM's `predicate`, whichever the type asks for."""
        opcode = "fcmp" if element_of(left.type) in FLOAT_TYPES else "icmp"
        type_ = left.type.replace(f"x {element_of(left.type)}>", "x i1>") if left.type[0] == "<" else I1
        return self.emit(type_, f"{opcode} {predicate} {left.type} {left.name}, {right.name}")

    def select(self, condition: Value, then: Value, otherwise: Value) -> Value:
        """`condition ? then : otherwise`."""
        return self.emit(then.type, f"select {condition}, {then}, {otherwise}")

    def cast(self, opcode: str, value: Value, type_: str) -> Value:
        """`opcode value to type_`, e.g. `zext`, `fptrunc`, `bitcast`; nothing when the type is already right."""
        if value.type == type_:
            return value
        return self.emit(type_, f"{opcode} {value} to {type_}")

    def unary(self, opcode: str, value: Value, flags: str = "") -> Value:
        """`opcode flags value`, i.e. `fneg` or `freeze`; `flags` are LLVM's fast-math flags."""
        flags = f"{flags} " if flags else ""
        return self.emit(value.type, f"{opcode} {flags}{value}")

    def call(
        self, callee: str, result: str, arguments: Sequence[Value], flags: str = "", attributes: str = ""
    ) -> Value:
        """Call a `callee` (`@name`) with `arguments`; for a void `result` the returned value is meaningless.

        `attributes` are the call's own, which LLVM heeds beside those of the function, `flags` are fast-math flags.
        """
        text = f"call {flags + ' ' if flags else ''}{result} {callee}({', '.join(map(str, arguments))}) {attributes}"
        text = text.rstrip()
        if result == "void":
            self._lines.append(f"  {text}")
            return Value("void", "void")
        return self.emit(result, text)

    def intrinsic(self, name: str, arguments: Sequence[Value], *, result: str = "", flags: str = "") -> Value:
        """Call `llvm.name` with `arguments` and fast-math `flags`; the `result` is of the first's type unless given.

        The name is the whole one; `overloaded` adds the type of its first argument.
        """
        result = result or arguments[0].type
        callee = self.module.declare(f"llvm.{name}", result, [argument.type for argument in arguments])
        return self.call(callee, result, arguments, flags)

    def overloaded(self, name: str, arguments: Sequence[Value], *, result: str = "", flags: str = "") -> Value:
        """Call `llvm.name.TYPE`, for the type of the first of `arguments`; `result` and `flags` as in `intrinsic`."""
        return self.intrinsic(f"{name}.{mangled(arguments[0].type)}", arguments, result=result, flags=flags)

    def alike(self, operands: Sequence[Value]) -> list[Value]:
        """Operands of one element each as they are; where some are vectors (`LaneBuilder`), all as vectors."""
        return list(operands)

    # -- memory -------------------------------------------------------------------------------------------------
    def gep(self, element: str, pointer: Value, index: Value) -> Value:
        """The address of element `index` of an array of `element` at `pointer`."""
        if index.literal == 0:
            return pointer
        return self.emit(pointer.type, f"getelementptr inbounds {element}, {pointer}, {index}")

    def load(self, type_: str, pointer: Value, *, align: int = 0, metadata: str = "", shared: bool = False) -> Value:
        """Load a `type_` from `pointer`, aligned to `align` bytes.

        Args:
            type_: LLVM's.
            pointer: where from.
            align: bytes, 0 for the type's own.
            metadata: as in `, !invariant.load !0`.
            shared: whether other threads may store there meanwhile; in no order with anything else.
        """
        access, order = _SHARED if shared else ("", "")
        return self.emit(type_, f"load {access}{type_}, {pointer}{order}{_aligned(align)}{metadata}")

    def store(self, value: Value, pointer: Value, *, align: int = 0, metadata: str = "", shared: bool = False) -> None:
        """Store a `value` at `pointer`, with `align`, `metadata` and `shared` as in `load`."""
        access, order = _SHARED if shared else ("", "")
        self._lines.append(f"  store {access}{value}, {pointer}{order}{_aligned(align)}{metadata}")

    def prefetch(self, element: str, pointer: Value, index: Value) -> None:
        """Ask for an `element`, at an `index` from `pointer` on, to be brought near; it need not exist."""
        address = self.emit(pointer.type, f"getelementptr {element}, {pointer}, {index}")
        callee = self.module.declare("llvm.prefetch.p0", "void", ["ptr", I32, I32, I32])
        self.call(callee, "void", [address, *(integer(option, I32) for option in (0, 3, 1))])

    def copy_bytes(self, source: Value, target: Value, count: Value) -> None:
        """Copy `count` bytes from `source` to `target`, which do not overlap."""
        callee = self.module.declare("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
        self.call(callee, "void", [target, source, count, Value("i1", "false")])

    def clear_bytes(self, target: Value, count: Value) -> None:
        """Set memory to zero."""
        self.fill_bytes(target, integer(0, "i8"), count)

    def fill_bytes(self, target: Value, byte: Value, count: Value) -> None:
        """Set `count` bytes from `target` on to a `byte`."""
        callee = self.module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
        self.call(callee, "void", [target, byte, count, Value("i1", "false")])

    # -- vectors ------------------------------------------------------------------------------------------------
    def broadcast(self, value: Value, lanes: int) -> Value:
        """A vector with `value` in every lane."""
        type_ = vector_type(value.type, lanes)
        first = self.emit(type_, f"insertelement {type_} poison, {value}, i64 0")
        mask = vector_type(I32, lanes)
        return self.emit(type_, f"shufflevector {first}, {type_} poison, {mask} zeroinitializer")

    def extract(self, vector: Value, lane: int) -> Value:
        """One lane of a vector."""
        return self.emit(element_of(vector.type), f"extractelement {vector}, i64 {lane}")

    def insert(self, vector: Value, value: Value, lane: int) -> Value:
        """The `vector` with a `value` in the place of one `lane`."""
        return self.emit(vector.type, f"insertelement {vector}, {value}, i64 {lane}")

    def shuffle(self, left: Value, right: Value | None, lanes: Sequence[int]) -> Value:
        """The `lanes` of `left`, or of it and `right` laid end to end, by number; -1 leaves one undefined."""
        element = element_of(left.type)
        mask = ", ".join(f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in lanes)
        other = right if right is not None else Value(left.type, "poison")
        return self.emit(
            vector_type(element, len(lanes)), f"shufflevector {left}, {other}, <{len(lanes)} x i32> <{mask}>"
        )

    # -- control ------------------------------------------------------------------------------------------------
    @contextmanager
    def loop(  # noqa: PLR0913 - a loop's parts, all but its bounds by name
        self,
        start: Value,
        stop: Value,
        *,
        step: int = 1,
        carried: Sequence[Value] = (),
        name: str = "loop",
        metadata: str = "",
        nonempty: bool = False,
        scalar: bool = False,
    ) -> Iterator[Loop]:
        """`for (i = start; i < stop; i += step)`, signed; `metadata` goes on the back edge (`, !llvm.loop !1`).

        Labels begin with `name`, and `carried` is what the first iteration is given.  `nonempty` promises that the body
        runs at least once and saves the guard, `scalar` that there is nothing in it worth being vectorised.  After the
        `with` block, `loop.results` holds the carried values as they are behind the loop.
        """
        trip_count = _trip_count(start, stop, step)
        if trip_count == 1:
            yield (once := Loop(start, list(carried)))
            once.results = once._next or once.carried  # noqa: SLF001
            return
        body, done = self.new_label(name), self.new_label(f"{name}.end")
        before = self._block
        nonempty = nonempty or trip_count > 0
        self._enter(start, stop, (body, done), nonempty=nonempty)
        slot, inner = len(self._lines), self._loops
        index = self._reserve(start.type)
        phis = [self._reserve(value.type) for value in carried]
        loop = Loop(index, phis)
        yield loop
        following = self.add(index, integer(step, start.type))
        again = self.compare("slt", following, stop)
        latch = self._block
        carried_next = loop._next or phis  # noqa: SLF001
        incoming = [(index, start, following), *zip(phis, carried, carried_next, strict=True)]
        self._lines[slot : slot + len(incoming)] = [
            f"  {phi.name} = phi {phi.type} [ {first.name}, %{before} ], [ {later.name}, %{latch} ]"
            for phi, first, later in incoming
        ]
        lines = self._lines[slot:]
        vectors = any("<" in line for line in lines)
        acts = any(line.startswith(_EFFECT) for line in lines)
        if self._loops > inner or scalar or vectors or acts:
            self.function.scalar_loops -= 1
        fits = trip_count * len(lines) <= (_MOST_VECTOR_LINES if vectors else _MOST_LINES)
        self.branch_if(again, body, done, metadata or unrolling(self.module, trip_count, lines, fits=fits))
        self.begin(done)
        if nonempty:
            loop.results = list(carried_next)
        else:
            loop.results = [
                self.emit(first.type, f"phi {first.type} [ {first.name}, %{before} ], [ {later.name}, %{latch} ]")
                for first, later in zip(carried, carried_next, strict=True)
            ]

    def _enter(self, start: Value, stop: Value, labels: tuple[str, str], *, nonempty: bool) -> None:
        """Begin the first block of a loop; where it may be empty, the other follows at once."""
        if nonempty:
            self.branch(labels[0])
        else:
            self.branch_if(self.compare("slt", start, stop), *labels)
        self.begin(labels[0])

    @contextmanager
    def when(self, condition: Value, name: str = "then") -> Iterator[None]:
        """Run the body only where the condition holds; nothing flows out of it but through memory."""
        then, done = self.new_label(name), self.new_label(f"{name}.end")
        self.branch_if(condition, then, done)
        self.begin(then)
        yield
        self.branch(done)
        self.begin(done)

    def choose(
        self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value], name: str = "choose"
    ) -> Value:
        """`then()` or `otherwise()`, whichever the `condition` picks, which alone is computed; `name` is for labels."""
        labels = self.new_label(name), self.new_label(f"{name}.else"), self.new_label(f"{name}.end")
        self.branch_if(condition, labels[0], labels[1])
        incoming: list[tuple[Value, str]] = []
        for label, compute in zip(labels, (then, otherwise), strict=False):
            self.begin(label)
            value = compute()
            incoming.append((value, self._block))
            self.branch(labels[2])
        self.begin(labels[2])
        return self.phi(incoming[0][0].type, incoming)

    def placeholders(self, type_: str, count: int) -> list[Value]:
        """Phis to be filled in later by `fill`; they must come first in their block."""
        first = len(self._lines)
        values = [self._reserve(type_) for _ in range(count)]
        self._placeholders |= {value.name: first + number for number, value in enumerate(values)}
        return values

    def fill(self, phi: Value, incoming: Sequence[tuple[Value, str]]) -> None:
        """Say where a placeholder's values come from, as (value, label)."""
        pairs = ", ".join(f"[ {value.name}, %{label} ]" for value, label in incoming)
        self._lines[self._placeholders.pop(phi.name)] = f"  {phi.name} = phi {phi.type} {pairs}"

    def phi(self, type_: str, incoming: Sequence[tuple[Value, str]]) -> Value:
        """A phi over (value, label) pairs; must come first in its block."""
        pairs = ", ".join(f"[ {value.name}, %{label} ]" for value, label in incoming)
        return self.emit(type_, f"phi {type_} {pairs}")

    def _reserve(self, type_: str) -> Value:
        self.function.counter += 1
        self._lines.append("")
        return Value(type_, f"%v{self.function.counter}")


def _trip_count(start: Value, stop: Value, step: int) -> int:
    """How often a loop runs, 0 if that is not known, and none if there is nothing to run."""
    first, last = start.literal, stop.literal
    return 0 if first is None or last is None else max(0, -(-(last - first) // step))


def _aligned(align: int) -> str:
    return f", align {align}" if align else ""
