"""Modules, functions and loop metadata: what holds the instructions.

Whatever is shared by name (globals, declarations) or by number (metadata nodes) is written once, so that kernels of one
module can ask for the same intrinsic or table without knowing of each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler.codegen.llvm_ir.values import PTR, Value

PURE = "willreturn memory(none)"
"""Attributes of functions that do nothing but compute a value: of a loop that calls another, LLVM knows less."""

SM_80 = "sm_80"
"""The feature of GPUs that convert to bf16, and have minima that pass NaN on; later ones have it too."""

_DIVISION = re.compile(r" [su](?:div|rem) .*, %[^,]*$")  # of integers by what is not known

_FEW_ITERATIONS = 16
"""Loops of at most that many iterations, known beforehand, may be unrolled altogether."""

_ROLLED, _WHOLE = '!{!"llvm.loop.unroll.disable"}', '!{!"llvm.loop.unroll.full"}'
"""Properties of loops: not unrolled, and unrolled altogether."""


def keep_rolled(module: Module, *, scalar: bool = False, interleave: int = 0) -> str:
    """Loop metadata that forbids unrolling (and vectorising), where it would cost compile time and gain nothing.

    Args:
        module: where the metadata is defined.
        scalar: whether it is not vectorised either.
        interleave: vectors that a vectorised loop computes at once, 0 for as many as LLVM likes.
    """
    properties = [_ROLLED]
    if interleave:
        properties.append(f'!{{!"llvm.loop.interleave.count", i32 {interleave}}}')
    if scalar:
        properties.append('!{!"llvm.loop.vectorize.enable", i1 false}')
    return _of_loop(module, *properties)


def unrolling(module: Module, trip_count: int, lines: Sequence[str], *, fits: bool) -> str:
    """Metadata that keeps LLVM from unrolling a loop, unless its iterations are few and known, or asks for it.

    Of few iterations LLVM would make masked vectors, and it ends the process where its two estimates of what a division
    costs then differ; integers are divided one by one anyway.

    Args:
        module: where the metadata is defined.
        trip_count: iterations, 0 where that is not known.
        lines: of the loop's body.
        fits: whether all iterations together are few enough lines.
    """
    if not 0 < trip_count <= _FEW_ITERATIONS:
        return keep_rolled(module)
    if not module.unrolls:
        return ""
    if not fits:
        return keep_rolled(module, scalar=True) if any(map(_DIVISION.search, lines)) else ""
    return _of_loop(module, _WHOLE)


def unroll(module: Module, count: int) -> str:
    """Metadata of a loop of which so many iterations become one."""
    return _of_loop(module, f'!{{!"llvm.loop.unroll.count", i32 {count}}}')


def unroll_vectors(module: Module) -> str:
    """Metadata of a short loop of known length that is unrolled, wholly, only after it has become vectors."""
    whole = module.metadata(_WHOLE)
    return _of_loop(module, _ROLLED, f'!{{!"llvm.loop.vectorize.followup_vectorized", {whole}}}')


def _of_loop(module: Module, *properties: str) -> str:
    """Metadata of one loop, told from others that have the same properties."""
    nodes = ", ".join(map(module.metadata, properties))
    return f", !llvm.loop {module.metadata(f'distinct !{{{{self}}, {nodes}}}')}"


@dataclass(slots=True)
class Module:
    """One LLVM module: globals, declarations, functions and metadata, each written once.

    `features` are those of the target, by LLVM's names, for which something else is written.  With `unrolls` short
    loops ask to be unrolled, for passes that unroll only what asks.
    """

    features: frozenset[str] = frozenset()
    unrolls: bool = field(default=False, kw_only=True)
    functions: list[Function] = field(default_factory=list)
    globals: dict[str, str] = field(default_factory=dict)
    declarations: dict[str, str] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)
    _function_names: set[str] = field(default_factory=set)
    _defined: dict[tuple[str, str], str] = field(default_factory=dict)
    _tried: dict[str, int] = field(default_factory=dict)

    def function(
        self,
        name: str,
        result: str,
        parameters: Sequence[tuple[str, str]],
        *,
        linkage: str = "",
        attributes: str = "nounwind",
    ) -> Function:
        """Start a function.

        Where the name is taken the function gets another, so callers use the function's own.

        Args:
            name: wanted for it, without `@`.
            result: LLVM's type, `void` for none.
            parameters: type with attributes, and name without `%`, of each.
            linkage: as LLVM writes it, "" for external.
            attributes: of the function.
        """
        function = Function(self, self.free_name(name), result, tuple(parameters), linkage, attributes)
        self.add(function)
        return function

    def add(self, function: Function) -> None:
        """Take up a function whose name is free."""
        self.functions.append(function)
        self._function_names.add(function.name)

    def free_name(self, name: str) -> str:
        """The name, or one made from it that no function has yet."""
        number, free = 1, name
        while free in self._function_names:
            number += 1
            free = f"{name}_{number}"
        return free

    def has_function(self, name: str) -> bool:
        """Whether a function of that name has been started."""
        return name in self._function_names

    def declare(self, name: str, result: str, parameters: Sequence[str], attributes: str = "") -> str:
        """Declare an outside function or an intrinsic once; returns its spelling for `call`.

        Args:
            name: of the function, without `@`.
            result: LLVM's type of what it returns.
            parameters: LLVM's types of what it is given.
            attributes: LLVM's, behind the declaration.

        Raises:
            ValueError: it is declared already, for other types.
        """
        self.add_declaration(name, f"declare {result} @{name}({', '.join(parameters)}) {attributes}".rstrip())
        return f"@{name}"

    def add_declaration(self, name: str, declaration: str) -> None:
        """Take up the `declaration` of a `name`, as it is written.

        Raises:
            ValueError: there is another of that name.
        """
        if self.declarations.setdefault(name, declaration) != declaration:
            raise ValueError(f"declared twice: {self.declarations[name]}, and {declaration}")

    def define_global(self, name: str, definition: str) -> Value:
        """Define `@name = definition` once, e.g. `internal constant [4 x i8] c"abcd", align 64`.

        Where the name stands for something else already, another one is made from it.
        """
        known = self._defined.get((name, definition))
        if known is None:
            known = self._defined[name, definition] = self._free_global(name, definition)
            self.globals[known] = definition
        return Value(PTR, f"@{known}")

    def define_bytes(self, name: str, data: bytes, alignment: int = 1) -> Value:
        """Define `@name` once as these bytes, which nobody changes.

        Args:
            name: of the constant, without `@`.
            data: its bytes.
            alignment: of the first of them, in bytes.
        """
        text = "\\" + data.hex("\\") if data else ""
        return self.define_global(name, f'internal constant [{len(data)} x i8] c"{text}", align {alignment}')

    def _free_global(self, name: str, definition: str) -> str:
        """The name, or the first one made from it, that stands for nothing else; where none was is kept, per name."""
        number = self._tried.get(name, 1)
        free = name if number == 1 else f"{name}.{number}"
        while self.globals.get(free, definition) != definition:
            number += 1
            free = f"{name}.{number}"
        self._tried[name] = number
        return free

    def metadata(self, text: str) -> str:
        """Add a metadata node; returns its reference, e.g. `!3`.  `{self}` in the text is that reference."""
        reference = f"!{len(self.nodes)}"
        self.nodes.append(f"{reference} = {text.replace('{self}', reference)}")
        return reference

    def __str__(self) -> str:
        sections = [
            "\n".join(f"@{name} = {definition}" for name, definition in self.globals.items()),
            "\n".join(self.declarations.values()),
            "\n\n".join(map(str, self.functions)),
            "\n".join(self.nodes),
        ]
        return "\n\n".join(section for section in sections if section) + "\n"


@dataclass(slots=True)
class Function:
    """A function under construction: blocks of instruction lines in the order in which they were begun.

    `scalar_loops` counts the loops that LLVM might vectorise: innermost ones without vectors of their own.  One that is
    `cold` runs once where others run their loops, so that translating it quickly is worth more than its speed.  One of
    a `routine` is named by what it computes: in every program that has one of its name it is the same.

    Of a GPU's function `threads` are those of a block, `waits` says whether they wait for one another, and `shared` has
    the bytes of the arrays that they share.  `codes` has integers that values are known to stand for, by names and what
    for.
    """

    module: Module
    name: str
    result: str
    parameters: tuple[tuple[str, str], ...]
    linkage: str
    attributes: str
    lines: list[str] = field(default_factory=list)
    counter: int = 0
    scalar_loops: int = 0
    cold: bool = False
    routine: str = ""
    threads: int = 0
    waits: bool = False
    shared: dict[str, int] = field(default_factory=dict)
    codes: dict[tuple[str, str], Value] = field(default_factory=dict)

    @property
    def arguments(self) -> list[Value]:
        """The parameters as values."""
        return [
            Value(type_.split(" ")[0] if type_[0] not in "<[{" else type_, f"%{name}")
            for type_, name in self.parameters
        ]

    @property
    def type(self) -> str:
        """The function's type."""
        return f"{self.result} ({', '.join(argument.type for argument in self.arguments)})"

    def __str__(self) -> str:
        return self.text(internal=self.linkage == "internal")

    def text(self, *, internal: bool) -> str:
        """The definition; a function of linkage `internal` may be made visible to other modules."""
        parameters = ", ".join(f"{type_} %{name}" for type_, name in self.parameters)
        linkage = "internal" if internal else self.linkage.removeprefix("internal")
        body = "\n".join(self.lines)
        head = f"define {linkage} {self.result}" if linkage else f"define {self.result}"
        return f"{head} @{self.name}({parameters}) {self.attributes} {{\n{body}\n}}"

    def declaration(self) -> str:
        """The line with which another module declares it."""
        attributes = f"nounwind {PURE}" if PURE in self.attributes else "nounwind"
        return f"declare {self.result} @{self.name}({', '.join(type_ for type_, _ in self.parameters)}) {attributes}"
