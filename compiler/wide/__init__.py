"""Wide mode: a program evaluated in f64, with a bound of what its own types may legally make of each element.

The reference's loop runs the lifted program (`lifting`) on values with errors (`numbers`); a rule for each opcode that
the reference evaluates says how errors go through it.  Where a rule cannot tell, the bound is infinite: the element is
undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.diagnostics import BrokenBounds
from compiler.interpreter import Interpreter, flatten
from compiler.ir.module import Instruction, Module
from compiler.ir.numbers import Array, narrow
from compiler.ir.opdef import Value
from compiler.ir.shape import leaves
from compiler.ir.types import TYPES, ElementType, Kind
from compiler.plan import HANDED_ON, check_inputs, check_module, check_one_device
from compiler.precision import unified
from compiler.wide import bits, control, elementwise, factors, movement, order, signs, solvers, sums
from compiler.wide.lifting import lift, lift_type
from compiler.wide.numbers import UNSIGNED_ZERO, Wide, certain, exact, fault_of, with_own_zeros
from compiler.wide.rule import Context, Rule

RULES: dict[str, Rule] = {
    opcode: rule
    for family in (elementwise, bits, movement, sums, order, control, solvers, factors)
    for opcode, rule in family.RULES.items()
}


@dataclass(frozen=True, slots=True)
class WideResult:
    """A leaf of a program's result in f64, with bounds of its error.

    Attributes:
        value: f64 for floats, c128 for complex numbers, else the program's own type.
        bound: how far a legal result may lie from the value (for complex numbers: the modulus of the difference); -0
            where the sign of a zero counts as well.
        undecided: where a decision that rounding can turn leaves the element open; the bound is infinite there.
        element_type: the name of the program's own type.
    """

    value: Array
    bound: Array
    undecided: Array
    element_type: str

    def rounded(self) -> Array:
        """The value in the program's own type."""
        own = TYPES[self.element_type]
        return narrow(self.value, own) if self.value.dtype != own.dtype else self.value

    def allows(self, actual: Array) -> Array:
        """A mask of the elements of an implementation's result that are legal; all that are undecided are."""
        with np.errstate(all="ignore"):
            wide = np.asarray(actual).astype(self.value.dtype)
            same = (wide == self.value) | (np.isnan(wide) & np.isnan(self.value))
            if self.value.dtype.kind in "fc":
                within = np.abs(wide - self.value) <= self.bound
                if self.value.dtype.kind == "f":
                    turned = np.signbit(self.bound) & (np.signbit(wide) != np.signbit(self.value))
                    same, within = same & ~turned, within & ~turned
            else:
                within = np.abs(wide.astype(np.float64) - self.value.astype(np.float64)) <= self.bound
                within &= self.bound > 0
        return np.asarray(same | within | self.undecided)


def prepare_wide(module: Module) -> Callable[..., list[WideResult]]:
    """A module made ready to be run in wide mode; the results of a call are the leaves of the root, in order.

    Of small arrays making it ready takes longer than a call.  The module must stay as it is.

    Args:
        module: a program for one device.
    """
    module = unified(module)
    check_one_device(module)
    lifted, originals = lift(module)
    # A value and its error; of what is only a view in NumPy the errors are not.
    check_module(lifted, copies=2, views=HANDED_ON)

    def around(instruction: Instruction, operands: Sequence[Any], _: object) -> Any:
        made = certain(RULES[instruction.opcode](instruction, operands, context))
        if fault := fault_of(made):  # else whoever takes it first says so, each in other words
            raise BrokenBounds(instruction.opcode, "its rule of bounds gives none", fault)
        return with_own_zeros(made, originals[instruction].shape)

    signed = signs.known_signs(module)
    context = Context(originals, Interpreter(around=around), Interpreter(), signed)
    shapes = leaves(module.entry.root.shape)
    types = [leaf.element_type for leaf in shapes if leaf.element_type.kind is not Kind.OPAQUE]
    are_known = signs.are_known(module, signed)

    def run(*inputs: Any) -> list[WideResult]:
        arguments = check_inputs(module, inputs)
        with np.errstate(all="ignore"):
            found: list[Any] = list(
                flatten(context.loop.call(lifted.entry, [_lifted(argument) for argument in arguments]))
            )
            kept = zip(found, types, are_known, strict=True)
            return [_result(wide, kind, has_signs=has_signs) for wide, kind, has_signs in kept]

    return run


def _lifted(value: Value) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_lifted, value))
    is_float = value.dtype.kind in "fc" or "float" in value.dtype.name
    if not is_float:
        return exact(value)
    return exact(value.astype(np.complex128 if value.dtype.kind == "c" else np.float64))


def _result(wide: Wide, element_type: ElementType, *, has_signs: bool) -> WideResult:
    value = np.array(wide.value, lift_type(element_type).dtype, order="C")
    bound = np.array(np.broadcast_to(wide.error, value.shape))
    if has_signs and value.dtype.kind == "f" and element_type.name not in UNSIGNED_ZERO:
        bound = np.where((bound == 0) & (value == 0), -0.0, bound)
    return WideResult(value, bound, np.isinf(bound), element_type.name)


__all__ = ["RULES", "WideResult", "prepare_wide"]
