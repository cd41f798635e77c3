"""A program as an object file with a C interface, for a machine that has no compiler: one function, one thread.

The function reads and writes where it is told and calls nothing but what libc and libm have, so it links anywhere.
Beside the object file come a header that says what the function takes, a `main` that runs it on files of raw numbers,
and the same facts as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from compiler.analysis.storage import ALIGNMENT as ARENA_ALIGNMENT
from compiler.backends.cpu import c_names, program
from compiler.backends.cpu.image import arrays, leaf
from compiler.backends.cpu.machine import Machine
from compiler.backends.cpu.runtime.arguments import Leaf
from compiler.codegen import compile_units, elf, llvm
from compiler.codegen.libcalls import C_LIBRARY
from compiler.ir.meanings import given
from compiler.ir.module import Module
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.types import TOKEN

ALIGNMENT = 16
"""Bytes to which the data of parameters and results must be aligned: as malloc and NumPy do."""

_ENTRY = "ahead.entry"
"""What the function is called among those of the program, none of which C could name so."""

_WRAPPER = f"""
define void @{_ENTRY}(ptr %parameters, ptr %results, ptr %arena) {{
  call void @{program.PROGRAM}(ptr %parameters, ptr %results, ptr %arena, ptr null)
  ret void
}}
"""

_HEADER = """\
/* {title}: HLO compiled for {cpu}.
 *
 * Arrays are dense, the last dimension runs fastest, and their data is aligned to {upper}_ALIGNMENT bytes.
 *
{arrays}
 */
#ifndef {upper}_H
#define {upper}_H

#include <stddef.h>

#define {upper}_PARAMETERS {parameter_count}
#define {upper}_RESULTS {result_count}
#define {upper}_ALIGNMENT {alignment}
#define {upper}_ARENA_BYTES {arena_bytes}
#define {upper}_ARENA_ALIGNMENT {arena_alignment}

/* One more than there are, so that no array is empty. */
static const size_t {name}_parameter_bytes[{upper}_PARAMETERS + 1] = {{{parameter_bytes}0}};
static const size_t {name}_result_bytes[{upper}_RESULTS + 1] = {{{result_bytes}0}};

#ifdef __cplusplus
extern "C" {{
#endif

/* Run on this thread.  `parameters` and `results` point to the arrays, `arena` to scratch memory of which nothing is
 * kept; calls at the same time need results and arenas of their own. */
void {name}(const void *const *parameters, void *const *results, void *arena);

#ifdef __cplusplus
}}
#endif

#endif
"""

_MAIN = """\
/* Run {name} on files of raw numbers: main PARAMETER... RESULT... */
#include <stdio.h>
#include <stdlib.h>

#include "{name}.h"

static void *room(size_t bytes, size_t alignment) {{
  char *data = malloc(bytes + alignment);
  if (data == NULL) {{
    fprintf(stderr, "no memory for %zu bytes\\n", bytes);
    exit(4);
  }}
  return data + (alignment - (size_t)data % alignment);
}}

