"""Instructions, computations and modules, and the few ways to change them.

A computation's `instructions` are in an order in which every operand comes before its users; so say the verifier and
every reader.  A pass may append at the end and call `sort` when it is done.  Users are kept up to date by the methods
here, so operands are changed only through them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.diagnostics import UnsupportedError
from compiler.ir.attributes import ATTRIBUTES, NOTES, AttributeKind
from compiler.ir.graph import in_order, reachable
from compiler.ir.literal import Literal
from compiler.ir.names import Names
from compiler.ir.shape import ArrayShape, Shape

Attributes = dict[str, Any]

_COMPUTATION_ATTRIBUTES = tuple(
    name for name, kind in ATTRIBUTES.items() if kind in (AttributeKind.COMPUTATION, AttributeKind.COMPUTATIONS)
)
_COMPUTATION_NAMES = frozenset(_COMPUTATION_ATTRIBUTES)  # most instructions call nothing: one look says so


class Instruction:
    """One operation: opcode, result shape, operands, attributes.

    Constants keep their value in `attributes["literal"]`, parameters their number in `attributes["parameter_number"]`.
    `users` holds each user once, in the order in which they came to be.
    """

    __slots__ = ("attributes", "name", "opcode", "operands", "parent", "shape", "users")

    def __init__(
        self,
        opcode: str,
        shape: Shape,
        operands: Sequence[Instruction] = (),
        attributes: Attributes | None = None,
        *,
        name: str = "",
    ) -> None:
        self.opcode = opcode
        self.shape = shape
        self.operands: tuple[Instruction, ...] = tuple(operands)
        self.attributes: Attributes = {} if attributes is None else attributes
        self.name = name
        self.parent: Computation | None = None
        self.users: dict[Instruction, None] = {}
        for operand in self.operands:
            operand.users[self] = None

    def __repr__(self) -> str:
        return f"<{self.name} = {self.shape} {self.opcode}({', '.join(o.name for o in self.operands)})>"

    @property
    def array(self) -> ArrayShape:
        """The result shape of an instruction known to yield an array."""
        assert isinstance(self.shape, ArrayShape), f"{self!r} does not yield an array"
        return self.shape

    @property
    def literal(self) -> Literal:
        """The value of a constant."""
        literal: Literal = self.attributes["literal"]
        return literal

    @property
    def parameter_number(self) -> int:
        """The position of a parameter."""
        number: int = self.attributes["parameter_number"]
        return number

    @property
    def meaning(self) -> Attributes:
        """The attributes without those that say nothing of what is computed: instructions are compared by these."""
        return {name: value for name, value in self.attributes.items() if name not in NOTES}

    @property
    def computation(self) -> Computation:
        """The computation that the instruction stands in."""
        assert self.parent is not None, f"{self!r} belongs to no computation"
        return self.parent

    @property
    def is_root(self) -> bool:
        """Whether this is its computation's result."""
        return self.parent is not None and self.parent.root is self

    def unsupported(self, reason: str = "", *, by: str = "this compiler") -> UnsupportedError:
        """The error to raise where `by`, a part of the compiler, cannot handle this instruction."""
        return UnsupportedError(f"{self.opcode} ({self.name})", by, reason)

    @property
    def is_call(self) -> bool:
        """Whether any attribute names computations, of whatever opcode; most instructions have none."""
        return not _COMPUTATION_NAMES.isdisjoint(self.attributes)

    def called_computations(self) -> Iterator[Computation]:
        """The computations that attributes name, in a fixed order."""
        if not self.is_call:
            return
        for name in _COMPUTATION_ATTRIBUTES:
            value = self.attributes.get(name)
            if value is None:
                continue
            if isinstance(value, Computation):
                yield value
            else:
                yield from value

    def set_operands(self, operands: Sequence[Instruction]) -> None:
        """Replace all operands."""
        for operand in self.operands:
            operand.users.pop(self, None)
        self.operands = tuple(operands)
        for operand in self.operands:
            operand.users[self] = None

    def replace_uses_with(self, other: Instruction) -> None:
        """Make every user, and the computation's root, use `other` instead."""
        for user in list(self.users):
            if user is not other:
                user.set_operands([other if operand is self else operand for operand in user.operands])
        if self.parent is not None and self.parent.root is self:
            self.parent.root = other

    def clone(self, operands: Sequence[Instruction], *, shape: Shape | None = None, name: str = "") -> Instruction:
        """The same operation on other `operands`, with a `shape` and a `name` of its own if none is given.

        It belongs to no computation yet; attributes are copied.
        """
        return Instruction(self.opcode, shape or self.shape, operands, dict(self.attributes), name=name or self.name)


