"""The bodies of PTX functions: statements, operands and scopes.

A name declared in a nested `{ }` (LLVM opens one around every call) gets a suffix `#n`, which no PTX name can hold,
so that the same word may be declared again in the next scope.

Nearly all statements that a compiler writes are instructions on registers, numbers and addresses, one a line.  These
are read a line at a time, and each operand once: in simulations of small programs reading took longer than running.
Whatever is not of that form, or in error, is read token by token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from compiler.backends.nvptx.simulator.cursor import Cursor
from compiler.backends.nvptx.simulator.declaration import parse_registers, parse_variables
from compiler.backends.nvptx.simulator.lexer import Token
from compiler.backends.nvptx.simulator.syntax import (
    Address,
    Group,
    Guard,
    Immediate,
    Instruction,
    Not,
    Operand,
    Pair,
    Parameter,
    Register,
    Sink,
    Symbol,
    Variable,
)
from compiler.diagnostics import ParseError, Span

_MEMORY = (".local", ".shared", ".param")
_LINE_DIRECTIVES = (".loc", ".file")
_PLAIN = re.compile(
    r"""(?: \s++ | //[^\n]*+ )*+
        (?P<whole> (?: @ (?P<not> !? ) (?P<guard> %[\w$]+ ) [ \t]+ )?
        (?P<name> [a-z] (?: ::\w | [\w.] )* ) (?: [ \t]+ (?P<operands> [\w$%.+\-, \[\]]*? ) )? ; )""",
    re.VERBOSE,
)
"""An instruction whose operands are registers, numbers, symbols and addresses."""


class BodyParser:
    """Reads one `{ ... }` and keeps what it found."""

    def __init__(self, cursor: Cursor, parameters: Sequence[Parameter]) -> None:
        self.cursor = cursor
        self.registers: dict[str, str] = {}
        self.variables: dict[str, Variable] = {}
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.branch_tables: dict[str, tuple[str, ...]] = {}
        self._scopes: list[dict[str, str]] = [{p.name: p.name for p in parameters}]
        self._scope_count = 0
        self._known: dict[str, Operand] = {}

    def parse(self) -> None:
        """Read up to the closing brace."""
        self.cursor.expect("{")
        depth = 1
        while depth:
            if self.cursor.accept("{"):
                depth += 1
                self._scope_count += 1
                self._scopes.append({})
                self._known.clear()
            elif self.cursor.accept("}"):
                depth -= 1
                if depth:
                    self._scopes.pop()
                    self._known.clear()
            elif not self._plain_instructions():
                self._statement()

    def _plain_instructions(self) -> bool:
        """Read instructions in a row as far as they are of the plain form; whether there was one."""
        cursor = self.cursor
        begin = end = cursor.token.start
        while found := _PLAIN.match(cursor.text, end):
            instruction = self._plain(found)
            if instruction is None:
                break
            self.instructions.append(instruction)
            end = found.end()
        if end != begin:
            cursor.pass_over(end)
        return end != begin

    def _plain(self, found: re.Match[str]) -> Instruction | None:
        """An instruction of the plain form; None where anything in it has to be read token by token."""
        written = found["operands"]
        operands = [self._read(text.strip()) for text in written.split(",")] if written else []
        guard = self._read(found["guard"]) if found["guard"] else None
        known = tuple(operand for operand in operands if operand is not None)
        if len(known) < len(operands) or (found["guard"] and not isinstance(guard, Register)):
            return None
        opcode, modifiers = _words(found["name"])
        span = Span(self.cursor.filename, self.cursor.text, found.start("whole"), found.end())
        guarded = Guard(guard.name, bool(found["not"])) if isinstance(guard, Register) else None
        return Instruction(opcode, modifiers, known, guarded, span)

    def _read(self, text: str) -> Operand | None:
        """One operand by its text; None where it is none."""
        known = self._known.get(text)
        if known is None:
            name = self._resolve(text)
            known = Register(name) if name in self.registers else self._read_by_tokens(text)
            if known is not None:
                self._known[text] = known
        return known

    def _read_by_tokens(self, text: str) -> Operand | None:
        outer = self.cursor
        try:
            self.cursor = Cursor(text, outer.filename)
            operand = self._operand()
            return operand if self.cursor.token.kind == "end" else None
        except ParseError:
            return None
        finally:
            self.cursor = outer

    def _statement(self) -> None:
        cursor = self.cursor
        if cursor.at(".reg"):
            for register, type_ in parse_registers(cursor):
                self.registers[self._declare(register.name)] = type_
        elif cursor.at(*_MEMORY):
            for variable in parse_variables(cursor, is_extern=False):
                self.variables[self._declare(variable.name)] = variable
        elif cursor.at(*_LINE_DIRECTIVES):
            cursor.take()
            cursor.skip_line()
        elif cursor.at(".pragma"):
            while not cursor.accept(";"):
                cursor.take()
        elif cursor.token.kind == "word" and cursor.following.text == ":":
            self._label()
        else:
            self._instruction()

    def _declare(self, name: str) -> str:
        if name in self._scopes[-1]:
            self.cursor.fail(f"{name!r} is declared twice in one scope", self.cursor.last)
        unique = name if len(self._scopes) == 1 else f"{name}#{self._scope_count}"
        self._scopes[-1][name] = unique
        self._known.clear()
        return unique

    def _resolve(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return name

    def _label(self) -> None:
        cursor = self.cursor
        label = cursor.take()
        cursor.expect(":")
        if cursor.at(".branchtargets"):
            cursor.take()
            targets = [cursor.name("a label").text]
            while cursor.accept(","):
                targets.append(cursor.name("a label").text)
            cursor.expect(";")
            self.branch_tables[label.text] = tuple(targets)
        elif cursor.at(".callprototype", ".calltargets"):
            while not cursor.accept(";"):
                cursor.take()
        elif label.text in self.labels:
            cursor.fail(f"label {label.text!r} is defined twice", label)
        else:
            self.labels[label.text] = len(self.instructions)

    def _instruction(self) -> None:
        cursor = self.cursor
        first = cursor.token
        guard = None
        if cursor.accept("@"):
            negated = cursor.accept("!")
            guard = Guard(self._register(cursor.name("a predicate")).name, negated)
        opcode, *modifiers = cursor.name("an instruction").text.split(".")
        operands: list[Operand] = []
        while not cursor.accept(";"):
            if operands:
                cursor.expect(",")
            operands.append(self._operand())
        span = cursor.span(first, cursor.last)
        self.instructions.append(Instruction(opcode, tuple(modifiers), tuple(operands), guard, span))

    def _operand(self) -> Operand:
        operand = self._simple()
        if self.cursor.accept("|"):
            return Pair(operand, self._simple())
        return operand

    def _simple(self) -> Operand:
        cursor = self.cursor
        if cursor.accept("["):
            return self._address()
        if cursor.at("{", "("):
            return self._group()
        if cursor.token.kind == "number" or cursor.at("-"):
            return self._number()
        if cursor.accept("!"):
            return Not(self._register(cursor.name("a predicate")))
        return self._word(cursor.name("an operand"))

    def _word(self, word: Token) -> Operand:
        if word.text == "_":
            return Sink()
        if word.text == "WARP_SZ":
            return Immediate(32)
        return self._named(word)

    def _group(self) -> Group:
        close = {"{": "}", "(": ")"}[self.cursor.take().text]
        items: list[Operand] = []
        while not self.cursor.accept(close):
            if items:
                self.cursor.expect(",")
            items.append(self._operand())
        return Group(tuple(items))

    def _number(self) -> Immediate:
        value = self.cursor.number()
        return value if isinstance(value, Immediate) else Immediate(value)

    def _named(self, word: Token) -> Operand:
        base = self._named_base(word)
        if isinstance(base, Symbol) and self.cursor.at("+", "-"):
            return Address(base, self._offset())
        return base

    def _register(self, word: Token) -> Register:
        name = self._resolve(word.text)
        if name not in self.registers and not is_special(name):
            self.cursor.fail(f"register {word.text!r} is not declared", word)
        return Register(name)

    def _address(self) -> Address:
        cursor = self.cursor
        base: Register | Symbol | Immediate
        base = self._number() if cursor.token.kind == "number" else self._named_base(cursor.name("an address"))
        offset = self._offset() if cursor.at("+", "-") else 0
        cursor.expect("]")
        return Address(base, offset)

    def _named_base(self, word: Token) -> Register | Symbol:
        name = self._resolve(word.text)
        if name in self.registers or word.text.startswith("%"):
            return self._register(word)
        return Symbol(name)

    def _offset(self) -> int:
        self.cursor.accept("+")
        return self.cursor.integer("an offset")


@lru_cache(maxsize=1024)
def _words(name: str) -> tuple[str, tuple[str, ...]]:
    """The opcode and the modifiers of an instruction's name."""
    opcode, *modifiers = name.split(".")
    return opcode, tuple(modifiers)


_SPECIAL = {
    *(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
    *("%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%clock", "%clock_hi", "%clock64"),
    *(f"%lanemask_{relation}" for relation in ("eq", "le", "lt", "ge", "gt")),
    *("%globaltimer", "%globaltimer_lo", "%globaltimer_hi", "%dynamic_smem_size", "%total_smem_size"),
}


def is_special(name: str) -> bool:
    """Whether a name is a special register that the machine provides."""
    return name in _SPECIAL
