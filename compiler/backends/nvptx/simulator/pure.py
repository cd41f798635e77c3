"""Instructions whose results depend on their operands alone: which function each one is.

`pure_operation` reads opcode, modifiers and type off an instruction and gives the function on raw bits with the types
of its operands and result.  The functions themselves are in `integer`, `floating` and `conversion`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from compiler.backends.nvptx.simulator import floating, integer
from compiler.backends.nvptx.simulator.conversion import convert, pack_pair, to_tf32
from compiler.backends.nvptx.simulator.floating import RawFunction
from compiler.backends.nvptx.simulator.rounding import FORMATS, MODES, FloatFormat
from compiler.backends.nvptx.simulator.syntax import TYPE_BITS, Immediate, Instruction


@dataclass(frozen=True, slots=True)
class Operation:
    """A function with the types of its result and operands."""

    function: RawFunction
    result: str
    operands: tuple[str, ...]


# Modifiers that some rule below heeds; any other one makes an instruction unknown rather than wrong.
_MODIFIERS = frozenset(
    [
        *(*MODES, "rni", "rzi", "rmi", "rpi", "rna", "ftz", "sat", "approx", "full", "NaN", "relu"),
        *("lo", "hi", "wide", "l", "r", "wrap", "clamp", "shiftamt"),
        *("finite", "infinite", "number", "notanumber", "normal", "subnormal"),
    ]
)

_Rule = Callable[[Instruction, str], Operation | None]
_BY_OPERANDS = frozenset({"lop3"})
_OPERATIONS: dict[tuple[str, tuple[str, ...], int], Operation | None] = {}


def pure_operation(instruction: Instruction) -> Operation | None:
    """The operation of a pure instruction; None if it is not known as one.

    But for one opcode it is up to the words and the number of the operands, and made once for all that have the same.
    """
    if instruction.opcode in _BY_OPERANDS:
        return _operation(instruction)
    key = instruction.opcode, instruction.modifiers, len(instruction.operands)
    if key not in _OPERATIONS:
        _OPERATIONS[key] = _operation(instruction)
    return _OPERATIONS[key]


def _operation(instruction: Instruction) -> Operation | None:
    rule = _RULES.get(instruction.opcode)
    types = [m for m in instruction.modifiers if m in TYPE_BITS]
    if not _MODIFIERS.issuperset(m for m in instruction.modifiers if m not in TYPE_BITS):
        return None
    return rule(instruction, types[-1]) if rule is not None and types else None


def _is_float(type_: str) -> bool:
    return type_.removesuffix("x2") in FORMATS


def _is_signed(type_: str) -> bool:
    return type_[0] == "s"


def _arithmetic(instruction: Instruction, type_: str) -> Operation | None:
    if _is_float(type_):
        return _float_arithmetic(instruction, type_)
    arity, make = _INTEGER[instruction.opcode]
    if instruction.opcode in ("add", "sub") and "sat" in instruction.modifiers:
        return Operation(integer.saturating(instruction.opcode), type_, (type_, type_))
    if make is None:
        return None
    function = integer.with_relu(make(type_)) if "relu" in instruction.modifiers else make(type_)
    if type_.endswith("x2"):
        function = floating.packed(function)
    return Operation(function, type_, (type_,) * arity)


def _float_arithmetic(instruction: Instruction, type_: str) -> Operation | None:
    modifiers = instruction.modifiers
    form = FORMATS[type_.removesuffix("x2")]
    opcode = instruction.opcode
    if opcode not in _FLOAT_ARITY or {"xorsign", "oob"} & set(modifiers):
        return None
    if opcode in ("min", "max"):
        make = floating.minimum if opcode == "min" else floating.maximum
        function = make(form, propagates_nan="NaN" in modifiers)
    elif opcode in _SIGN_ONLY:
        function = _SIGN_ONLY[opcode](form)
    else:
        mode = next((m for m in modifiers if m in MODES), "rn")
        approximate = "approx" in modifiers
        function = floating.arithmetic(opcode, form, mode, is_approximate=approximate)
    if opcode == "min" and instruction.operands and len(instruction.operands) != 3:
        return None
    function = _wrap(function, form, modifiers)
    if type_.endswith("x2"):
        function = floating.packed(function)
    return Operation(function, type_, (type_,) * _FLOAT_ARITY[opcode])


def _wrap(function: RawFunction, form: FloatFormat, modifiers: tuple[str, ...]) -> RawFunction:
    if "ftz" in modifiers and form.name in ("f32", "f16"):
        function = floating.with_flush(function, form)
    if "sat" in modifiers:
        function = floating.with_saturation(function, form)
    if "relu" in modifiers:
        function = floating.with_relu(function, form)
    return function


_SIGN_ONLY: Mapping[str, Callable[[FloatFormat], RawFunction]] = {
    "neg": floating.negate,
    "abs": floating.absolute,
    "copysign": floating.copy_sign,
}

_FLOAT_ARITY: Mapping[str, int] = {
    **dict.fromkeys(("neg", "abs", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"), 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "min", "max", "copysign"), 2),
    **dict.fromkeys(("fma", "mad"), 3),
}


def _by_sign(signed: RawFunction, unsigned: RawFunction) -> Callable[[str], RawFunction]:
    return lambda type_: signed if _is_signed(type_) else unsigned


_INTEGER: Mapping[str, tuple[int, Callable[[str], RawFunction] | None]] = {
    "add": (2, lambda _: np.add),
    "sub": (2, lambda _: np.subtract),
    "div": (2, lambda t: integer.divide(is_signed=_is_signed(t))),
    "rem": (2, lambda t: integer.remainder(is_signed=_is_signed(t))),
    "min": (2, _by_sign(integer.as_signed(np.minimum), np.minimum)),
    "max": (2, _by_sign(integer.as_signed(np.maximum), np.maximum)),
    "abs": (1, lambda _: integer.as_signed(np.abs)),
    "neg": (1, lambda _: integer.negate),
    "cnot": (1, lambda _: integer.logical_not),
    "brev": (1, lambda _: integer.reverse_bits),
    "sad": (3, lambda t: integer.sum_of_differences(is_signed=_is_signed(t))),
    "prmt": (3, lambda _: integer.permute_bytes),
    **dict.fromkeys(("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "copysign", "fma"), (1, None)),
}


def _multiply(instruction: Instruction, type_: str) -> Operation | None:
    """`mul`, `mad`, `mul24`, `mad24`: of integers the lower, upper or whole product."""
    if _is_float(type_):
        return _float_arithmetic(instruction, type_)
    signed = _is_signed(type_)
    result = type_
    function: RawFunction = np.multiply
    if instruction.opcode.endswith("24"):
        function = integer.multiply_24(is_signed=signed, high="hi" in instruction.modifiers)
    elif "hi" in instruction.modifiers:
        function = integer.multiply_high(is_signed=signed)
    elif "wide" in instruction.modifiers:
        if TYPE_BITS[type_] not in (16, 32):
            return None
        function = integer.multiply_wide(is_signed=signed)
        result = f"{type_[0]}{TYPE_BITS[type_] * 2}"
    if instruction.opcode.startswith("mul"):
        return Operation(function, result, (type_, type_))
    return Operation(lambda a, b, c: function(a, b) + c, result, (type_, type_, result))


def _logic(instruction: Instruction, type_: str) -> Operation:
    function = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}
    arity = 1 if instruction.opcode == "not" else 2
    return Operation(function[instruction.opcode], type_, (type_,) * arity)


def _shift(instruction: Instruction, type_: str) -> Operation:
    if instruction.opcode == "shl":
        return Operation(integer.shift_left, type_, (type_, "b32"))
    return Operation(integer.shift_right(is_signed=_is_signed(type_)), type_, (type_, "b32"))


def _funnel(instruction: Instruction, type_: str) -> Operation:
    modifiers = instruction.modifiers
    return Operation(integer.funnel(left="l" in modifiers, wraps="wrap" in modifiers), type_, (type_,) * 3)


def _field(instruction: Instruction, type_: str) -> Operation:
    if instruction.opcode == "bfi":
        return Operation(integer.insert_field, type_, (type_, type_, "b32", "b32"))
    return Operation(integer.extract_field(is_signed=_is_signed(type_)), type_, (type_, "b32", "b32"))


def _count(instruction: Instruction, type_: str) -> Operation:
    if instruction.opcode == "bfind":
        as_shift = "shiftamt" in instruction.modifiers
        return Operation(integer.find_leading(is_signed=_is_signed(type_), as_shift=as_shift), "u32", (type_,))
    function = {"popc": integer.count_ones, "clz": integer.count_leading_zeros}[instruction.opcode]
    return Operation(function, "u32", (type_,))


def _permute(instruction: Instruction, type_: str) -> Operation | None:
    if instruction.modifiers != (type_,):
        return None
    return Operation(integer.permute_bytes, type_, (type_,) * 3)


def _lop3(instruction: Instruction, type_: str) -> Operation | None:
    table = instruction.operands[-1]
    if not isinstance(table, Immediate) or not isinstance(table.value, int) or len(instruction.operands) != 5:
        return None
    return Operation(integer.logic_of_three(table.value), type_, (type_,) * 3)


def _dot(instruction: Instruction, type_: str) -> Operation:
    first = next(m for m in instruction.modifiers if m in TYPE_BITS)
    function = integer.dot_of_bytes(a_signed=_is_signed(first), b_signed=_is_signed(type_))
    return Operation(function, "b32", ("b32", "b32", "b32"))


def _select(instruction: Instruction, type_: str) -> Operation | None:
    if instruction.opcode == "selp":
        return Operation(lambda a, b, p: np.where(p, a, b), type_, (type_, type_, "pred"))
    value = instruction.modifiers[-2]
    if value not in TYPE_BITS or type_ not in ("f32", "s32"):
        return None
    if type_ == "f32":
        return Operation(lambda a, b, c: np.where(c.view(np.float32) >= 0, a, b), value, (value, value, type_))
    return Operation(lambda a, b, c: np.where(integer.signed(c) >= 0, a, b), value, (value, value, type_))


def _test(instruction: Instruction, type_: str) -> Operation | None:
    if type_ not in ("f32", "f64") or instruction.modifiers[0] not in floating.PROPERTIES:
        return None
    return Operation(floating.classify(instruction.modifiers[0], FORMATS[type_]), "pred", (type_,))


def comparison(instruction: Instruction, type_: str) -> RawFunction | None:
    """The comparison of `setp` and `set`."""
    relation = instruction.modifiers[0]
    if _is_float(type_):
        if relation not in floating.RELATIONS:
            return None
        form = FORMATS[type_.removesuffix("x2")]
        function = floating.compare(relation, form)
        return floating.with_flush(function, form, result=False) if "ftz" in instruction.modifiers else function
    if relation not in integer.RELATIONS:
        return None
    return integer.compare(relation, is_signed=_is_signed(type_))


def _convert(instruction: Instruction, source: str) -> Operation | None:
    """`cvt`; `.rna.tf32` and the two-operand packing forms have their own functions."""
    modifiers = instruction.modifiers
    types = [m for m in modifiers if m in TYPE_BITS]
    if len(types) != 2:
        return None
    target = types[0]
    if target == "tf32":
        return Operation(to_tf32, "b32", (source,))
    if target.endswith("x2"):
        if source != "f32":
            return None
        return Operation(pack_pair(FORMATS[target.removesuffix("x2")], modifiers), target, ("f32", "f32"))
    if not all(type_ in FORMATS or (type_[0] in "us" and type_[1:].isdigit()) for type_ in types):
        return None
    return Operation(convert(target, source, modifiers), target, (source,))


_RULES: Mapping[str, _Rule] = {
    **dict.fromkeys(_INTEGER, _arithmetic),
    **dict.fromkeys(("mul", "mad", "mul24", "mad24"), _multiply),
    **dict.fromkeys(("and", "or", "xor", "not"), _logic),
    **dict.fromkeys(("shl", "shr"), _shift),
    **dict.fromkeys(("bfe", "bfi"), _field),
    **dict.fromkeys(("popc", "clz", "bfind"), _count),
    **dict.fromkeys(("selp", "slct"), _select),
    "shf": _funnel,
    "prmt": _permute,
    "lop3": _lop3,
    "dp4a": _dot,
    "testp": _test,
    "cvt": _convert,
}