class Computation:
    """A function: instructions, of which one is the result (`root`) and some are parameters."""

    __slots__ = ("_names", "attributes", "instructions", "module", "name", "root")

    def __init__(self, name: str) -> None:
        self.name = name
        self.instructions: list[Instruction] = []
        self.root: Instruction = _NO_ROOT
        self.attributes: Attributes = {}
        self.module: Module | None = None
        self._names: Names | None = None

    def __repr__(self) -> str:
        return f"<computation {self.name}: {len(self.instructions)} instructions>"

    @property
    def parameters(self) -> list[Instruction]:
        """The parameters by number."""
        found = [i for i in self.instructions if i.opcode == "parameter"]
        return sorted(found, key=lambda instruction: instruction.parameter_number)

    def add(self, instruction: Instruction) -> Instruction:
        """Append an instruction under a name that is free here; returns it."""
        instruction.name = self.unique_name(instruction.name or instruction.opcode)
        instruction.parent = self
        self.instructions.append(instruction)
        return instruction

    def append_parsed(self, instruction: Instruction) -> None:
        """Append an instruction whose name is known to be free (a parser's fast path)."""
        instruction.parent = self
        self.instructions.append(instruction)

    def called_computations(self) -> Iterator[Computation]:
        """The computations that its instructions call, again for each call."""
        for instruction in self.instructions:
            if not _COMPUTATION_NAMES.isdisjoint(instruction.attributes):  # seldom so
                yield from instruction.called_computations()

    def unique_name(self, base: str) -> str:
        """`base`, or `base.N` if that is taken; the name is taken from then on."""
        if self._names is None:
            self._names = Names(instruction.name for instruction in self.instructions)
        return self._names.take(base)

    def remove(self, dead: Iterable[Instruction]) -> None:
        """Remove instructions that only each other use, none of them the root."""
        gone = set(dead)
        for instruction in gone:
            assert instruction is not self.root, f"cannot remove the root {instruction!r}"
            for operand in instruction.operands:
                operand.users.pop(instruction, None)
            instruction.parent = None
        for instruction in gone:
            assert not instruction.users, f"cannot remove {instruction!r}: it has users"
        self.instructions = [i for i in self.instructions if i not in gone]
        if self._names is not None:
            self._names.release(instruction.name for instruction in gone)

    def sort(self) -> None:
        """Restore the order in which operands come first, moving as little as possible."""
        self.instructions = in_order(self.instructions, _dependencies)


def _dependencies(instruction: Instruction) -> tuple[Instruction, ...]:
    predecessors: tuple[Instruction, ...] = instruction.attributes.get("control-predecessors", ())
    return (*instruction.operands, *predecessors) if predecessors else instruction.operands


_NO_ROOT = Instruction("tuple", ArrayShape.__new__(ArrayShape), name="<no root>")


_PRINTERS: list[Callable[[Module], str]] = []


def print_with(printer: Callable[[Module], str]) -> None:
    """Have `str` of a module say its text; whoever can write text is above this layer, and says so once."""
    _PRINTERS.append(printer)


@dataclass(slots=True, eq=False)
class Module:
    """A program: computations, each after those it calls, one of them the entry; header attributes as written."""

    name: str
    computations: list[Computation] = field(default_factory=list)
    entry: Computation = None  # type: ignore[assignment]  # set by whoever builds the module
    attributes: Attributes = field(default_factory=dict)
    _taken: dict[str, int] = field(default_factory=dict, init=False)
    """The computations' names, each with the last number that was appended to it; made again when it has others."""

    def __repr__(self) -> str:
        return f"<module {self.name}: {len(self.computations)} computations>"

    def __str__(self) -> str:
        return _PRINTERS[-1](self) if _PRINTERS else repr(self)

    @property
    def is_scheduled(self) -> bool:
        """Whether the order of instructions is the order of execution."""
        return bool(self.attributes.get("is_scheduled", False))

    def add_computation(self, computation: Computation) -> Computation:
        """Add a computation under a name that is free here, before the entry so that callees come first."""
        taken = self._taken
        if len(taken) != len(self.computations):
            taken = self._taken = dict.fromkeys((other.name for other in self.computations), 0)
        base = computation.name
        while computation.name in taken:
            taken[base] += 1
            computation.name = f"{base}.{taken[base]}"
        taken[computation.name] = 0
        computation.module = self
        at = self._position_of_entry()
        self.computations.insert(at, computation)
        return computation

    def _position_of_entry(self) -> int:
        """Where the entry is, nearly always at the end; the end if it is not here yet."""
        computations = self.computations
        if computations and computations[-1] is self.entry:
            return len(computations) - 1
        return computations.index(self.entry) if self.entry in computations else len(computations)

    def instructions(self) -> Iterator[Instruction]:
        """Every instruction of every computation."""
        for computation in self.computations:
            yield from computation.instructions

    def replace_entry(self, entry: Computation, *, forget: Collection[str]) -> None:
        """Make a computation of this module the entry, under the old one's name; some header attributes are dropped."""
        name, self.entry = self.entry.name, entry
        self.sort_computations()
        entry.name = name
        self.attributes = {key: value for key, value in self.attributes.items() if key not in forget}

    def sort_computations(self) -> None:
        """Drop computations that the entry does not reach, and put callees before callers."""
        order: list[Computation] = []
        seen: set[Computation] = set()
        stack: list[tuple[Computation, Iterator[Computation]]] = [(self.entry, self.entry.called_computations())]
        seen.add(self.entry)
        while stack:
            computation, pending = stack[-1]
            following = next((c for c in pending if c not in seen), None)
            if following is not None:
                seen.add(following)
                stack.append((following, following.called_computations()))
            else:
                stack.pop()
                order.append(computation)
        self.computations, self._taken = order, {}

    def clone(self) -> Module:
        """A deep copy; literals and attribute values, which never change, are shared."""
        copies = {id(c): Computation(c.name) for c in self.computations}
        for computation in self.computations:
            _copy_into(computation, copies[id(computation)], copies)
        module = Module(self.name, [copies[id(c)] for c in self.computations], attributes=dict(self.attributes))
        module.entry = copies[id(self.entry)]
        for copy in module.computations:
            copy.module = module
        return module

    def __eq__(self, other: object) -> bool:
        """Whether two modules are the same program under the same names, note for note."""
        if not isinstance(other, Module):
            return NotImplemented
        if (self.name, self.attributes) != (other.name, other.attributes):
            return False
        pairs = list(zip(self.computations, other.computations, strict=False))
        if len(self.computations) != len(other.computations) or self.entry.name != other.entry.name:
            return False
        return all(_same_computation(left, right) for left, right in pairs)

    __hash__ = None  # type: ignore[assignment]  # modules change


