"""A program as it leaves the compiler: object files, and the few facts that it takes to link and call them.

Emission ends here and loading begins here, so an image may as well come from a cache, or go to a file.  As bytes it is
a header in JSON, which says how long the object files are that follow it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from compiler.backends.cpu.program import Program
from compiler.backends.cpu.runtime.arguments import Leaf
from compiler.cache import Cache
from compiler.codegen import compile_units, llvm
from compiler.ir.shape import Shape, leaves, without_layout
from compiler.ir.types import TOKEN, TYPES

_HOLD_LOCK_NS = 3_500.0
"""Programs shorter than this keep the interpreter lock: giving it up and taking it back costs more."""

_LENGTH = 8
"""Bytes of the number before the header that says how long that is (the format of images is our own)."""


class ImageArray(NamedTuple):
    """A parameter or a result of a program: its element type's name, its dimensions, and its shape as text."""

    element_type: str
    dims: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A compiled program that is not linked yet.

    Attributes:
        objects: object files that together define the program and its kernels.
        kernels: the kernels' functions, in the order of their marks in the timeline.
        parameters: (element type, dimensions, HLO text) of each array that it takes.
        results: the same of each array that it gives.
        arena_bytes: the scratch memory of a call.
        lower_bound_bytes: the least that any arrangement of the arena could take.
        threads: how many threads it is worth running on.
        shared_work: how long what they share takes on one, about, in ns.
        releases_lock: whether it runs long enough for the interpreter lock to be given up.
    """

    objects: tuple[bytes, ...]
    kernels: tuple[str, ...]
    parameters: tuple[ImageArray, ...]
    results: tuple[ImageArray, ...]
    arena_bytes: int
    lower_bound_bytes: int
    threads: int
    shared_work: int
    releases_lock: bool

    def to_bytes(self) -> bytes:
        """The image as `from_bytes` reads it."""
        header = {name: getattr(self, name) for name in _FACTS}
        header["objects"] = [len(code) for code in self.objects]
        text = json.dumps(header).encode()
        return b"".join([len(text).to_bytes(_LENGTH, "little"), text, *self.objects])

    @staticmethod
    def from_bytes(data: bytes) -> Image:
        """The image that `to_bytes` wrote."""
        start = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
        header: dict[str, Any] = json.loads(data[_LENGTH:start])
        ends = [start]
        for length in header.pop("objects"):
            ends.append(ends[-1] + length)
        header["objects"] = tuple(data[begin:end] for begin, end in pairwise(ends))
        header["kernels"] = tuple(header["kernels"])
        for side in ("parameters", "results"):
            header[side] = tuple(ImageArray(name, tuple(dims), text) for name, dims, text in header[side])
        return Image(**header)


_FACTS = tuple(name for name in Image.__dataclass_fields__ if name != "objects")


def create(program: Program, target: llvm.Target, opt: int, *, threads: int, cache: Cache | None) -> Image:
    """Compile a program's IR, on up to that many threads.

    Args:
        program: what was emitted.
        target: the machine that the code is for.
        opt: LLVM's optimisation level, 0 to 3.
        threads: at work at once, at most.
        cache: where routines are kept, None for nowhere.
    """
    code = llvm.compile_all(sources(program, opt), target, opt, threads=threads, cache=cache)
    assignment, module = program.assignment, program.module
    return Image(
        tuple(code),
        tuple(program.functions),
        arrays(*(parameter.shape for parameter in module.entry.parameters)),
        arrays(module.entry.root.shape),
        assignment.arena_bytes,
        assignment.lower_bound_bytes,
        program.threads,
        round(program.shared_work),
        program.cost_ns > _HOLD_LOCK_NS or any(instruction.opcode == "while" for instruction in module.instructions()),
    )


def sources(program: Program, opt: int) -> list[llvm.Source]:
    """The modules that LLVM is given, the longest first.

    At level 0 one program is few of them: each costs half a millisecond, however small.
    """
    return [
        llvm.Source(unit.text, unit.has_loops, unit.cold, bool(unit.routine))
        for unit in compile_units.cut(program.ir, optimise=opt > 0)
    ]


def leaf(array: ImageArray) -> Leaf:
    """An array of the image as calls see it."""
    return Leaf(TYPES[array.element_type].dtype, array.dims, array.text)


def arrays(*shapes: Shape) -> tuple[ImageArray, ...]:
    """The arrays of shapes as an image holds them."""
    held = (array for shape in shapes for array in leaves(shape) if array.element_type is not TOKEN)
    return tuple(ImageArray(array.element_type.name, array.dims, str(without_layout(array))) for array in held)
