"""Loop kernels: a thread for each element of the results, or for a few neighbours; tiles where something lies across.

Where the results are large and divide evenly, a thread computes neighbouring elements, so that what lies in memory one
behind the other is read and written in words of 16 bytes: the index arithmetic shows LLVM that it does.  Where they do
not divide it computes elements that lie apart, so that as much of memory is on its way.
"""

from __future__ import annotations

import math
from dataclasses import replace

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot import kernel as dot
from compiler.backends.nvptx.kernels.loop import crossed
from compiler.backends.nvptx.kernels.strategy import NOTHING, Given, Kind, Launches, Plan, Strategy, first_of, planned
from compiler.backends.strategy import Declined
from compiler.codegen import nest
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Value, integer
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.codegen.windows import is_long

_WORD_BYTES = 16
"""The widest load and store of a thread, in bytes."""
_MOST = 8
"""Elements of a thread at most, where they are bytes or less."""
_LARGE = 8192
"""Elements from which on a thread computes several; with fewer too few threads are busy."""
_LONG_BODY = 64
"""Instructions beyond which threads have no registers left for several elements."""
_AHEAD = 8
"""Terms of a window or sum that a thread loads together: memory answers after hundreds of cycles."""


def decide(given: Given) -> Plan:
    """The plan of threads for elements."""
    kernel = given.kernel
    shape = kernel.outputs[0]
    several = _several(kernel)
    neighbours = math.gcd(several, shape.size)
    apart = several if neighbours == 1 else 1
    threads = shape.size // (neighbours * apart)
    done = threads * neighbours * apart

    def elements(builder: Builder, number: Value) -> None:
        emission = Emission(builder, ahead=_AHEAD)
        first = emission.opaque(number, threads).times(neighbours)
        _store(kernel, emission, [first.plus(n + m * threads) for m in range(apart) for n in range(neighbours)])
        if done < shape.size:
            with builder.when(builder.compare("slt", number, integer(shape.size - done)), "rest"):
                emission.enter()
                _store(kernel, emission, [emission.opaque(builder.add(number, integer(done)), shape.size)])
                emission.leave()

    return planned(
        lambda module: (grid.for_each(module, kernel, threads, elements),),
        details={"threads": threads, "neighbours": neighbours, "apart": apart},
    )


LOOPS: tuple[Strategy[Given, Launches], ...] = (
    NOTHING,
    Strategy("transposing tiles", crossed.decide),
    Strategy("threads for elements", decide),
)
"""How elements are computed one by one."""


def _complex_dot(given: Given) -> Plan | Declined:
    """The plan of a dot of complex numbers, which is never fused."""
    if given.kernel.roots[0].opcode != "dot":
        return Declined("it is no dot of complex numbers")
    chosen = dot.DOT.decide(given.kernel, given.gpu)
    return replace(chosen.plan, inner=chosen, details={})


LOOP = Kind((Strategy("dot", _complex_dot), *LOOPS), Given)
"""Loop kernels."""


def plan_of(given: Given) -> Plan:
    """The plan of a kernel of another kind that is computed element by element."""
    chosen = first_of(LOOPS, given)
    return replace(chosen.plan, inner=chosen, details={})


def _several(kernel: Kernel) -> int:
    """How many elements a thread computes: at most a word of the widest, a power of two."""
    if kernel.outputs[0].size < _LARGE or sum(1 for _ in kernel.body()) > _LONG_BODY or _is_of_long_windows(kernel):
        return 1
    return min(_MOST, max(1, _WORD_BYTES // max(shape.element_type.size_bytes for shape in kernel.outputs)))


def _is_of_long_windows(kernel: Kernel) -> bool:
    """Whether elements are of windows that stay loops: a lane's neighbours would be read one after the other."""
    windows = (instruction.attributes.get("window") or () for instruction in kernel.body())
    return any(map(is_long, windows))


def _store(kernel: Kernel, emission: Emission, at: list[Index]) -> None:
    """Compute the roots at all points, then store them: loads that follow stores would not be joined."""
    found: list[list[Value]] = []
    for linear in at:
        values = elemental_of(kernel, emission)
        indices = nest.coordinates(emission, linear, kernel.outputs[0].dims)
        found.append([value for root in kernel.roots for value in values.elements(root, indices)])
    for linear, row in zip(at, found, strict=True):
        for shape, value, output in zip(kernel.outputs, row, arguments(kernel).outputs, strict=True):
            store(emission, shape, value, output, linear)
