"""The C++ class that calls a compiled graph, with the methods of the class that TensorFlow's tfcompile writes.

Its objects are independent: each has memory of its own for arguments, results and whatever the program needs while it
runs, so that several can run at once.  The header uses types and inline functions only, so what is linked needs libc
and libm, not even C++'s library.  What it looks like stands in `class.h`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import accumulate, pairwise
from string import Template

from compiler.backends.cpu import c_names
from compiler.backends.cpu.ahead import ALIGNMENT
from compiler.diagnostics import InputError
from compiler.ir.shape import ArrayShape

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ROOM = 64
"""Bytes at whose multiples arrays of an object lie."""

_CPP = {
    "f32": "float", "f64": "double", "pred": "bool", "c64": "std::complex<float>", "c128": "std::complex<double>",
    "s8": "std::int8_t", "s16": "std::int16_t", "s32": "std::int32_t", "s64": "std::int64_t",
    "u8": "std::uint8_t", "u16": "std::uint16_t", "u32": "std::uint32_t", "u64": "std::uint64_t",
}  # fmt: skip
"""C++'s type for an element; of others it is the bits, in an unsigned integer."""


@dataclass(frozen=True, slots=True)
class CppClass:
    """The name of a class, with the namespaces that it is in."""

    namespaces: tuple[str, ...]
    name: str

    @staticmethod
    def parse(text: str) -> CppClass:
        """A class from its name, `ns::inner::Class`; a leading `::` says nothing more.

        Raises:
            InputError: it is no name.
        """
        words = text.removeprefix("::").split("::")
        for word in words:
            if not _IDENTIFIER.fullmatch(word) or c_names.function_name(word) != word:
                raise InputError(f"--cpp-class {text!r}: {word!r} is no name of C++; give it as ns::Class")
        return CppClass(tuple(words[:-1]), words[-1])

    @property
    def symbol(self) -> str:
        """The name of the program's function, which no other class has."""
        return "tfcompile_" + "__".join((*self.namespaces, self.name))

    @property
    def file(self) -> str:
        """The name of its files, without the ending."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name).lower()


@dataclass(frozen=True, slots=True)
class Array:
    """An argument, a result or a variable: what the caller calls it, "" if nothing, its type and sizes."""

    name: str
    shape: ArrayShape
    is_constant: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """The arguments, results and sizes that a generated class tells of.

    Attributes:
        arguments: what the caller gives.
        results: what the caller gets.
        variables: what the caller keeps.
        reads: numbers of the variables that the program takes, after the arguments.
        writes: of those that it gives, after the results.
    """

    arguments: Sequence[Array]
    results: Sequence[Array]
    variables: Sequence[Array]
    reads: Sequence[int]
    writes: Sequence[int]


def header(cpp_class: CppClass, function: str, facts: Facts, machine: str, arena_bytes: int) -> str:
    """The text of the C++ header that declares the compiled class.

    Args:
        cpp_class: the class.
        function: what the program's function is called.
        facts: what the class has.
        machine: what the program was compiled for, to be said in a comment.
        arena_bytes: the scratch memory of a run.
    """
    written = [facts.variables[number] for number in facts.writes]
    owned = [*facts.arguments, *facts.variables, *facts.results, *written]
    *offsets, arena = accumulate((_padded(one.shape.size_bytes) for one in owned), initial=0)
    counts = [len(facts.arguments), len(facts.variables), len(facts.results), len(written)]
    starts = [*accumulate(counts, initial=0)]
    offsets_of = [offsets[a:b] for a, b in pairwise(starts)]
    guard = "_".join((*cpp_class.namespaces, cpp_class.name, "H_")).upper()
    words = {
        "guard": f"TFCOMPILE_{guard}",
        "machine": c_names.comment(machine),
        "function": function,
        "open": "".join(f"namespace {name} {{\n" for name in cpp_class.namespaces),
        "close": "".join(f"}}  // namespace {name}\n" for name in reversed(cpp_class.namespaces)),
        "class_name": cpp_class.name,
        "alignment": ALIGNMENT,
        "room": _ROOM,
        "memory_bytes": arena + arena_bytes,
        "arena": arena,
        "argument_count": counts[0],
        "variable_count": counts[1],
        "result_count": counts[2],
        "written_count": counts[3],
        "parameter_count": len(facts.arguments) + len(facts.reads),
        "argument_bytes": _list(one.shape.size_bytes for one in facts.arguments),
        "variable_bytes": _list(one.shape.size_bytes for one in facts.variables),
        "result_bytes": _list(one.shape.size_bytes for one in facts.results),
        "argument_offsets": _list(offsets_of[0]),
        "variable_offsets": _list(offsets_of[1]),
        "result_offsets": _list(offsets_of[2]),
        "written_offsets": _list(offsets_of[3]),
        "reads": _list(facts.reads),
        "writes": _list(facts.writes),
        "arguments": "".join(_accessors("arg", n, one) for n, one in enumerate(facts.arguments)),
        "variables": "".join(_accessors("var", n, one) for n, one in enumerate(facts.variables)),
        "results": "".join(_accessors("result", n, one) for n, one in enumerate(facts.results)),
    }
    return Template((files(__package__) / "class.h").read_text(encoding="ascii")).substitute(words)


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // _ROOM) * _ROOM


def _list(numbers: Iterable[int]) -> str:
    """An initialiser, with one more element so that no array is empty."""
    return "".join(f"{number}, " for number in numbers) + "0"


_MEMBERS = {"arg": "arguments_", "var": "variables_", "result": "results_"}


def _accessors(kind: str, number: int, array: Array) -> str:
    """The methods of one array, under its number and its name."""
    names = [f"{kind}{number}"] if kind != "var" else []
    names += [f"{kind}_{array.name}"] if array.name else []
    type_ = _CPP.get(array.shape.element_type.name, f"std::uint{max(8, array.shape.element_type.bits)}_t")
    held = f"const {type_}" if array.is_constant else type_
    dims = array.shape.dims
    words = {
        "member": f"{_MEMBERS[kind]}[{number}]",
        "held": held,
        "type": type_,
        "shape": array.shape,
        "bytes": array.shape.size_bytes,
        "count": array.shape.size,
        "dims": ", ".join(f"std::size_t dim{n}" for n in range(len(dims))),
        "place": _element_offset(dims),
    }
    text = f"\n  // {array.shape}\n"
    for name in names:
        text += (_SETTER.format(name=name, **words) if kind != "result" else "") + _GETTERS.format(name=name, **words)
    return text


def _element_offset(dims: Sequence[int]) -> str:
    """Where an element lies, by its indices."""
    offset = ""
    for number, size in enumerate(dims):
        offset = f"({offset}) * {size} + dim{number}" if offset else f"dim{number}"
    return offset or "0"


_SETTER = """\
  void set_{name}_data({held}* data) {{ {member} = const_cast<{type}*>(data); }}
"""

_GETTERS = """\
  {held}* {name}_data() {{ return static_cast<{held}*>({member}); }}
  const {type}* {name}_data() const {{ return static_cast<const {type}*>({member}); }}
  {held}& {name}({dims}) {{ return {name}_data()[{place}]; }}
  const {type}& {name}({dims}) const {{ return {name}_data()[{place}]; }}
  static constexpr int {name}_size() {{ return {bytes}; }}
  static constexpr int {name}_count() {{ return {count}; }}
"""
