"""Instructions and the bodies of computations from text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from compiler.diagnostics import ShapeError
from compiler.ir.attributes import ATTRIBUTES, AttributeKind
from compiler.ir.module import Attributes, Computation, Instruction
from compiler.ir.shape import Shape, TupleShape
from compiler.ir.shape_rules import UNSTATED
from compiler.ops import OPS
from compiler.precision import derived, infer
from compiler.text.async_sugar import rewrap, wrap
from compiler.text.attributes import SYNTAX, read_value
from compiler.text.lexer import NAME, SPACE, STRING, Scanner, pattern
from compiler.text.literals import read_literal
from compiler.text.opcodes import DERIVED, LISTING_SLICES, SIGNATURES, STATED
from compiler.text.plain import one_or_all, read_integers
from compiler.text.shapes import agree, at_shape, read_shape

MAX_NESTED_OPERANDS = 8192
"""How many instructions may nest as each other's operands; XLA's own limit."""

_ROOT = r"ROOT(?![\w.\-:=])"
_HEAD = pattern(rf"(?:({_ROOT}{SPACE})|(?!{_ROOT}))%?+({NAME}):?+{SPACE}=")
_OPCODE = pattern(rf"([a-z][a-z0-9\-]*+){SPACE}\(")
_NAMES = re.compile(r"([A-Za-z0-9_.\-%, ]*+)\)")
_OPERAND_NAME = pattern(rf"%?+({NAME})((?:{SPACE}#{SPACE}\d++)*)(?={SPACE}[,)])")
_NO_NAME = pattern("(?=[,)])")
_INTEGER = pattern(r"(\d{1,9}+)" + SPACE + r"\)")
_VALUE = rf"(?:[^\s,(){{}}\"'=]++|{STRING}|\{{(?:[^{{}}\"']++|{STRING}|\{{(?:[^{{}}\"']++|{STRING})*+\}})*+\}})"
_QUICK = pattern(rf",{SPACE}({NAME}={_VALUE})(?=[,\s}}]|$)")
_KEY = pattern(rf",{SPACE}({NAME}){SPACE}=")
_ASYNC = re.compile(r"(.+)-(start|update|done)")
_WITH_OWN_HALVES = frozenset(opcode for opcode in OPS if f"{opcode}-done" in OPS)
"""Opcodes that no async ops wrap: what halves they have are opcodes of their own."""

_K = AttributeKind
_REPEATING = frozenset(kind for kind, syntax in SYNTAX.items() if syntax.repeats)


@dataclass(slots=True)
class _Call:
    """An instruction that is being read; `start` is where it begins and `at` where its opcode stands."""

    name: str
    start: int
    shape: Shape | None
    opcode: str
    at: int
    wrapped: str = ""
    operands: list[Instruction] = field(default_factory=list)
    payload: Attributes = field(default_factory=dict)


class InstructionReader(Scanner):
    """A scanner that knows the computations read so far and the instructions of the one it is in."""

    __slots__ = ("_anonymous_count", "_cache", "_computation", "_lone", "_names", "computations")

    def __init__(self, text: str, filename: str) -> None:
        super().__init__(text, filename)
        self.computations: dict[str, Computation] = {}
        self._names: dict[str, Instruction] = {}
        self._computation = Computation("")
        self._cache: dict[str, tuple[str, Any]] = {}
        self._lone = False
        self._anonymous_count: dict[str, int] = {}

    def add_computation(self, computation: Computation, start: int) -> None:
        """Make a computation known; later ones may call it."""
        if computation.name in self.computations:
            self.fail(f"a computation named {computation.name} already exists", start)
        self.computations[computation.name] = computation

    def read_body(self, name: str) -> Computation:
        """`{ instructions }`; the result is the one marked ROOT, or the last."""
        outer = self._computation, self._names
        self._computation, self._names = computation, _ = Computation(name), {}
        self.expect("{", "that begins the instructions")
        root: Instruction | None = None
        while True:
            head = self.take(_HEAD)
            if head is None:
                break
            instruction = self._read_instruction(head[2], head.start(2))
            if head[1]:
                if root is not None:
                    self.fail(f"a second ROOT: {root.name} already is the root", head.start(1), head.start(1) + 4)
                root = instruction
        if not computation.instructions or not self.accept("}"):
            self.expected("an instruction such as 'x = f32[] add(a, b)'" + (" or '}'" if self._names else ""))
        computation.root = root or computation.instructions[-1]
        self._computation, self._names = outer
        return computation

    def read_lone_instruction(self, name: str) -> Computation:
        """A text that is one instruction; operands that name nothing become parameters, of the shape they state."""
        self._lone = True
        self._computation = computation = Computation(name)
        head = self.take(_HEAD)
        start = self.skip()
        if head is None and not at_shape(self):
            self.expected("HloModule, a computation or an instruction")
        root = self._read_instruction(head[2] if head else name, head.start(2) if head else start)
        if self.skip() < len(self.text):
            self.expected("the end of the text behind a single instruction (is 'HloModule NAME' missing at the top?)")
        computation.root = root
        return computation

    def _read_instruction(self, name: str, start: int) -> Instruction:
        """Shape, opcode, operands and attributes; nested operands wait on a stack for the outer ones to go on."""
        if name in self._names:
            self.fail(f"an instruction named {name} already exists in this computation", start, start + len(name))
        waiting: list[_Call] = []
        call = self._begin(name, start)
        while True:
            if not self._read_operands(call):
                waiting.append(call)
                if len(waiting) > MAX_NESTED_OPERANDS:
                    self.fail(f"operands are nested more than {MAX_NESTED_OPERANDS} levels deep")
                call = self._begin("", self.skip())
                continue
            instruction = self._finish(call, {} if waiting else self._read_attributes(call))
            if not waiting:
                return instruction
            call = waiting.pop()
            call.operands.append(instruction)

    def _begin(self, name: str, start: int) -> _Call:
        shape = read_shape(self) if at_shape(self) else None
        found = self.take(_OPCODE)
        if found is None:
            self.expected("an opcode and '('" if shape is not None else "a shape, or an opcode and '('")
        opcode = found[1]
        call = _Call(name, start, shape, opcode, found.start(1))
        if opcode not in SIGNATURES:
            wrapped = _ASYNC.fullmatch(opcode)
            if wrapped is None or wrapped[1] not in SIGNATURES or wrapped[1] in _UNWRAPPED:
                self.unknown("opcode", opcode, SIGNATURES, call.at)
            call.opcode, call.wrapped = f"async-{wrapped[2]}", wrapped[1]
        return call

    def _read_operands(self, call: _Call) -> bool:
        """Operands up to the closing parenthesis; False when one is an instruction itself, which begins here."""
        if call.opcode in _PAYLOADS:
            _PAYLOADS[call.opcode](self, call)
            return True
        if not call.operands:
            quick = _NAMES.match(self.text, self.pos)
            if quick is not None and not self._lone:
                found = [self._names.get(word.strip(" %")) for word in quick[1].split(",")] if quick[1] else []
                if None not in found:
                    call.operands = found  # type: ignore[assignment]  # just checked
                    self.pos = quick.end()
                    return True
            if self.accept(")"):
                return True
        elif not self.accept(","):
            self.expect(")", "or ',' behind an operand")
            return True
        while True:
            operand = self._read_operand()
            if operand is None:
                return False
            call.operands += operand
            if not self.accept(","):
                self.expect(")", "or ',' behind an operand")
                return True

    def _read_operand(self) -> tuple[Instruction, ...] | None:
        """`[shape] name`; None when this is an instruction.

        Nothing, or a shape alone, is no operand, as XLA's parser has it: `add(x, , f32[], y)` adds x and y.
        """
        start = self.skip()
        shape = read_shape(self) if at_shape(self) else None
        found = self.take(_OPERAND_NAME)
        if found is None:
            if self.take(_NO_NAME):
                if not self._lone or shape is None:
                    return ()
                return (self._parameter(f"_{len(self._computation.instructions)}", shape),)
            if _OPCODE.match(self.text, self.pos) is None:
                self.expected("an operand")
            self.pos = start
            return None
        operand = self._names.get(found[1])
        if operand is None:
            return (self._undefined(found, shape),)
        if found[2]:
            operand = self._element(operand, found)
        if shape is not None and not agree(shape, operand.shape):
            self.fail(f"{found[1]} has shape {operand.shape}, not {shape}", start, found.end(1))
        return (operand,)

    def _undefined(self, found: re.Match[str], shape: Shape | None) -> Instruction:
        """An operand that names nothing: a parameter to be, in a text of one instruction."""
        if not self._lone:
            self.unknown("operand (operands are defined above their users):", found[1], self._names, found.start(1))
        if shape is None:
            self.fail("an operand of a single instruction needs its shape: write 'f32[2] x'", found.start(1))
        return self._parameter(found[1], shape)

    def _parameter(self, name: str, shape: Shape) -> Instruction:
        number = len(self._computation.instructions)
        return self._add(Instruction("parameter", shape, (), {"parameter_number": number}, name=name))

    def _element(self, operand: Instruction, found: re.Match[str]) -> Instruction:
        """`x#1#0`: the get-tuple-elements that it stands for."""
        for digits in found[2].replace(" ", "").split("#")[1:]:
            index = int(digits) if len(digits) < 10 else 1 << 30
            if not isinstance(operand.shape, TupleShape) or index >= len(operand.shape.elements):
                self.fail(
                    f"{operand.name} of shape {operand.shape} has no element {index}", found.start(1), found.end()
                )
            # Under a key that no name can be, the one element serves everyone who names it.
            key, shape = f"{operand.name}#{index}", operand.shape.elements[index]
            if key not in self._names:
                name = self._anonymous("get-tuple-element")
                taken = Instruction("get-tuple-element", shape, (operand,), {"index": index}, name=name)
                self._names[key] = self._add(taken)
            operand = self._names[key]
        return operand

    def _anonymous(self, opcode: str) -> str:
        while True:
            number = self._anonymous_count.get(opcode, 0)
            self._anonymous_count[opcode] = number + 1
            name = f"{opcode}.anon.{number}" if number else f"{opcode}.anon"
            if name not in self._names:
                return name

    def _read_attributes(self, call: _Call) -> Attributes:
        attributes = call.payload
        text, cache = self.text, self._cache
        allowed = SIGNATURES[call.opcode].allowed
        if call.wrapped:
            allowed = allowed | SIGNATURES[call.wrapped].allowed
        while True:
            start = self.pos
            quick = _QUICK.match(text, start)
            if quick is not None and quick[1] in cache:
                name, value = cache[quick[1]]
                self.pos = quick.end()
            else:
                key = self.take(_KEY)
                if key is None:
                    break
                name = key[1]
                if name in allowed:
                    value = self._read_attribute(name, call.opcode)
                    if quick is not None and self.pos == quick.end() and _repeats(name, quick[1]):
                        cache[quick[1]] = name, value
            if name not in allowed or name in attributes:
                self._refuse(name, start, call.opcode, allowed)
            attributes[name] = value
        if self.at(","):
            self.pos += 1
            self.expected("the name of an attribute and '='")
        return attributes

    def _refuse(self, name: str, start: int, opcode: str, allowed: frozenset[str]) -> NoReturn:
        key = _KEY.match(self.text, start)
        assert key is not None
        if name not in allowed:
            self.unknown(f"attribute of {opcode}", name, allowed, key.start(1))
        self.fail(f"attribute {name} is written twice", key.start(1), key.end(1))

    def _read_attribute(self, name: str, opcode: str) -> Any:
        kind = ATTRIBUTES[name]
        if kind is _K.INTEGERS and opcode in LISTING_SLICES:
            return one_or_all(read_integers(self))
        if kind is _K.COMPUTATION:
            return self._read_callee()
        if kind is _K.COMPUTATIONS:
            return self.items("{", "}", self._read_callee)
        if kind is _K.INSTRUCTIONS:
            return self.items("{", "}", self._read_instruction_name)
        return read_value(self, name, kind)

    def _read_callee(self) -> Computation:
        """A computation by name, or in braces."""
        if self.at("{"):
            return self._add_unnamed(self.nested(lambda: self.read_body("_"), "a computation"))
        name = self.name("a computation")
        found = self.computations.get(name)
        if found is None:
            self.unknown("computation (computations are defined above their callers):", name, self.computations)
        return found

    def _add_unnamed(self, computation: Computation) -> Computation:
        """Keep a computation that no text can name; it gets a name of its own when all others are known."""
        self.computations[f"#{len(self.computations)}"] = computation
        return computation

    def name_unnamed(self) -> None:
        """Give the computations written in braces names that are free."""
        taken = {key for key in self.computations if not key.startswith("#")}
        for key, computation in self.computations.items():
            if key.startswith("#"):
                base, number = computation.name, 0
                while computation.name in taken:
                    number += 1
                    computation.name = f"{base}.{number}"
                taken.add(computation.name)

    def _read_instruction_name(self) -> Instruction:
        name = self.name("an instruction")
        found = self._names.get(name)
        if found is None:
            self.unknown("instruction (instructions are defined above):", name, self._names)
        return found

    def _finish(self, call: _Call, attributes: Attributes) -> Instruction:
        if not attributes:
            attributes = call.payload
        opcode = call.opcode
        if call.wrapped:
            attributes = self._wrap(call, attributes)
        for required in SIGNATURES[opcode].required:
            if required not in attributes:
                self.fail(f"{opcode} needs the attribute {required}", call.at, call.at + len(opcode))
        shape, name = call.shape, call.name or self._anonymous(opcode)
        stated = UNSTATED if shape is None else shape
        instruction = Instruction(opcode, stated, call.operands, attributes, name=name)
        if shape is None:
            instruction.shape = self._infer(call, instruction)
        elif opcode in DERIVED:
            instruction.shape = derived(instruction)
        return self._add(instruction)

    def _add(self, instruction: Instruction) -> Instruction:
        self._names[instruction.name] = instruction
        self._computation.append_parsed(instruction)
        return instruction

    def _infer(self, call: _Call, instruction: Instruction) -> Shape:
        op = OPS.get(call.opcode)
        if op is None or call.opcode in STATED:
            self.fail(
                f"the shape of {call.opcode} must be written before the opcode", call.at, call.at + len(call.opcode)
            )
        if miscounted := op.miscounted(len(call.operands)):
            self.fail(miscounted, call.at, call.at + len(call.opcode))
        try:
            return infer(instruction)
        except ShapeError as error:
            self.fail(f"no shape follows for {call.opcode}: {error}", call.at, call.at + len(call.opcode))

    def _wrap(self, call: _Call, attributes: Attributes) -> Attributes:
        """The attributes of `op-start(...)`, which begins a computation of that one op, or of its -update or -done."""
        operands, shape = call.operands, call.shape
        if call.opcode != "async-start":
            if operands and shape is not None:
                rewrap(call.opcode, operands, shape)
            return attributes
        if not isinstance(shape, TupleShape) or len(shape.elements) < 2:
            self.fail(f"{call.wrapped}-start needs a shape ((operands), result, ...)", call.at)
        computation, left = wrap(call.wrapped, operands, shape.elements[1], attributes)
        self._add_unnamed(computation)
        return left


def _repeats(name: str, text: str) -> bool:
    """Whether an attribute's text means the same wherever it stands in a module."""
    kind = ATTRIBUTES[name]
    return kind in _REPEATING or (kind is _K.COMPUTATION and not text.endswith("}"))


def _read_constant(reader: InstructionReader, call: _Call) -> None:
    if call.shape is None:
        reader.fail("the shape of a constant must be written before the opcode", call.at)
    call.payload["literal"] = read_literal(reader, call.shape)
    reader.expect(")", "behind a literal")


def _read_parameter(reader: InstructionReader, call: _Call) -> None:
    found = reader.take(_INTEGER)
    if found is None:
        reader.expected("the number of a parameter and ')'")
    call.payload["parameter_number"] = int(found[1])


_PAYLOADS: dict[str, Callable[[InstructionReader, _Call], None]] = {
    "constant": _read_constant,
    "parameter": _read_parameter,
}
_UNWRAPPED = _WITH_OWN_HALVES | _PAYLOADS.keys()
