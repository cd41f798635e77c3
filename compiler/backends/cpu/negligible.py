"""Kernels that take next to nothing of a program's time, which are translated at level 0.

To vectorise a loop takes LLVM ten milliseconds, however few elements it is over, and models have dozens of kernels over
a bias, a step counter or the shape of a batch.  At level 0 such a kernel may take two hundred times as long, so that of
all kernels only those are taken that are a twenty-thousandth of the program together.

Results are the same to the bit: a kernel is not taken where LLVM would take sums in another order at a higher level.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from compiler.backends.cpu.kernels.emitted import EmittedKernel
from compiler.backends.cpu.kernels.strategy import Functions
from compiler.codegen.kernel import CONTROL
from compiler.codegen.llvm_ir import Function, Module
from compiler.ir.module import Computation, Instruction

_SLOWER = 200
"""How many times as long a kernel may take at level 0."""
_SHARE = 0.01 / _SLOWER
"""What of a program's expected time all of them may be, so that it grows by a hundredth."""
_CALLEE = re.compile(r"\bcall .*?@([\w.$-]+)\(")


def translate_quickly(ir: Module, entry: Computation, emitted: Mapping[Instruction, EmittedKernel]) -> None:
    """Have the functions of negligible kernels translated at level 0, none of which runs in a loop.

    Args:
        ir: the program's module, whose functions are marked.
        entry: the program's entry computation.
        emitted: its kernels by instruction, with what they cost.
    """
    once = set(_once(entry))
    repeated = {name for instruction, kernel in emitted.items() if instruction not in once for name in kernel.functions}
    functions = {function.name: function for function in ir.functions}
    cost = defaultdict[Functions, float](float)
    for kernel in emitted.values():
        cost[kernel.functions] += kernel.cost_ns
    left = _SHARE * sum(cost.values())
    for names, cost_ns in sorted(cost.items(), key=lambda item: (item[1], item[0])):
        if cost_ns > left:
            return
        if repeated.isdisjoint(names) and all(_is_exact(name, functions) for name in names):
            left -= cost_ns
            for name in names:
                functions[name].cold = True


def _once(computation: Computation) -> Iterator[Instruction]:
    """The instructions that no loop runs, in a computation and in those that its control flow runs."""
    for instruction in computation.instructions:
        yield instruction
        if instruction.opcode in CONTROL and instruction.opcode != "while":
            for callee in instruction.called_computations():
                yield from _once(callee)


def _is_exact(name: str, functions: Mapping[str, Function]) -> bool:
    """Whether a function, with those that it calls, gives the same bits at every level."""
    if name not in functions:
        return name.startswith("llvm.")
    text = "\n".join(functions[name].lines)
    if " reassoc " in text:
        return False
    return all(_is_exact(callee, functions) for callee in set(_CALLEE.findall(text)))