def _copy_into(source: Computation, target: Computation, computations: Mapping[int, Computation]) -> None:
    target.attributes = dict(source.attributes)
    copies: dict[Instruction, Instruction] = {}
    for instruction in source.instructions:
        copy = instruction.clone([copies[operand] for operand in instruction.operands])
        copies[instruction] = copy
        target.append_parsed(copy)
        redirect(copy, computations)
    keep_control(copies)
    target.root = copies[source.root]


def redirect(instruction: Instruction, computations: Mapping[int, Computation]) -> None:
    """Let an instruction call others instead, found by the identity of those that it calls."""
    if not instruction.is_call:
        return
    for name in _COMPUTATION_ATTRIBUTES:
        value = instruction.attributes.get(name)
        if isinstance(value, Computation):
            instruction.attributes[name] = computations[id(value)]
        elif value is not None:
            instruction.attributes[name] = tuple(computations[id(c)] for c in value)


def _same_computation(left: Computation, right: Computation) -> bool:
    if left.name != right.name or left.attributes != right.attributes:
        return False
    if len(left.instructions) != len(right.instructions) or left.root.name != right.root.name:
        return False
    pairs = zip(left.instructions, right.instructions, strict=True)
    return all(_same_instruction(a, b) for a, b in pairs)


def _same_instruction(left: Instruction, right: Instruction) -> bool:
    if (left.name, left.opcode, left.shape) != (right.name, right.opcode, right.shape):
        return False
    if [o.name for o in left.operands] != [o.name for o in right.operands]:
        return False
    if left.attributes.keys() != right.attributes.keys():
        return False
    return all(_named(value) == _named(right.attributes[key]) for key, value in left.attributes.items())


def _named(value: Any) -> Any:
    """An attribute's value with references replaced by names, so that two modules can be compared."""
    if isinstance(value, Computation | Instruction):
        return value.name
    if isinstance(value, tuple) and value and isinstance(value[0], Computation | Instruction):
        return tuple(item.name for item in value)
    return value


def inline(
    computation: Computation,
    arguments: Sequence[Instruction],
    add: Callable[[Instruction], Instruction],
) -> Instruction:
    """Copy a computation's body onto `arguments`; `add` places each copy.  Returns the copy of the root."""
    copies: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        if instruction.opcode == "parameter":
            copies[instruction] = arguments[instruction.parameter_number]
            continue
        copies[instruction] = add(instruction.clone([copies[operand] for operand in instruction.operands]))
    keep_control({i: copy for i, copy in copies.items() if i.opcode != "parameter"})
    return copies[computation.root]


def computed_from(values: Iterable[Instruction]) -> set[Instruction]:
    """Values of one computation, and all that they are computed from."""
    return set(reachable(values, lambda value: value.operands))


def keep_control(copies: Mapping[Instruction, Instruction]) -> tuple[Instruction, ...]:
    """Have clones wait for one another as the originals do; returns what else the originals wait for."""
    others: dict[Instruction, None] = {}
    for copy in copies.values():
        before = copy.attributes.pop("control-predecessors", ())
        others |= dict.fromkeys(p for p in before if p not in copies)
        if inside := tuple(copies[p] for p in before if p in copies):
            copy.attributes["control-predecessors"] = inside
    return tuple(others)
