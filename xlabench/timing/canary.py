"""Fixed work that is timed beside the engines, to tell a machine that is slower from a compiler that is.

None of it is ours: NumPy's loops stay what they are when the compiler changes (and a run with another NumPy is not
compared, see `reports.changes`).  Each canary is one thing that a machine may be short of; any program is some mixture
of them, so that what the machine alone does to a program lies between what it does to the canaries:

- `compute`: arithmetic in the first cache, on one core: the clock's frequency, and who shares the core;
- `memory`: a copy of more than the second cache holds: bandwidth, and who shares that;
- `threads`: the same arithmetic on every usable core at once: a core that a neighbour keeps busy.

BLAS is left out on purpose: its threads go on spinning after a call, on the cores of whoever is timed next.  A canary
whose work is changed needs another name, or nights before and after would be compared by it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]

_COMPUTE_ELEMENTS = 1 << 12  # 16 KiB each of operand and result
_MEMORY_ELEMENTS = 1 << 21  # 8 MiB each
_COMPUTE_ROUNDS = 16
_THREAD_ELEMENTS = 1 << 16  # a long loop: between two of them threads wait for each other in the interpreter
_THREAD_ROUNDS = 8


def subjects() -> Mapping[str, Callable[[], object]]:
    """The canaries by name, ready to be called and timed."""
    source = np.zeros(_MEMORY_ELEMENTS, np.float32)
    return {
        "compute": partial(_exponentials, *_operands(_COMPUTE_ELEMENTS), _COMPUTE_ROUNDS),
        "memory": partial(np.copyto, np.ones_like(source), source),
        "threads": _on_every_core(),
    }


def _operands(elements: int) -> tuple[Array, Array]:
    operand = np.linspace(-1, 1, elements, dtype=np.float32)
    return operand, np.empty_like(operand)


def _exponentials(operand: Array, result: Array, rounds: int) -> None:
    """Arithmetic without a call into anything but NumPy's own loop, which lets other threads run."""
    for _ in range(rounds):
        np.exp(operand, out=result)


def _on_every_core() -> Callable[[], object]:
    """The same work by as many threads as there are usable cores; returns when the last is done."""
    cores = len(os.sched_getaffinity(0))
    pool = ThreadPoolExecutor(cores)
    work = [partial(_exponentials, *_operands(_THREAD_ELEMENTS), _THREAD_ROUNDS) for _ in range(cores)]

    def call() -> None:
        for pending in [pool.submit(one) for one in work]:
            pending.result()

    return call
