"""Checked bounds: a program's IR in which every access is compared with the array that its address was made from.

A page without access stops what runs over the end of an array that stands before one; a read that is a little too far
to the left, or in the arena, where another array is the neighbour, it does not.  Here each pointer carries the first
byte and the end of what it points into, from a kernel's parameters, whose sizes are known, through address arithmetic,
joins of control flow and calls of helpers, which get the bounds as further parameters.  Before each load, store, masked
access, gather and copy stands a call of `runtime.bounds`, which also sees whether the address is aligned as promised.
Where threads share work, what each chunk touches is put on record as well, so that none writes what another touches;
atomic accesses are meant for several at once, and are only compared with bounds.

This works on the text of finished functions, so it holds for whatever emits kernels.  What it does not know it refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from compiler.backends.cpu.ir_text import leading_type, size_of, split
from compiler.backends.cpu.kernels.emitted import parameters
from compiler.backends.cpu.pointers import BASES
from compiler.backends.cpu.program import Program
from compiler.backends.cpu.runtime.bounds import CHECKS, PREFIX, TOUCHES
from compiler.backends.cpu.touches import Touches, is_phase
from compiler.codegen.llvm_ir import Function, Module, element_of, lanes_of
from compiler.ir.shape import Shape, leaves
from compiler.ir.types import TOKEN

_NAME = r"[%@][\w.$-]+"
_OPERAND = rf"(?:{_NAME}|null)"
_ADDRESS = re.compile(rf"\s*(%[\w.$-]+) = getelementptr (?:inbounds )?.*?, ptr ({_OPERAND}), ")
_ATOMIC = "(?P<atomic>atomic )?"
_TO = rf"(?P<comma>, )ptr (?P<pointer>{_OPERAND})(?P<tail>.*)"
_LOAD = re.compile(rf"(?P<head>.* = load {_ATOMIC})(?P<type>.+?){_TO}")
_STORE = re.compile(rf"(?P<head>\s*store {_ATOMIC})(?P<type>.+){_TO}")
_PHI = re.compile(r"\s*(%[\w.$-]+) = phi ptr (.*)")
_INCOMING = re.compile(rf"\[ ({_OPERAND}), (%[\w.$-]+) \]")
_SELECT = re.compile(rf"\s*(%[\w.$-]+) = select i1 ([^,]+), ptr ({_OPERAND}), ptr ({_OPERAND})")
_ALLOCA = re.compile(r"\s*(%[\w.$-]+) = alloca (.+?)(?:, align \d+)?$")
_FROM_INTEGER = re.compile(r"\s*(%[\w.$-]+) = inttoptr ")
_CALL = re.compile(rf"(?P<head>\s*(?:%[\w.$-]+ = )?call .*?)(?P<callee>{_NAME})\((?P<arguments>.*)\)(?P<tail>[^()]*)$")
_POINTER = re.compile(r"(?:ptr|<\d+ x ptr>) ")
_HARMLESS = re.compile(r"\s*(?:%\S+ = (?:icmp|ptrtoint)|ret) ")
_ALIGNED = re.compile(r", align (\d+)")
_NO_ACCESS = ("@llvm.prefetch.", "@llvm.x86.tile", "@llvm.x86.ldtilecfg", "@share")
"""Callees that touch nothing of a program's, and those of matrix registers, whose shapes their operands do not say."""
_EVERYTHING = ("0", "-1")
"""Bounds of what is not known."""


@dataclass(frozen=True, slots=True)
class _Extent:
    """What a pointer parameter points to."""

    size_bytes: int
    name: str


def check(program: Program) -> None:
    """Have all accesses of a program's kernels checked; its IR is changed in place."""
    ir, extents = program.ir, _extents(program)
    for name, types in zip((*CHECKS, *TOUCHES), _CHECK_TYPES, strict=True):
        ir.declare(f"{PREFIX}{name}", types[0], types[1:])
    for function in ir.functions:
        if function.name != "share":
            _Checked(
                ir, function, extents, _given(program) if _is_walk(function) else {}, program.threads > 1
            ).rewrite()


