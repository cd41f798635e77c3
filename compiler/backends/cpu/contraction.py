"""Products and the sums that take them become fused multiply-adds, one rounding for two, before LLVM sees them.

LLVM contracts block by block, once loops were cut into vectors and what is left over: of one element it may round a
product, of the next one not.  Which elements are left over hangs on how a phase is cut into chunks, and that on how
many threads help, so that a call gave other bits while another call had the threads.  Here a product is contracted with
a sum wherever nothing else takes it, and nowhere else, whoever computes the element.

Sums whose terms LLVM may reorder are left to it: in one of multiply-adds it sees no reduction that it could vectorise.
Results of those are whole chunks' (`kernels.reduce`).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from compiler.codegen.llvm_ir import Function, Module, mangled

_ARITHMETIC = re.compile(r"( *)(%[\w.$-]+) = (fmul|fadd|fsub) contract ((?:<\d+ x )?(?:float|double)>?) (.*)")
_NAME = re.compile(r"%[\w.$-]+")
_SUMS = ("fadd contract ", "fsub contract ")
_ONCE = 2
"""How often the name of a value is written that is made, and taken once."""


class _Operation(NamedTuple):
    """A line of arithmetic, taken apart; `at` is its number."""

    at: int
    indent: str
    name: str
    opcode: str
    type: str
    operands: tuple[str, str]


def contract(ir: Module) -> None:
    """Contract products with sums in all functions of a module, whose target has fused multiply-adds."""
    for function in ir.functions:
        if any(sum_ in line for line in function.lines for sum_ in _SUMS):
            _contract(function)


def _contract(function: Function) -> None:
    found = [one for number, line in enumerate(function.lines) if (one := _operation(number, line))]
    products = {one.name: one for one in found if one.opcode == "fmul"}
    seen = Counter(name for line in function.lines for name in _NAME.findall(line) if name in products)
    contracted: dict[int, list[str]] = {}
    for one in found:
        if one.opcode == "fmul":
            continue
        taken = [number for number, name in enumerate(one.operands) if seen[name] == _ONCE]
        if taken:
            product = products[one.operands[taken[0]]]
            contracted[one.at] = _multiply_add(function.module, one, product, is_first=not taken[0])
            contracted[product.at] = []
        else:
            contracted[one.at] = [function.lines[one.at].replace(" contract ", " ", 1)]
    function.lines[:] = [new for number, line in enumerate(function.lines) for new in contracted.get(number, [line])]


def _operation(number: int, line: str) -> _Operation | None:
    found = _ARITHMETIC.fullmatch(line) if " contract " in line else None
    if found is None:
        return None
    indent, name, opcode, type_, operands = found.groups()
    return _Operation(number, indent, name, opcode, type_, _pair(operands))


def _pair(operands: str) -> tuple[str, str]:
    """Two operands, each of which may be a vector of constants."""
    depth = 0
    for at, character in enumerate(operands):
        depth += (character in "<([") - (character in ">)]")
        if character == "," and not depth:
            return operands[:at], operands[at + 1 :].strip()
    raise AssertionError(f"arithmetic has two operands: {operands}")


def _multiply_add(module: Module, sum_: _Operation, product: _Operation, *, is_first: bool) -> list[str]:
    """The multiply-add of a product and the sum that takes it as its first operand, or as its second one."""
    (left, right), other, negated = product.operands, sum_.operands[is_first], f"{sum_.name}.negated"
    lines = []
    if sum_.opcode == "fsub":
        lines.append(f"{sum_.indent}{negated} = fneg {sum_.type} {other if is_first else left}")
        left, other = (left, negated) if is_first else (negated, other)
    callee = module.declare(f"llvm.fma.{mangled(sum_.type)}", sum_.type, [sum_.type] * 3)
    arguments = ", ".join(f"{sum_.type} {argument}" for argument in (left, right, other))
    return [*lines, f"{sum_.indent}{sum_.name} = call {sum_.type} {callee}({arguments})"]
