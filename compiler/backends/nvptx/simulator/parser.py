"""PTX text to a `PtxModule`: the module level, where variables and functions are declared.

It reads the language that LLVM's NVPTX back end writes and that people write by hand, after the PTX ISA 8.x manual.
What has no meaning for execution (line tables, debug sections, pragmas) is passed over.  Function bodies are read by
`body`.
"""

from __future__ import annotations

import dataclasses
import math

from compiler.backends.nvptx.simulator.body import BodyParser
from compiler.backends.nvptx.simulator.cursor import Cursor
from compiler.backends.nvptx.simulator.declaration import parse_parameters, parse_variables
from compiler.backends.nvptx.simulator.syntax import Function, Parameter, PtxModule, Variable

_LINKAGE = (".visible", ".weak", ".extern", ".common")
_SPACES = (".global", ".const", ".shared")
_LIMITS = (
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnctapersm",
    ".maxnreg",
    ".reqnctapercluster",
    ".maxclusterrank",
    ".explicitcluster",
    ".noreturn",
    ".blocksareclusters",
)


def parse_ptx(text: str, *, filename: str = "<ptx>") -> PtxModule:
    """Read a PTX text; a `ParseError` says where and what is wrong with it."""
    return _ModuleParser(Cursor(text, filename)).parse()


class _ModuleParser:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.version = ""
        self.target = ""
        self.address_size = 64
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, Function] = {}

    def parse(self) -> PtxModule:
        while self.cursor.token.kind != "end":
            self._declaration()
        if not self.version:
            self.cursor.fail("no .version directive: this is not a PTX module")
        return PtxModule(
            self.cursor.filename,
            self.cursor.text,
            self.version,
            self.target,
            self.address_size,
            self.variables,
            self.functions,
        )

    def _declaration(self) -> None:
        cursor = self.cursor
        if cursor.accept(".version"):
            self.version = cursor.take().text
        elif cursor.accept(".target"):
            self.target = cursor.take().text
            while cursor.accept(","):
                cursor.take()
        elif cursor.accept(".address_size"):
            self._address_size()
        elif cursor.at(".file", ".loc"):
            cursor.take()
            cursor.skip_line()
        elif cursor.accept(".section"):
            cursor.take()
            cursor.skip_braces()
        elif cursor.at(".pragma", ".alias"):
            while not cursor.accept(";"):
                cursor.take()
        else:
            self._entity()

    def _address_size(self) -> None:
        token = self.cursor.token
        self.address_size = self.cursor.integer("the address size")
        if self.address_size != 64:
            self.cursor.fail("only 64-bit addresses exist on the targets that are simulated", token)

    def _entity(self) -> None:
        cursor = self.cursor
        is_extern = False
        while cursor.at(*_LINKAGE):
            is_extern |= cursor.take().text == ".extern"
        if cursor.at(*_SPACES):
            for variable in parse_variables(cursor, is_extern=is_extern):
                self.variables[variable.name] = variable
        elif cursor.at(".entry", ".func"):
            self._function()
        else:
            cursor.fail(f"expected a directive, a variable or a function, found {cursor.token.text!r}")

    def _function(self) -> None:
        cursor = self.cursor
        first = cursor.take()
        is_entry = first.text == ".entry"
        results: tuple[Parameter, ...] = ()
        if not is_entry and cursor.at("("):
            results = parse_parameters(cursor)
        name = cursor.name("the function's name")
        parameters = parse_parameters(cursor) if cursor.at("(") else ()
        limits = self._limits()
        function = Function(
            name.text, is_entry, parameters, results, {}, {}, None, {}, {}, limits, cursor.span(first, name)
        )
        if cursor.accept(";"):
            self.functions.setdefault(name.text, function)
            return
        known = self.functions.get(name.text)
        if known is not None and known.instructions is not None:
            cursor.fail(f"function {name.text!r} is defined twice", name)
        body = BodyParser(cursor, (*parameters, *results))
        body.parse()
        self.functions[name.text] = dataclasses.replace(
            function,
            registers=body.registers,
            variables=body.variables,
            instructions=tuple(body.instructions),
            labels=body.labels,
            branch_tables=body.branch_tables,
        )

    def _limits(self) -> dict[str, tuple[int, ...]]:
        limits: dict[str, tuple[int, ...]] = {}
        while self.cursor.at(*_LIMITS):
            directive = self.cursor.take().text[1:]
            values = []
            if self.cursor.token.kind == "number":
                values.append(self.cursor.integer("a limit"))
                while self.cursor.accept(","):
                    values.append(self.cursor.integer("a limit"))
            limits[directive] = tuple(values)
        return limits


def required_threads(function: Function) -> tuple[int, int, int] | None:
    """The block shape that `.reqntid` demands, if it stands there."""
    shape = function.limits.get("reqntid")
    if shape is None:
        return None
    x, y, z = (*shape, 1, 1)[:3]
    return x, y, z


def most_threads(function: Function) -> int:
    """The most threads a block may have by `.maxntid`, else what every GPU allows."""
    shape = function.limits.get("maxntid")
    return min(1024, math.prod(shape)) if shape else 1024
