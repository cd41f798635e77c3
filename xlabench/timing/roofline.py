"""How close kernels come to what the machine can do, from a kilobyte to tens of megabytes.

For each kind of kernel one simple program is compiled at every size and timed by the best of several rounds; the limits
are measured in between, at the same sizes and on as many threads, so that a loud neighbour disturbs both.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import compiler
from xlabench.engines import engine
from xlabench.environment import capture

SMALLEST, LARGEST = 1 << 10, 1 << 26
_ROUNDS, _ROUND_S = 7, 0.02
_ROW = 1024

Array = NDArray[Any]

_LOOP = """ENTRY main {{
  x = f32[{n}] parameter(0)
  c = f32[] constant(1.5)
  b = f32[{n}] broadcast(c), dimensions={{}}
  m = f32[{n}] multiply(x, b)
  ROOT y = f32[{n}] add(m, b)
}}"""
_ADD = "add {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }}\n"
_REDUCE = (
    _ADD
    + """ENTRY main {{
  x = f32[{n}] parameter(0)
  zero = f32[] constant(0)
  ROOT y = f32[] reduce(x, zero), dimensions={{0}}, to_apply=add
}}"""
)
_ROWS = (
    _ADD
    + """most {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }}
ENTRY main {{
  x = f32[{rows},{row}] parameter(0)
  zero = f32[] constant(0)
  least = f32[] constant(-inf)
  m = f32[{rows}] reduce(x, least), dimensions={{1}}, to_apply=most
  mb = f32[{rows},{row}] broadcast(m), dimensions={{0}}
  d = f32[{rows},{row}] subtract(x, mb)
  e = f32[{rows},{row}] exponential(d)
  s = f32[{rows}] reduce(e, zero), dimensions={{1}}, to_apply=add
  sb = f32[{rows},{row}] broadcast(s), dimensions={{0}}
  ROOT y = f32[{rows},{row}] divide(e, sb)
}}"""
)
_DOT = """ENTRY main {{
  a = f32[{n},{n}] parameter(0)
  b = f32[{n},{n}] parameter(1)
  ROOT y = f32[{n},{n}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}"""
_SORT = """less {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }}
ENTRY main {{
  x = f32[{n}] parameter(0)
  ROOT y = f32[{n}] sort(x), dimensions={{0}}, to_apply=less
}}"""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of kernel at any size.

    Attributes:
        name: what the kernel is called elsewhere.
        what: the program in a few words.
        unit: what its work is counted in, "bytes" that must be moved or "flops".
        limit: the loop that it is compared with, "read" or "copy"; "" for arithmetic.
        text: the program, with the sizes to be filled in.
        sizes: from the bytes of all arrays together to the sizes.
        work: from the sizes to the bytes of all arrays, and the work.
    """

    name: str
    what: str
    unit: str
    limit: str
    text: str
    sizes: Callable[[int], dict[str, int]]
    work: Callable[[dict[str, int]], tuple[int, int]]


def _of_elements(per_element: int) -> Callable[[int], dict[str, int]]:
    return lambda total: {"n": max(1, total // per_element)}


def _bytes_of(per_element: int) -> Callable[[dict[str, int]], tuple[int, int]]:
    return lambda sizes: (per_element * sizes["n"],) * 2


def _rows(total: int) -> dict[str, int]:
    row = min(_ROW, max(1, total // 8))
    return {"rows": max(1, total // 8 // row), "row": row}


KINDS: tuple[Kind, ...] = (
    Kind("loop", "x * c + c", "bytes", "copy", _LOOP, _of_elements(8), _bytes_of(8)),
    Kind("reduce", "a sum", "bytes", "read", _REDUCE, _of_elements(4), _bytes_of(4)),
    Kind("row", f"softmax of rows of {_ROW}", "bytes", "copy", _ROWS, _rows, lambda s: (8 * s["rows"] * s["row"],) * 2),
    Kind("sort", "f32 keys", "bytes", "copy", _SORT, _of_elements(8), _bytes_of(8)),
    Kind(
        "dot",
        "f32 matrices",
        "flops",
        "",
        _DOT,
        lambda total: {"n": max(1, math.isqrt(total // 12))},
        lambda sizes: (12 * sizes["n"] ** 2, 2 * sizes["n"] ** 3),
    ),
)
"""What is measured."""


def sizes_up_to(largest: int) -> list[int]:
    """The sizes in bytes, each four times the one before."""
    return [size for size in (SMALLEST << k for k in range(0, 64, 2)) if size <= largest]


def measure(spec: str, largest: int = LARGEST, *, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Time every kind at every size on an engine; the record that `reports.roofline` draws and `--json` prints.

    Times are in seconds, sizes in bytes, rates in bytes or flops per second; `share` is the part of the limit reached.

    Args:
        spec: the engine's.
        largest: bytes of the largest arrays.
        progress: hears of each kind and size.
    """
    sizes = sizes_up_to(largest)
    limits: dict[str, list[dict[str, float]]] = {"read": [], "copy": []}
    peak = 0.0
    for size in sizes:
        progress(f"limits at {size} bytes")
        peak = max(peak, compiler.limits.peak_flops())
        for name, points in limits.items():
            points.append({"bytes": size, "rate": compiler.limits.bandwidth(name, size)})
    kinds = []
    for kind in KINDS:
        roofs = [point["rate"] for point in limits[kind.limit]] if kind.limit else [peak] * len(sizes)
        kinds.append(
            {
                "name": kind.name,
                "what": kind.what,
                "unit": kind.unit,
                "limit": kind.limit,
                "points": list(_points(kind, spec, sizes, roofs, progress)),
            }
        )
    return {"engine": spec, "environment": asdict(capture()), "peak_flops": peak, "limits": limits, "kinds": kinds}


def _points(
    kind: Kind, spec: str, sizes: Sequence[int], roofs: Sequence[float], progress: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    for size, roof in zip(sizes, roofs, strict=True):
        progress(f"{kind.name} at {size} bytes")
        extents = kind.sizes(size)
        module = compiler.parse(kind.text.format(**extents))
        run = engine(spec).compile(module)
        inputs = _inputs(module)
        touched, work = kind.work(extents)
        seconds = _best(lambda run=run, inputs=inputs: run(*inputs))  # type: ignore[misc]
        rate = work / seconds
        yield {**extents, "bytes": touched, "seconds": seconds, "rate": rate, "share": rate / roof}


def _inputs(module: compiler.Module) -> list[Array]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(p.array.dims, np.float32) for p in module.entry.parameters]


def _best(call: Callable[[], object]) -> float:
    """The seconds of one call in the best round."""
    call()
    count = max(1, int(_ROUND_S / max(_seconds(call, 1), 1e-7)))
    return min(_seconds(call, count) for _ in range(_ROUNDS))


def _seconds(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count
