"""Which kernels may write a result where an operand lies that nobody needs afterwards.

A kernel that was told so (`Kernel.in_place`) gets one pointer for both, and what it reads at an element it must have
read before it writes there, at whatever number of threads; so it may not compute any element twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler.backends.cpu.kernels import dot_complex, loop
from compiler.codegen.in_place import Pairs, same_element, same_row
from compiler.codegen.kernel import Kernel, KernelKind


def reusable(kernel: Kernel) -> Pairs:
    """Results and the inputs, by their numbers, in whose memory they may lie."""
    rule = _RULES.get(kernel.kind)
    return rule(kernel) if rule else ()


def _of_loop(kernel: Kernel) -> Pairs:
    return () if dot_complex.applies(kernel) or loop.may_go_back(kernel) else same_element(kernel)


def _of_scatter(kernel: Kernel) -> Pairs:
    """All operands, which then need no copies, or none; what indices and updates are made of is read at any time."""
    (scatter,) = kernel.roots
    count, numbers = len(kernel.outputs), dict(kernel.leaves)
    operands, others = scatter.operands[:count], replace(kernel, roots=scatter.operands[count:])
    if not all(operand in numbers for operand in operands):
        return ()
    places = [numbers[operand] for operand in operands]
    needed = {*others.roots, *(operand for value in others.body() for operand in value.operands)}
    once = len(set(places)) == count and not {numbers[value] for value in needed if value in numbers} & set(places)
    return tuple(enumerate(places)) if once else ()


def _of_operand(number: int) -> Callable[[Kernel], Pairs]:
    """The operand of that number, of which an element is read before the result's at its place is written."""

    def rule(kernel: Kernel) -> Pairs:
        (root,) = kernel.roots
        places = [dict(kernel.leaves).get(operand) for operand in root.operands]
        given = places[number]
        return ((0, given),) if given is not None and places.count(given) == 1 else ()

    return rule


_RULES: dict[KernelKind, Callable[[Kernel], Pairs]] = {
    KernelKind.LOOP: _of_loop,
    KernelKind.ROW: same_row,
    KernelKind.DOT: same_element,
    KernelKind.SCATTER: _of_scatter,
    KernelKind.CHOLESKY: _of_operand(0),
    KernelKind.TRIANGULAR_SOLVE: _of_operand(1),
}