int main(int count, char **files) {{
  const void *parameters[{upper}_PARAMETERS + 1] = {{NULL}};
  void *results[{upper}_RESULTS + 1] = {{NULL}};
  if (count != 1 + {upper}_PARAMETERS + {upper}_RESULTS) {{
    fprintf(stderr, "usage: %s PARAMETER... RESULT...: %d files to read, %d to write\\n", files[0],
            {upper}_PARAMETERS, {upper}_RESULTS);
    return 2;
  }}
  for (int i = 0; i < {upper}_PARAMETERS; i++) {{
    size_t bytes = {name}_parameter_bytes[i];
    void *data = room(bytes, {upper}_ALIGNMENT);
    FILE *file = fopen(files[1 + i], "rb");
    if (file == NULL || fread(data, 1, bytes, file) != bytes || fgetc(file) != EOF) {{
      fprintf(stderr, "%s: not a file of %zu bytes\\n", files[1 + i], bytes);
      return 2;
    }}
    fclose(file);
    parameters[i] = data;
  }}
  for (int i = 0; i < {upper}_RESULTS; i++)
    results[i] = room({name}_result_bytes[i], {upper}_ALIGNMENT);
  {name}(parameters, results, room({upper}_ARENA_BYTES, {upper}_ARENA_ALIGNMENT));
  for (int i = 0; i < {upper}_RESULTS; i++) {{
    size_t bytes = {name}_result_bytes[i];
    const char *path = files[1 + {upper}_PARAMETERS + i];
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(results[i], 1, bytes, file) != bytes || fclose(file) != 0) {{
      fprintf(stderr, "%s: cannot be written\\n", path);
      return 2;
    }}
  }}
  return 0;
}}
"""

_WORDS = re.findall(r"\b\w+", re.sub(r'/\*.*?\*/|".*?"|\{\w+\}\w*', "", _HEADER + _MAIN, flags=re.DOTALL))
"""The names that these texts use themselves."""


class _Array(NamedTuple):
    """What the function takes or gives.

    Attributes:
        leaf: its shape, that of its bounds where sizes are known at run time only.
        size_of: for such a size the number of its array, and the dimension.
    """

    leaf: Leaf
    size_of: tuple[int, int] | None = None

    def words(self, kind: str, number: int) -> str:
        """A line about it."""
        said = f"{kind}[{number}]: {self.leaf}, {self.leaf.size_bytes} bytes"
        if self.size_of is None:
            return said
        array, dimension = self.size_of
        return f"{said}, how much of dimension {dimension} of {kind}[{array}] counts"

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        found: dict[str, Any] = {"shape": str(self.leaf), "bytes": self.leaf.size_bytes}
        if self.size_of is not None:
            found["size_of"] = dict(zip(("array", "dimension"), self.size_of, strict=True))
        return found


def _arrays(shapes: Sequence[Shape], known: Sequence[ArrayShape]) -> list[_Array]:
    """What the function takes or gives.

    Args:
        shapes: the prepared program's, sizes behind the arrays.
        known: as the caller knows them, dynamic dimensions marked.
    """
    held = [shape for shape in known if shape.element_type is not TOKEN]
    sizes = [(array, d) for array, shape in enumerate(held) for d, flag in enumerate(shape.dynamic) if flag]
    found = [leaf(array) for array in arrays(*shapes)]
    without = len(found) - len(sizes)
    return [*map(_Array, found[:without]), *map(_Array, found[without:], sizes)]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is said of a program in every one of its files."""

    name: str
    title: str
    target: llvm.Target
    parameters: Sequence[_Array]
    results: Sequence[_Array]
    arena_bytes: int

    def words(self) -> dict[str, Any]:
        """The words that the C texts are filled with."""
        sides = (("parameters", self.parameters), ("results", self.results))
        rows = [array.words(kind, number) for kind, found in sides for number, array in enumerate(found)]
        return {
            "name": self.name,
            "upper": self.name.upper(),
            "title": c_names.comment(self.title),
            "cpu": f"{self.target.triple.partition('-')[0]} ({self.target.cpu})",
            "arrays": "\n".join(f" * {row}" for row in rows),
            "parameter_count": len(self.parameters),
            "result_count": len(self.results),
            "alignment": ALIGNMENT,
            "arena_bytes": self.arena_bytes,
            "arena_alignment": ARENA_ALIGNMENT,
            "parameter_bytes": "".join(f"{array.leaf.size_bytes}, " for array in self.parameters),
            "result_bytes": "".join(f"{array.leaf.size_bytes}, " for array in self.results),
        }

    def to_json(self) -> dict[str, Any]:
        """The facts for programs that read them."""
        return {
            "name": self.name,
            "triple": self.target.triple,
            "cpu": self.target.cpu,
            "parameters": [array.to_json() for array in self.parameters],
            "results": [array.to_json() for array in self.results],
            "alignment": ALIGNMENT,
            "arena_bytes": self.arena_bytes,
            "arena_alignment": ARENA_ALIGNMENT,
        }


def compile_ahead(
    module: Module,
    target: llvm.Target,
    opt: int,
    *,
    name: str,
    takes: Sequence[ArrayShape],
    gives: Sequence[ArrayShape],
) -> Mapping[str, bytes]:
    """The files of a module that the pipeline `compile` has prepared, by name: object, header, `main`, JSON.

    `name` becomes that of the function and of the files, with `_` for whatever C takes in no name and behind what has a
    meaning in C.

    Args:
        module: what the pipeline `compile` made.
        target: the machine that the code is for.
        opt: LLVM's optimisation level, 0 to 3.
        name: of the function and of the files.
        takes: the arrays that the caller knows of, whose sizes may be known at run time only.
        gives: the same of the results.

    Raises:
        UnsupportedError: the meaning of a call is a Python function, which no other machine has.
    """
    for call in filter(given, module.instructions()):
        target_name = call.attributes["custom_call_target"]
        reason = f"the meaning of {target_name!r} is a Python function, which no other machine has"
        raise call.unsupported(reason, by="an object file")
    built = program.build(module, Machine.of(target), 1)
    symbol = c_names.function_name(name, _WORDS)
    facts = _Facts(
        symbol,
        name,
        target,
        _arrays([parameter.shape for parameter in module.entry.parameters], takes),
        _arrays([module.entry.root.shape], gives),
        built.assignment.arena_bytes,
    )
    unit = compile_units.whole(built.ir)
    hidden = re.sub("^define (?!internal )", "define internal ", unit.text, flags=re.MULTILINE) + _WRAPPER
    # What the program calls so itself, a kernel perhaps, has to give way.
    text = re.sub(rf"@{symbol}(?![\w.$-])", f"@{symbol}.inside", hidden).replace(f"@{_ENTRY}(", f"@{symbol}(")
    (code,) = llvm.compile_all([llvm.Source(text, unit.has_loops)], target, opt, threads=1)
    elf.check_symbols([code], C_LIBRARY.__contains__)
    words = facts.words()
    return {
        f"{symbol}.o": code,
        f"{symbol}.h": _HEADER.format(**words).encode(),
        "main.c": _MAIN.format(**words).encode(),
        f"{symbol}.json": (json.dumps(facts.to_json(), indent=2) + "\n").encode(),
    }
