"""What an instruction keeps busy, and for how long its result is waited for.

PTX is not what a GPU executes: ptxas turns one instruction into none, one or many.  `WORK` says which unit and how many
passes of a warp through it, by what the CUDA C++ Programming Guide ("Throughput of Native Arithmetic Instructions") and
NVIDIA's own expansions of divisions say; `LATENCY` is in cycles from issue to the first use of the result, as measured
on an H100 by Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking"
(arXiv:2402.13499, memory and tensor cores) and on a V100 by Jia et al. (arXiv:1804.06826, arithmetic; nobody has
published newer figures for all of it).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from compiler.backends.nvptx.simulator.syntax import TYPE_BITS, Instruction


class Pipe(enum.Enum):
    """A unit of a multiprocessor; those of groups are the tensor cores once more, as `wgmma` keeps them busy."""

    NONE = "none"
    FP32 = "fp32"
    FP64 = "fp64"
    HALF = "half"
    INTEGER = "integer"
    CONVERSION = "conversion"
    SPECIAL = "special"
    SHUFFLE = "shuffle"
    MEMORY = "load-store"
    TENSOR = "tensor"
    TENSOR_FP64 = "tensor-fp64"
    TENSOR_INT8 = "tensor-int8"
    GROUP_TENSOR = "group-tensor"
    GROUP_TENSOR_INT8 = "group-tensor-int8"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one instruction takes of a warp.

    Attributes:
        pipe: the unit.
        passes: how often the warp goes through it; of tensor cores the multiply-adds.
        issued: how many instructions a scheduler issues for it.
        latency: cycles until its result can be used; of loads what they take beyond the memory that serves them.
    """

    pipe: Pipe
    passes: float
    issued: float
    latency: int


LATENCY: Mapping[Pipe, int] = {
    Pipe.NONE: 0,
    Pipe.FP32: 4,
    Pipe.FP64: 8,
    Pipe.HALF: 5,
    Pipe.INTEGER: 4,
    Pipe.CONVERSION: 10,
    Pipe.SPECIAL: 18,
    Pipe.SHUFFLE: 23,
    Pipe.MEMORY: 0,
    Pipe.TENSOR: 33,
    Pipe.TENSOR_FP64: 33,
    Pipe.TENSOR_INT8: 33,
    Pipe.GROUP_TENSOR: 16,
    Pipe.GROUP_TENSOR_INT8: 16,
}
"""Cycles."""

_FREE = frozenset(
    {
        "mov",
        "cvta",
        "bra",
        "brx",
        "ret",
        "exit",
        "call",
        "membar",
        "fence",
        "prefetch",
        "prefetchu",
        "applypriority",
        "discard",
        "pmevent",
        "griddepcontrol",
        "isspacep",
        "activemask",
        "elect",
    }
)
"""What is mostly renamed away, or waits for nothing; a branch is issued but no unit's.  Signs of floats are turned and
taken off by who reads them, and so are predicates negated."""
_ISSUED = frozenset({"bra", "brx", "ret", "exit", "membar", "fence"})
_MEMORY = frozenset({"ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix"})
_SHUFFLES = frozenset({"shfl", "vote", "match", "redux"})
_BARRIERS = frozenset({"bar", "barrier"})
_BARRIER_LATENCY = 20
"""Cycles for a barrier at which nobody is late (estimated)."""
_SPECIAL = frozenset({"ex2", "lg2", "sin", "cos", "rcp", "rsqrt", "sqrt", "tanh", "popc", "clz", "bfind", "brev"})
_FLOAT = frozenset({"add", "sub", "mul", "fma", "mad", "neg", "abs"})
_HALVES = frozenset({"f16", "bf16", "f16x2", "bf16x2"})
_TENSOR_PIPES = {"f64": Pipe.TENSOR_FP64, "s8": Pipe.TENSOR_INT8, "u8": Pipe.TENSOR_INT8}
_GROUP_PIPES = {"s8": Pipe.GROUP_TENSOR_INT8, "u8": Pipe.GROUP_TENSOR_INT8}
_WARPS_OF_GROUP = 4
_GROUP_RATES = {Pipe.GROUP_TENSOR: 512, Pipe.GROUP_TENSOR_INT8: 1024}
"""Multiply-adds of a warp's tensor core in a cycle (H100: a quarter of what a multiprocessor does)."""
_TF32_PASSES = 2
"""Of tf32 tensor cores multiply half as many as of bf16."""

