"""What chunks of a phase touch: calls in checked code that put each element on record with its chunk.

Two chunks of a phase may run at once, so neither may write what the other touches.  A tile that overlaps the one before
is no exception: it writes the same numbers once more, and a store of what is there already changes nothing.  So each
stored element is compared with what it replaces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.backends.cpu.ir_text import leading_type, size_of
from compiler.backends.cpu.runtime.bounds import PREFIX
from compiler.codegen.llvm_ir import Function, Module, alike, element_of, lanes_of

_FRAME = "llvm.frameaddress.p0"
_MOST_LANES = 64
"""Lanes whose numbers are bits of one word; of vectors with more it is not asked what they change."""


@dataclass(frozen=True, slots=True)
class Touches:
    """Writes such calls into a function.

    Attributes:
        module: the function's.
        let: gives a name to what an instruction yields.
        emit: adds a line.
    """

    module: Module
    let: Callable[[str], str]
    emit: Callable[[str], None]

    def begin(self) -> None:
        """A phase's function says which chunk runs; what lies in its frame is the chunk's own."""
        self.module.declare(_FRAME, "ptr", ["i32"])
        frame = self.let(f"call ptr @{_FRAME}(i32 0)")
        self._call("begin", "i64 %thread", "i64 %threads", f"ptr {frame}")

    def end(self) -> None:
        """The chunk ends."""
        self._call("end")

    def range(self, pointer: str, size: int | str, step: int, site: str, *, writes: bool) -> None:
        """Elements of `step` bytes one behind the other.

        Args:
            pointer: the address of the first one.
            size: bytes of all.
            step: bytes of each.
            site: the string that says where.
            writes: whether they are written.
        """
        self._call("touch", f"ptr {pointer}", f"i64 {size}", f"i64 {step}", f"i64 {int(writes)}", f"ptr {site}")

    def lanes(self, pointer: str, lanes: str, step: int, site: str, *, changed: str = "") -> None:
        """Those of some lanes, which are read, or written where it is said which of them are changed.

        Args:
            pointer: the address of the first one.
            lanes: which, as bits.
            step: bytes of each.
            site: the string that says where.
            changed: which of them are, as bits.
        """
        numbers = (lanes, step, int(bool(changed)), changed or 0)
        self._call("touch_lanes", f"ptr {pointer}", *(f"i64 {number}" for number in numbers), f"ptr {site}")

    def stored(self, pointer: str, type_: str, value: str, align: int, site: str) -> None:
        """What a store is about to replace.

        Args:
            pointer: the address of the first one.
            type_: of what is stored.
            value: what is stored.
            align: of the address.
            site: the string that says where.
        """
        count, of = lanes_of(type_) or 1, element_of(type_)
        if count > _MOST_LANES or of in ("i1", "ptr") or type_[0] in "{[":
            self.range(pointer, size_of(type_), size_of(of), site, writes=True)
            return
        before = self.let(f"load {type_}, ptr {pointer}, align {align}")
        lanes = "-1" if count == _MOST_LANES else str((1 << count) - 1)
        self.lanes(pointer, lanes, size_of(of), site, changed=self._changed(type_, before, value))

    def replaced(self, pointer: str, callee: str, arguments: Sequence[str], lanes: str, site: str) -> None:
        """What those of some lanes are about to replace that a masked store writes.

        Args:
            pointer: the address of the first one.
            callee: the intrinsic.
            arguments: its operands.
            lanes: which, as bits.
            site: the string that says where.
        """
        given, _, align, mask = arguments
        type_ = leading_type(given)
        value = given.removeprefix(type_).strip()
        name = callee[1:].replace("masked.store", "masked.load")
        self.module.declare(name, type_, ["ptr", "i32", mask.rpartition(" ")[0], type_])
        before = self.let(f"call {type_} @{name}(ptr {pointer}, {align}, {mask}, {type_} zeroinitializer)")
        step = size_of(element_of(type_))
        self.lanes(pointer, lanes, step, site, changed=self._changed(type_, before, value))

    def _changed(self, type_: str, before: str, after: str) -> str:
        """The lanes in which two numbers, or vectors of them, are not the same bits, as bits."""
        count, of = lanes_of(type_) or 1, element_of(type_)
        word = f"i{8 * size_of(of)}"
        words = alike(word, type_)
        if of != word:
            before, after = (self.let(f"bitcast {type_} {one} to {words}") for one in (before, after))
        differs = self.let(f"icmp ne {words} {before}, {after}")
        bits = self.let(f"bitcast <{count} x i1> {differs} to i{count}") if words != word else differs
        return self.let(f"zext i{count} {bits} to i64") if count < _MOST_LANES else bits

    def _call(self, name: str, *arguments: str) -> None:
        self.emit(f"  call void @{PREFIX}{name}({', '.join(arguments)})")


def is_phase(function: Function) -> bool:
    """Whether a function of the program is that of a phase, which is called for each chunk."""
    return function.parameters[-1][1] == "threads"
