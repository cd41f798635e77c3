"""Programs on either side of an edge: of two sizes, one apart, between which something else is decided about a program.

Which rule rewrites a program, what is fused, which strategy a kernel gets and how it is shared often hangs on a size.
Where a condition on one is wrong is right at it, and a size drawn at random is hardly ever there, whatever the numbers
in the compiler are.  So they are not listed: the compiler itself is asked what it decides, and the edge lies between
two sizes about which it decides differently, by bisection.

What it is asked about are machines that are named, so that the same program is found everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import compiler
from compiler.ops import Trait, having
from xlabench.fuzzing.limits import UNLIMITED, Limits

Module = Any  # the compiler's; the harness sees its data by attribute only
Rng = np.random.Generator

_CPU = {"machine": "x86_64", "cpu": "x86-64-v4"}
_OPTIONS: Mapping[str, compiler.CompileOptions] = {
    "cpu": compiler.CompileOptions(threads=2),
    "nvptx": compiler.CompileOptions(device="sim", arch="sm_90"),
}
"""By back ends, what is asked: for a CPU with vectors of every width, and for a GPU that runs all that is emitted."""
_DEAR = having(Trait.ALGORITHM | Trait.SIDE_EFFECT) | {"convolution"}
"""Of what a GPU is not asked, custom calls among it: deciding about these takes it five times as long as about others
(measured on the seeds)."""
_GPU_PERCENT = 35
"""How often else: it takes a third longer than a CPU (measured on the seeds), and simulators are asked less often."""
_CALLS_PERCENT = 20
"""How often a program with custom calls is asked about: to decide what LAPACK's routines are done by takes a CPU twenty
times the median, too (measured on small programs), and orders at edges are drawn (`compiler/generate/lapack.py`)."""
_LAST_PERCENT = 50
"""How often the edge is that of the larger size, and not of the smaller: there may be others in between."""
_MOST = (20, 300, 5_000, 70_000)
"""How large a size may become; one of these at most, so that edges near 1 are found as often as far ones."""
_MOST_ELEMENTS, _MOST_IN_ALL = 1 << 17, 1 << 18
"""Elements of an array, and of all of a program."""
_LEAST_DETAIL = 64
"""Numbers of a plan are another decision below that, as those of tiles are; others grow with what there is."""


def at_an_edge(module: Module, rng: Rng, limits: Limits = UNLIMITED) -> Module | None:
    """The program with a size next to which something else is decided about it; None where there is none in limits.

    Args:
        module: the program, which stays as it is.
        rng: what is drawn from.
        limits: how large it may become.
    """
    sizes = sorted(
        {size for i in module.instructions() for leaf in compiler.edit.leaves(i.shape) for size in leaf.dims if size}
    )
    if not sizes:
        return None
    opcodes = {instruction.opcode for instruction in module.instructions()}
    if "custom-call" in opcodes and rng.integers(100) >= _CALLS_PERCENT:
        return None
    size = sizes[int(rng.integers(len(sizes)))]
    far = int(rng.integers(1, limits.least(_MOST[int(rng.integers(len(_MOST)))]), endpoint=True))
    is_for_gpu = rng.integers(100) < _GPU_PERCENT and _DEAR.isdisjoint(opcodes)
    backend = "nvptx" if is_for_gpu else "cpu"
    ends = sorted((size, far), reverse=bool(rng.integers(100) < _LAST_PERCENT))
    pair = _edge(_Resizing(module, size, limits), lambda made: decided(made, backend), *ends)
    return pair[int(rng.integers(2))] if pair else None


class _Resizing:
    """A program with another number in the place of one of its sizes, where that is a program, and a small one."""

    def __init__(self, module: Module, size: int, limits: Limits = UNLIMITED) -> None:
        self._module, self._size, self._limits = module, size, limits

    def __call__(self, size: int) -> Module | None:
        edited = compiler.edit.resize(self._module, {self._size: size}) if size != self._size else None
        made = self._module if size == self._size else edited.module if edited else None
        return made if made is not None and _is_small(made) and self._limits.hold(made) else None


def _is_small(module: Module) -> bool:
    sizes = [leaf.size for i in module.instructions() for leaf in compiler.edit.leaves(i.shape)]
    return max(sizes, default=0) <= _MOST_ELEMENTS and sum(sizes) <= _MOST_IN_ALL


def _edge(
    resized: Callable[[int], Module | None], key: Callable[[Module], Any], start: int, end: int
) -> tuple[Module, Module] | None:
    """The programs of two sizes, one apart, of which the first has the key of the start and the second another.

    None where the ends have the same key, or one of them has none, or some size between them is none of a program.
    """
    near, far = resized(start), resized(end)
    if near is None or far is None:
        return None
    known = key(near)
    if known is None or known == key(far):
        return None
    while abs(end - start) > 1:
        middle = (start + end) // 2
        between = resized(middle)
        if between is None:
            return None
        if key(between) == known:
            start, near = middle, between
        else:
            end, far = middle, between
    return near, far


def decided(module: Module, backend: str) -> Any:
    """What is decided about a program, but for how large what there is is; None where that ends in an error.

    Args:
        module: the program.
        backend: a name of `compiler`'s.
    """
    machine = _CPU if backend == "cpu" else {}
    try:
        with compiler.generate.watching() as seen:
            decisions = compiler.decide(module, backend, _OPTIONS[backend], **machine, explained=False)
    except Exception:  # noqa: BLE001 - whoever compiles the program comes to it again, and says so
        return None
    kernels = [(k.instruction, k.kind, k.strategy, k.shared, k.overwritten) for k in decisions.kernels]
    plans = [[(name, _plain(value)) for name, value in kernel.details.items()] for kernel in decisions.kernels]
    where = [(i.name, i.opcode, i.kernel) for i in decisions.placed]
    return kernels, plans, where, seen.rules


def _plain(value: Any) -> Any:
    """A detail of a plan without the numbers that are sizes of what is computed."""
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    is_size = isinstance(value, int) and not isinstance(value, bool) and value >= _LEAST_DETAIL
    return None if is_size or isinstance(value, float) else value