_CHECK_TYPES = (
    ("ptr", "ptr", *["i64"] * 4, "ptr"),
    ("i64", "ptr", *["i64"] * 3, "ptr"),
    ("i64", "ptr", *["i64"] * 5, "ptr"),
    ("void", "i64", "i64", "ptr"),
    ("void",),
    ("void", "ptr", *["i64"] * 3, "ptr"),
    ("void", "ptr", *["i64"] * 4, "ptr"),
)


def _extents(program: Program) -> dict[str, list[_Extent]]:
    """By the name of each kernel's functions, and of copies of these, what their pointers point to."""
    found: dict[str, list[_Extent]] = {}
    for emitted in program.emitted.values():
        kernel = emitted.kernel
        given = [_Extent(i.shape.size_bytes, f"operand {i.name}") for i in kernel.inputs]
        made = [_Extent(array.size_bytes, f"result {n} of {kernel.name}") for n, array in enumerate(kernel.outputs)]
        workspace = _Extent(emitted.workspace_bytes, f"the workspace of {kernel.name}")
        for name in emitted.functions:
            found[name] = [*given, *made, workspace]
            assert len(found[name]) == sum(type_.startswith("ptr") for type_, _ in parameters(kernel))
    copies = {f.name: f.name.partition(".iteration")[0] for f in program.ir.functions if "alwaysinline" in f.attributes}
    return found | {copy: found[name] for copy, name in copies.items() if name in found}


def _is_walk(function: Function) -> bool:
    """Whether a function is the program's, or that of one of its phases."""
    return [name for _, name in function.parameters[: len(BASES)]] == [name for _, name in BASES]


def _given(program: Program) -> dict[str, list[int]]:
    """The sizes of the arrays that a program's function gets, by the parameter that holds their addresses."""
    entry = program.module.entry
    taken, made = [parameter.shape for parameter in entry.parameters], [entry.root.shape]

    def sizes(shapes: Sequence[Shape]) -> list[int]:
        arrays = (array for shape in shapes for array in leaves(shape))
        return [array.size_bytes for array in arrays if array.element_type is not TOKEN]

    return {"%parameters": sizes(taken), "%results": sizes(made)}


class _Access(NamedTuple):
    """An access that is checked: its line of IR, the bytes of an element, and how they are aligned."""

    line: str
    size: int
    align: int


