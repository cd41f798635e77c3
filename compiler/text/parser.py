"""HLO text to a module.

A computation is read instruction by instruction.  An instruction takes four matches in the common case: its name,
its shape (looked up by its text), opcode and operand names at once, and then one match and one lookup per attribute.
What does not fit that mould goes the general way.  Operands that are instructions themselves are kept on a stack of
our own, so their nesting costs no recursion.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from compiler.frontends import Shapes, hlo_text
from compiler.ir.attributes import MODULE_ATTRIBUTES
from compiler.ir.literal import Literal
from compiler.ir.manual import partitions_named
from compiler.ir.module import Computation, Module
from compiler.ir.shape import Shape
from compiler.text.attributes import read_value
from compiler.text.instructions import InstructionReader
from compiler.text.lexer import NAME, SPACE, Scanner, pattern
from compiler.text.literals import read_literal as _read_literal
from compiler.text.notes import read_stack_frames
from compiler.text.shapes import agree
from compiler.text.shapes import read_shape as _read_shape

_SEPARATOR = re.compile(r"^//[ \t]*-----(?!-).*$", re.MULTILINE)
_HEADER = pattern(rf"HloModule{SPACE}%?+({NAME}):?+")
_ENTRY = r"ENTRY(?![\w.\-])"
_COMPUTATION = pattern(rf"(?:({_ENTRY}{SPACE})|(?!{_ENTRY}))%?+({NAME}):?+{SPACE}(?=[{{(])")
_KEY = pattern(rf",{SPACE}({NAME}){SPACE}=")


def parse(source: str | bytes, *, filename: str = "<string>", shapes: Shapes | None = None) -> Module:
    """Read one module: with or without its header, or a single instruction, whose operands become parameters.

    What is no HLO text is made that first, as `compiler.frontends` says: StableHLO and MHLO, files of `jax.export`,
    protocol buffers.

    Args:
        source: text, or bytes in any form.
        filename: for messages.
        shapes: of the inputs, for a program that leaves some open.

    Raises:
        ParseError: the text is not HLO; the error points to the place.
        InputError: a program in another form cannot be converted.
        UnsupportedError: jaxlib, which converts it, is not installed.
    """
    text = hlo_text(source, filename=filename, shapes=shapes)
    return _ModuleReader(InstructionReader(text, filename)).read()


def parse_many(source: str | bytes, filename: str = "<string>") -> list[Module]:
    """Read the modules of a text in which lines `// -----` stand between modules."""
    text = hlo_text(source, filename=filename)
    modules = []
    begin = 0
    for separator in (*_SEPARATOR.finditer(text), None):
        end = separator.start() if separator else len(text)
        scanner = Scanner(text[begin:end], filename)
        if scanner.skip() < len(scanner.text):
            # Line feeds stand for what came before, so that errors name lines of the file.
            modules.append(parse("\n" * text.count("\n", 0, begin) + scanner.text, filename=filename))
        begin = separator.end() if separator else end
    if not modules:
        Scanner(text, filename).expected("an HLO module")
    return modules


def parse_shape(text: str) -> Shape:
    """Read a shape, such as `f32[2,<=3]{1,0}`."""
    scanner = Scanner(text, "<shape>")
    shape = _read_shape(scanner)
    if scanner.skip() < len(text):
        scanner.expected("the end of the text behind a shape")
    return shape


def parse_literal(text: str, shape: Shape) -> Literal:
    """Read a value of a given shape, such as `{ { 1, 2 }, { 3, nan } }`."""
    scanner = Scanner(text, "<literal>")
    literal = _read_literal(scanner, shape)
    if scanner.skip() < len(text):
        scanner.expected("the end of the text behind a literal")
    return literal


class _Stated(NamedTuple):
    """The shape that a computation is said to return, and where the text says it."""

    shape: Shape
    start: int
    stop: int


@dataclass(slots=True)
class _ModuleReader:
    source: InstructionReader
    module: Module = field(default_factory=lambda: Module("_"))
    entry: Computation | None = None

    def read(self) -> Module:
        source = self.source
        if source.skip() == len(source.text):
            source.expected("an HLO module")
        header = source.take(_HEADER)
        if header is not None:
            self.module.name = header[1]
            self._read_header()
        elif _COMPUTATION.match(source.text, source.pos) is None:
            if source.accept_word("ENTRY"):
                self._expect_computation()
            return self._read_instruction()
        while source.skip() < len(source.text):
            self._read_computation()
        if not source.computations:
            source.expected("a computation")
        self._finish()
        if header is None:
            self.module.name = f"module_{self.module.entry.name}"
        return self.module

    def _finish(self) -> None:
        module = self.module
        self.source.name_unnamed()
        module.computations = list(self.source.computations.values())
        module.entry = self.entry or module.computations[-1]
        for computation in module.computations:
            computation.module = module
        if "SPMD" in self.source.text or "xla.sdy." in self.source.text:
            # JAX's lowering names a mesh and leaves the number of devices to those who compile.
            named = partitions_named(module)
            if named > 1:
                module.attributes.setdefault("num_partitions", named)

    def _read_header(self) -> None:
        source = self.source
        attributes = self.module.attributes
        while (key := source.take(_KEY)) is not None:
            kind = MODULE_ATTRIBUTES.get(key[1])
            if kind is None:
                source.unknown("attribute of a module", key[1], MODULE_ATTRIBUTES, key.start(1))
            if key[1] in attributes:
                source.fail(f"attribute {key[1]} is written twice", key.start(1))
            attributes[key[1]] = read_value(source, key[1], kind)
        if source.at(","):
            source.pos += 1
            source.expected("the name of an attribute and '='")
        frames = read_stack_frames(source)
        if frames is not None:
            attributes["stack_frames"] = frames

    def _read_instruction(self) -> Module:
        """A text of one instruction, with or without the name it is given."""
        computation = self.source.read_lone_instruction("_")
        self.source.add_computation(computation, self.source.pos)
        self.entry = computation
        self.module.attributes["is_scheduled"] = True
        self._finish()
        return self.module

    def _read_computation(self) -> None:
        source = self.source
        found = source.take(_COMPUTATION)
        if found is None:
            if source.accept_word("HloModule"):
                source.pos -= len("HloModule")
                source.fail(
                    "a second module begins here: separate modules by a line '// -----', "
                    "and take one by --module N, or all by parse_many"
                )
            self._expect_computation()
        name = found[2]
        if name in source.computations:
            source.fail(f"a computation named {name} already exists", found.start(2), found.end(2))
        stated = self._read_signature() if source.at("(") else None
        computation = source.read_body(name)
        if stated is not None and not agree(stated.shape, computation.root.shape):
            message = f"{name} is said to return {stated.shape}, but its root has shape {computation.root.shape}"
            source.fail(message, stated.start, stated.stop)
        if source.accept(","):
            if source.key("execution_thread") != "execution_thread":
                source.unknown("attribute of a computation", "", ["execution_thread"])
            computation.attributes["execution_thread"] = source.string()
        source.add_computation(computation, found.start(2))
        if found[1]:
            if self.entry is not None:
                source.fail(f"a second ENTRY: {self.entry.name} already is the entry", found.start(1))
            self.entry = computation

    def _expect_computation(self) -> NoReturn:
        """Say what is missing, behind `ENTRY` where that is there."""
        self.source.accept_word("ENTRY")
        self.source.expected("a computation: a name of ASCII letters, then its parameters in parentheses or '{'")

    def _read_signature(self) -> _Stated:
        """`(p: f32[], q: s32[2]) -> f32[]`: parameters are stated again in the body, so only the result counts."""
        source = self.source

        def read() -> None:
            source.name("the name of a parameter")
            source.accept(":")
            _read_shape(source)

        source.items("(", ")", read)
        source.expect("->", "and the shape of the result")
        start = source.skip()
        return _Stated(_read_shape(source), start, source.pos)
