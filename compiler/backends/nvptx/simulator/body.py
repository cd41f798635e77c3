"""The bodies of PTX functions: statements, operands and scopes.

A name declared in a nested `{ }` (LLVM opens one around every call) gets a suffix `#n`, which no PTX name can hold,
so that the same word may be declared again in the next scope.

Nearly all statements that a compiler writes are labels, and instructions of a line each.  These are read a line at a
time by one expression, and each operand once by another: in simulations of small programs reading took longer than
running.  Whatever is not of that form, or in error, is read token by token.
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
    r"""(?: \s++ | //[^\n]*+ | \.pragma \s++ "[^"\n]*+" \s*+ ; )*+
        (?: (?P<label> [A-Za-z_$][\w$]*+ ) : (?! : | (?: \s++ | //[^\n]*+ )*+ \.[bc] )
          | (?P<whole> (?: (?P<guard> @ !? %[\w$]++ ) [ \t]++ )?
            (?P<name> [a-z] (?: ::\w | [\w.] )* ) (?: [ \t]++ (?P<operands> [\w$%.+\-, \[\]{}|!]*+ ) )? ; ) )""",
    re.VERBOSE,
)
"""A label that names no list, or an instruction whose operands are all but lists of a call."""
_OPERAND = re.compile(
    r"""(?P<integer> -?(?: 0 | [1-9]\d* ) )
      | 0[fF] (?P<single> [0-9a-fA-F]{8} ) | 0[dD] (?P<double> [0-9a-fA-F]{16} )
      | \[ (?P<base> [A-Za-z_$%][\w$]* ) (?: (?: \+ | (?=-) ) (?P<offset> -?(?: 0 | [1-9]\d* ) ) )? \]
      | (?P<symbol> (?! _$ | WARP_SZ$ ) [A-Za-z_$][\w$]* )""",
    re.VERBOSE,
)
"""A number, an address or a name, as a compiler writes them."""
_COMMA = re.compile(r",(?![^{}]*\})")
"""What stands between operands, and not between those of a group."""


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
            elif not self._plain_statements():
                self._statement()

    def _plain_statements(self) -> bool:
        """Read statements in a row as far as they are of the plain form; whether there was one."""
        cursor = self.cursor
        begin = end = cursor.token.start
        while found := _PLAIN.match(cursor.text, end):
            label = found["label"]
            if label is None:
                instruction = self._plain(found)
                if instruction is None:
                    break
                self.instructions.append(instruction)
            elif label not in self.labels:
                self.labels[label] = len(self.instructions)
            else:
                break
            end = found.end()
        if end != begin:
            cursor.pass_over(end)
        return end != begin

    def _plain(self, found: re.Match[str]) -> Instruction | None:
        """An instruction of the plain form; None where anything in it has to be read token by token."""
        _, _, before, name, written = found.groups()
        known: tuple[Operand, ...] = ()
        if written:
            operands = [self._read(text.strip()) for text in _split(written)]
            known = tuple(operand for operand in operands if operand is not None)
            if len(known) < len(operands):
                return None
        guard = None
        if before:
            register = self._read(before.lstrip("@!"))
            if not isinstance(register, Register):
                return None
            guard = Guard(register.name, "!" in before)
        opcode, modifiers = _words(name)
        span = Span(self.cursor.filename, self.cursor.text, found.start("whole"), found.end())
        return Instruction(opcode, modifiers, known, guard, span)

    def _read(self, text: str) -> Operand | None:
        """One operand by its text; None where it is none."""
        known = self._known.get(text)
        if known is None:
            known = self._read_at_once(text) or self._read_by_tokens(text)
            if known is not None:
                self._known[text] = known
        return known

    def _read_at_once(self, text: str) -> Operand | None:
        """An operand of the forms that compilers write."""
        name = self._resolve(text)
        if name in self.registers or is_special(name):
            return Register(name)
        found = _OPERAND.fullmatch(text)
        if found is None:
            return self._read_compound(text)
        integer, single, double, base, offset, symbol = found.groups()
        if symbol:
            return Symbol(name)
        if base is None:
            return Immediate(int(integer)) if integer else Immediate(int(single or double, 16), 32 if single else 64)
        name = self._resolve(base)
        if name in self.registers:
            return Address(Register(name), int(offset or 0))
        return None if base.startswith("%") else Address(Symbol(name), int(offset or 0))

    def _read_compound(self, text: str) -> Operand | None:
        """An operand of several registers, numbers and names."""
        if text.startswith("!"):
            register = self._read(text[1:])
            return Not(register) if isinstance(register, Register) else None
        pieces = text[1:-1].split(",") if text[:1] + text[-1:] == "{}" else text.split("|")
        items = [self._read(piece.strip()) for piece in pieces if piece.strip() not in ("", text)]
        known = tuple(item for item in items if item is not None)
        if len(known) < len(pieces):
            return None
        return Group(known) if text.startswith("{") else Pair(*known) if len(known) == 2 else None

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


def _split(written: str) -> list[str]:
    """The operands of an instruction, one by one."""
    return _COMMA.split(written) if "{" in written else written.split(",")


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
