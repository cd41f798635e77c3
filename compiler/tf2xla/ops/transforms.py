"""Fourier transforms along the last dimensions."""

from __future__ import annotations

from functools import partial

from compiler.expansion.expression import Expression
from compiler.ir.attributes import PaddingDimension
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Record, record, table


def _transformed(x: Expression, kind: str, lengths: tuple[int, ...]) -> Expression:
    computation = x.instruction.computation
    return Expression(build(computation, "fft", [x.instruction], fft_type=kind, fft_length=lengths))


def _complex(kind: str, count: int, operation: Operation) -> Expression:
    x = operation["input"]
    operation.require(len(x.dims) >= count, lambda: f"it takes {count} dimensions, not the sizes {list(x.dims)}")
    return x if 0 in x.dims else _transformed(x, kind, x.dims[-count:])


def _sized(x: Expression, sizes: tuple[int, ...]) -> Expression:
    """The last dimensions cut, or filled with zeros, to these sizes."""
    outer = x.dims[: len(x.dims) - len(sizes)]
    kept = [(0, min(have, want)) for have, want in zip(x.dims[len(outer) :], sizes, strict=True)]
    x = x.slice(*((0, size) for size in outer), *kept)
    padding = [PaddingDimension(0, want - have) for have, want in zip(x.dims, (*outer, *sizes), strict=True)]
    operands = [x.instruction, x.literal(0).instruction]
    return Expression(build(x.instruction.computation, "pad", operands, padding=tuple(padding)))


def _real(kind: str, count: int, operation: Operation) -> Expression:
    x, lengths = operation["input"], operation.integers("fft_length")
    fits = len(lengths) == count and min(lengths) > 0 and len(x.dims) >= count
    operation.require(fits, lambda: f"lengths {list(lengths)} and sizes {list(x.dims)} are none of {count} dimensions")
    target = operation.type("Treal" if kind == "IRFFT" else "Tcomplex")
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    result = (*x.dims[: len(x.dims) - count], *(lengths if kind == "IRFFT" else half))
    if 0 in result:
        return operation.full(0, target, result)
    found = _transformed(_sized(x, half if kind == "IRFFT" else lengths), kind, lengths)
    operation.require(found.type is target, f"it makes {found.type} of {x.type}, not {target}")
    return found


def _family(count: int) -> list[Record]:
    suffix = "" if count == 1 else f"{count}D"
    kinds = "Treal: {float32 float64} = float32; Tcomplex: {complexes} = complex64"
    of_complex = "input: Tcomplex -> output: Tcomplex; Tcomplex: {complexes} = complex64"
    to_complex, to_real = (
        f"input: {a}, fft_length: int32 -> output: {b}; {kinds}"
        for a, b in (("Treal", "Tcomplex"), ("Tcomplex", "Treal"))
    )
    given = ("fft_length",)
    doc = f"Fourier's transform in {count} dimensions"
    return [
        record(f"FFT{suffix}", of_complex, partial(_complex, "FFT", count), f"{doc}."),
        record(f"IFFT{suffix}", of_complex, partial(_complex, "IFFT", count), f"{doc}, inverse."),
        record(f"RFFT{suffix}", to_complex, partial(_real, "RFFT", count), f"{doc}, of real numbers.", given),
        record(f"IRFFT{suffix}", to_real, partial(_real, "IRFFT", count), f"{doc}, inverse, to real ones.", given),
    ]


RECORDS = table(*(row for count in (1, 2, 3) for row in _family(count)))