@dataclass(slots=True)
class _Checked:
    """Rewrites one function.

    Attributes:
        extents: of kernels' functions.
        given: sizes of the arrays whose addresses are loaded, by where those lie.
        shares: whether threads share work of the program.
    """

    module: Module
    function: Function
    extents: Mapping[str, Sequence[_Extent]]
    given: Mapping[str, Sequence[int]]
    shares: bool = False
    lines: list[str] = field(default_factory=list)
    _touches: Touches | None = None
    _bases: dict[str, tuple[str, int]] = field(default_factory=dict)
    _count: int = 0

    def rewrite(self) -> None:
        """Put checks before accesses, bounds behind pointers, and further parameters behind those that there are."""
        function, before = self.function, self.function.lines
        self._touches = Touches(self.module, self._let, self._add) if self.shares else None
        for line in before:
            found = _ADDRESS.match(line)
            if found:
                last = line.rpartition(" ")[2]
                self._bases[found[1]] = found[2], int(last) if last.isdigit() else 0
        pointers = [name for type_, name in function.parameters if type_.startswith("ptr")]
        self.lines = [before[0]]
        phase = self._touches if _is_walk(function) and is_phase(function) else None
        if phase:
            phase.begin()
        if function.name in self.extents:
            for name, extent in zip(pointers, self.extents[function.name], strict=True):
                self._of_object(f"%{name}", extent.size_bytes)
        elif _is_walk(function):
            self._arguments(pointers)
        else:
            more = tuple(("i64", f"{name}.{end}") for name in pointers for end in ("low", "high"))
            function.parameters = (*function.parameters, *more)
        for line in before[1:]:
            if phase and line.strip() == "ret void":
                phase.end()
            self._line(line)
        function.lines = self.lines

    def _arguments(self, pointers: Sequence[str]) -> None:
        """The parameters of the program's function, and of a phase's."""
        for name in pointers:
            sizes = self.given.get(f"%{name}")
            if sizes is None:
                self._is(f"%{name}", _EVERYTHING)
            else:
                self._of_object(f"%{name}", 8 * len(sizes))

    # -- lines --------------------------------------------------------------------------------------------------
    def _line(self, line: str) -> None:
        for form, rewrite in (
            (_ADDRESS, self._unchanged),
            (_LOAD, self._access),
            (_STORE, self._access),
            (_PHI, self._phi),
            (_SELECT, self._select),
            (_ALLOCA, self._alloca),
            (_FROM_INTEGER, self._from_integer),
            (_CALL, self._call),
            (_HARMLESS, self._unchanged),
        ):
            found = form.match(line)
            if found:
                rewrite(found)
                return
        assert not re.search(r"\bptr\b", line), f"no bounds are known to be checked in {line!r}"
        self.lines.append(line)

    def _unchanged(self, found: re.Match[str]) -> None:
        self.lines.append(found.string)

    def _phi(self, found: re.Match[str]) -> None:
        incoming = [(self._bounds(name), label) for name, label in _INCOMING.findall(found[2])]
        self.lines.append(found.string)
        for number, end in enumerate(("low", "high")):
            pairs = ", ".join(f"[ {bounds[number]}, {label} ]" for bounds, label in incoming)
            self.lines.append(f"  {found[1]}.{end} = phi i64 {pairs}")

    def _select(self, found: re.Match[str]) -> None:
        self.lines.append(found.string)
        chosen = zip(("low", "high"), self._bounds(found[3]), self._bounds(found[4]), strict=True)
        self.lines += [f"  {found[1]}.{end} = select i1 {found[2]}, i64 {a}, i64 {b}" for end, a, b in chosen]

    def _alloca(self, found: re.Match[str]) -> None:
        self.lines.append(found.string)
        self._of_object(found[1], size_of(found[2]))

    def _from_integer(self, found: re.Match[str]) -> None:
        self.lines.append(found.string)
        self._is(found[1], _EVERYTHING)

    def _access(self, found: re.Match[str]) -> None:
        type_ = leading_type(found["type"])
        aligned = _ALIGNED.search(found["tail"])
        align = int(aligned[1]) if aligned else size_of(type_)
        safe = self._checked("check", found["pointer"], found.string, size_of(type_), align)
        if self._touches and not found["atomic"]:
            site = self._site(found.string, found["pointer"])
            if found.re is _STORE:
                value = found["type"].removeprefix(type_).strip()
                self._touches.stored(safe, type_, value, align, site)
            else:
                self._touches.range(safe, size_of(type_), size_of(element_of(type_)), site, writes=False)
        self.lines.append(f"{found['head']}{found['type']}{found['comma']}ptr {safe}{found['tail']}")
        if found.re is _LOAD and type_ == "ptr":
            name = found["head"].split()[0]
            base, number = self._bases.get(found["pointer"], (found["pointer"], 0))
            if base in self.given:
                self._of_object(name, self.given[base][number])
            else:
                self._is(name, _EVERYTHING)

    def _call(self, found: re.Match[str]) -> None:
        callee, arguments = found["callee"], split(found["arguments"])
        pointers = [argument for argument in arguments if _POINTER.match(argument)]
        if callee.startswith(_NO_ACCESS) or not pointers:
            changed = arguments
        elif callee.startswith("@llvm.masked."):
            changed = self._masked(found, arguments)
        elif callee.startswith(("@llvm.memcpy.", "@llvm.memmove.", "@llvm.memset.")):
            changed = self._block(found, arguments)
        elif callee[1:] in self.extents:
            changed = self._kernel(found, arguments)
        else:
            assert callee[1:] not in self.module.declarations, f"no bounds are known to be checked in {found.string!r}"
            more = [f"i64 {end}" for argument in arguments for end in self._bounds_of(argument)]
            changed = [*arguments, *more]
        self.lines.append(f"{found['head']}{callee}({', '.join(changed)}){found['tail']}")
        if re.match(r"\s*%\S+ = call ptr ", found["head"]):
            self._returned(found["head"].split()[0], pointers)

    def _masked(self, found: re.Match[str], arguments: Sequence[str]) -> list[str]:
        """A masked load, store, gather or scatter, whose mask stands behind the alignment."""
        stores = "masked.store" in found["callee"] or "masked.scatter" in found["callee"]
        pointer, align, mask, *_ = arguments[1:] if stores else arguments
        type_ = leading_type(arguments[0] if stores else found["head"].rpartition("call ")[2])
        lanes, size = lanes_of(type_), size_of(element_of(type_))
        bits = self._let(f"bitcast {mask} to i{lanes}")
        wide = self._let(f"zext i{lanes} {bits} to i64") if lanes < 64 else bits
        access = _Access(found.string, size, int(align.split()[1]))
        if pointer.startswith("ptr "):
            kept = self._checked("check_lanes", pointer.split()[1], *access, before=(wide,))
        else:
            kept = self._scattered(pointer, wide, lanes, access, writes=stores)
        narrow = self._let(f"trunc i64 {kept} to i{lanes}") if lanes < 64 else kept
        new = f"<{lanes} x i1> {self._let(f'bitcast i{lanes} {narrow} to <{lanes} x i1>')}"
        position = 3 if stores else 2
        changed = [new if number == position else argument for number, argument in enumerate(arguments)]
        if self._touches and pointer.startswith("ptr "):
            address = pointer.split()[1]
            site = self._site(found.string, address)
            if stores:
                self._touches.replaced(address, found["callee"], changed, kept, site)
            else:
                self._touches.lanes(address, kept, size, site)
        return changed

    def _scattered(self, addresses: str, wanted: str, lanes: int, access: _Access, *, writes: bool) -> str:
        """Those of the lanes that may be touched, each at an address of its own."""
        total, vector = "0", addresses.rpartition(" ")[2]
        for lane in range(lanes):
            one = self._let(f"extractelement {addresses}, i64 {lane}")
            self._bases[one] = vector, 0
            bit = self._let(f"and i64 {self._let(f'lshr i64 {wanted}, {lane}')}, 1")
            kept = self._checked("check_lanes", one, *access, before=(bit,))
            if self._touches:
                site = self._site(access.line, one)
                self._touches.lanes(one, kept, access.size, site, changed="1" if writes else "")
            total = self._let(f"or i64 {total}, {self._let(f'shl i64 {kept}, {lane}')}")
        return total

    def _block(self, found: re.Match[str], arguments: Sequence[str]) -> list[str]:
        """A copy, or a filling, of a number of bytes."""
        length = arguments[2].split()[1]
        for argument in arguments[:2]:
            if argument.startswith("ptr "):
                length = self._checked("check_length", argument.split()[1], found.string, length)
        for number, argument in enumerate(arguments[:2]):
            if self._touches and argument.startswith("ptr "):
                address = argument.split()[1]
                self._touches.range(address, length, 1, self._site(found.string, address), writes=not number)
        return [*arguments[:2], f"i64 {length}", *arguments[3:]]

    def _kernel(self, found: re.Match[str], arguments: Sequence[str]) -> list[str]:
        """A call of a kernel, each of whose arrays must lie where the program has put it."""
        pointers = [argument.split()[1] for argument in arguments if argument.startswith("ptr ")]
        for pointer, extent in zip(pointers, self.extents[found["callee"][1:]], strict=True):
            if extent.size_bytes:
                self._checked("check", pointer, f"{found.string.strip()}: {extent.name}", extent.size_bytes, 1)
        return list(arguments)

    def _returned(self, name: str, arguments: Sequence[str]) -> None:
        """A pointer that a call gives back points into what one of its arguments points into."""
        low, high = _EVERYTHING
        address = self._let(f"ptrtoint ptr {name} to i64")
        for argument in arguments:
            first, end = self._bounds_of(argument)
            behind = self._let(f"icmp uge i64 {address}, {first}")
            before = self._let(f"icmp ult i64 {address}, {end}")
            inside = self._let(f"and i1 {behind}, {before}")
            low, high = (self._let(f"select i1 {inside}, i64 {a}, i64 {b}") for a, b in ((first, low), (end, high)))
        self._is(name, (low, high))

    # -- bounds -------------------------------------------------------------------------------------------------
    def _checked(
        self, check_: str, pointer: str, text: str, size: int | str, align: int = 0, before: tuple[str, ...] = ()
    ) -> str:
        """What a check gives back: the pointer, lanes or length to go on with."""
        site = self._site(text, pointer)
        numbers = [*before, size, *([align] if align else []), *self._bounds(pointer)]
        operands = ", ".join(f"i64 {number}" for number in numbers)
        result = "ptr" if check_ == "check" else "i64"
        return self._let(f"call {result} @{PREFIX}{check_}(ptr {pointer}, {operands}, ptr {site})")

    def _site(self, text: str, pointer: str) -> str:
        """A string that says where an access is and what it should be within."""
        root = self._root(pointer)
        names = [f"%{name}" for type_, name in self.function.parameters if type_.startswith("ptr")]
        extents = self.extents.get(self.function.name)
        what = extents[names.index(root)].name if extents and root in names else root
        content = f"{self.function.name}: {text.strip()}, of {what}".encode() + b"\0"
        return self.module.define_bytes(f"{PREFIX}site", content).name

    def _root(self, pointer: str) -> str:
        while pointer in self._bases:
            pointer = self._bases[pointer][0]
        return pointer

    def _bounds(self, pointer: str) -> tuple[str, str]:
        """The first byte, and the end, of what a pointer points into."""
        root = self._root(pointer)
        if root == "null":
            return "0", "0"
        if root[0] == "%":
            return f"{root}.low", f"{root}.high"
        size = next(_global_sizes(self.module, root[1:]), None)
        if size is None:
            return _EVERYTHING
        return f"ptrtoint (ptr {root} to i64)", f"ptrtoint (ptr getelementptr (i8, ptr {root}, i64 {size}) to i64)"

    def _bounds_of(self, argument: str) -> tuple[str, ...]:
        """The bounds of an argument that is a pointer, nothing of any other."""
        return self._bounds(argument.split()[1]) if argument.startswith("ptr ") else ()

    def _of_object(self, name: str, size_bytes: int) -> None:
        """Say that a pointer is the address of an object."""
        self.lines.append(f"  {name}.low = ptrtoint ptr {name} to i64")
        self.lines.append(f"  {name}.high = add i64 {name}.low, {size_bytes}")

    def _is(self, name: str, bounds: tuple[str, str]) -> None:
        self.lines += [
            f"  {name}.{end} = add i64 {bound}, 0" for end, bound in zip(("low", "high"), bounds, strict=True)
        ]

    def _add(self, line: str) -> None:
        self.lines.append(line)

    def _let(self, text: str) -> str:
        self._count += 1
        self.lines.append(f"  %{PREFIX}{self._count} = {text}")
        return f"%{PREFIX}{self._count}"


def _global_sizes(module: Module, name: str) -> Iterator[int]:
    """How large a global is, if that is what a name stands for."""
    found = re.search(r"\b(?:constant|global) (.*)", module.globals.get(name, ""))
    if found:
        yield size_of(leading_type(found[1]))