_EXPANDED: Mapping[tuple[str, str], Cost] = {
    ("div", "f32"): Cost(Pipe.FP32, 9, 10, 60),
    ("sqrt", "f32"): Cost(Pipe.FP32, 7, 8, 50),
    ("rcp", "f32"): Cost(Pipe.FP32, 5, 6, 40),
    ("div", "f64"): Cost(Pipe.FP64, 14, 18, 130),
    ("sqrt", "f64"): Cost(Pipe.FP64, 12, 16, 120),
    ("rcp", "f64"): Cost(Pipe.FP64, 8, 10, 80),
}
"""Divisions and roots that round correctly: a first guess and steps of Newton's, which are calls of ptxas's own."""
_INTEGER_DIVISION = {32: Cost(Pipe.INTEGER, 20, 22, 90), 64: Cost(Pipe.INTEGER, 70, 80, 300)}
_WIDE = {"add": 2, "sub": 2, "mul": 4, "mad": 4, "shl": 2, "shr": 2, "min": 3, "max": 3, "setp": 2, "selp": 2}
"""Instructions of 32 bits that one of 64 bits becomes; two where nothing is said."""


def cost_of(instruction: Instruction) -> Cost:
    """What an instruction takes."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    is_sign = opcode in ("neg", "abs") and modifiers[-1] in _FLOAT_PIPES
    is_negation = opcode == "not" and modifiers[-1] == "pred"
    if opcode in _FREE or is_sign or is_negation or (opcode == "ld" and "param" in modifiers):
        return Cost(Pipe.NONE, 0, 1 if opcode in _ISSUED else 0, 0)
    if opcode in ("mma", "wgmma"):
        return _matrix_cost(modifiers) if opcode == "mma" else _group_cost(modifiers)
    if opcode in _BARRIERS:
        return Cost(Pipe.NONE, 0, 1, _BARRIER_LATENCY)
    if opcode in _MEMORY:
        return Cost(Pipe.MEMORY, 1, 1, LATENCY[Pipe.MEMORY])
    if opcode in _SHUFFLES:
        return Cost(Pipe.SHUFFLE, 1, 1, LATENCY[Pipe.SHUFFLE])
    return _arithmetic_cost(opcode, modifiers)


def latency_of(opcode: str, type_: str) -> int:
    """Cycles until the result of an arithmetic instruction on a type can be used, where it rounds correctly."""
    return _arithmetic_cost(opcode, (type_,)).latency


def _arithmetic_cost(opcode: str, modifiers: tuple[str, ...]) -> Cost:
    type_ = next((m for m in reversed(modifiers) if m in TYPE_BITS), "b32")
    bits, is_exact = TYPE_BITS[type_], not {"approx", "full"} & set(modifiers)
    if opcode == "cvt":
        return _conversion_cost(modifiers)
    if (opcode, type_) in _EXPANDED and is_exact:
        return _EXPANDED[opcode, type_]
    if opcode in ("div", "rem") and type_[0] in "us":
        return _INTEGER_DIVISION[64 if bits == 64 else 32]
    if opcode in _SPECIAL or opcode == "div":
        return _single(Pipe.SPECIAL, 1)
    pipe = _FLOAT_PIPES.get(type_, Pipe.INTEGER) if opcode in _FLOAT or type_ == "f64" else Pipe.INTEGER
    return _single(pipe, _WIDE.get(opcode, 2) if bits == 64 and pipe is Pipe.INTEGER else 1)


def _conversion_cost(modifiers: tuple[str, ...]) -> Cost:
    types = [m for m in modifiers if m in TYPE_BITS]
    if all(type_[0] in "bus" for type_ in types):
        return _single(Pipe.INTEGER, 1)
    return _single(Pipe.CONVERSION, 4 if any(TYPE_BITS[type_] == 64 for type_ in types) else 1)


_FLOAT_PIPES = {"f32": Pipe.FP32, "f64": Pipe.FP64, **dict.fromkeys(_HALVES, Pipe.HALF)}


def _single(pipe: Pipe, passes: int) -> Cost:
    return Cost(pipe, passes, passes, LATENCY[pipe] + passes - 1)


def _group_cost(modifiers: tuple[str, ...]) -> Cost:
    """What a warp takes of a product that four of them share, or of a fence, a commitment or a wait."""
    if "mma_async" not in modifiers:
        return Cost(Pipe.NONE, 0, 1, 0)
    type_ = modifiers[-2]
    pipe = _GROUP_PIPES.get(type_, Pipe.GROUP_TENSOR)
    multiplied = _multiplied(modifiers, type_) // _WARPS_OF_GROUP
    return Cost(pipe, multiplied, 1, max(LATENCY[pipe], multiplied // _GROUP_RATES[pipe]))


def _matrix_cost(modifiers: tuple[str, ...]) -> Cost:
    type_ = modifiers[-3]
    pipe = _TENSOR_PIPES.get(type_, Pipe.TENSOR)
    return Cost(pipe, _multiplied(modifiers, type_), 1, LATENCY[pipe])


def _multiplied(modifiers: tuple[str, ...], type_: str) -> int:
    """The multiply-adds of a matrix product, of 16 bits where its elements are no integers and not f64."""
    shape = next(m for m in modifiers if m.startswith("m") and m[1:2].isdigit())
    rows, _, rest = shape[1:].partition("n")
    columns, _, depth = rest.partition("k")
    return int(rows) * int(columns) * int(depth) * (_TF32_PASSES if type_ == "tf32" else 1)
