"""Elements: how one lies in memory, the LLVM value that stands for it, and how types convert.

pred is a byte in memory and an `i1` as a value.  bf16 and f16 are computed in `float` and rounded to their own
precision after every operation, as the language demands; between operations the value is a `float` that the narrow type
can represent exactly.  So are floats of 8 bits and less (`minifloat`).  Integers narrower than a byte take one in
memory, of which the low bits count, and are wrapped to their width after every operation.  A complex number is a pair.
"""

from __future__ import annotations

from compiler.codegen import complex_numbers, minifloat
from compiler.codegen.llvm_ir import FLOAT_TYPES, I1, I8, SM_80, Builder, Value, element_of, floating, integer
from compiler.diagnostics import UnsupportedError
from compiler.ir.types import BF16, C64, F8E8M0, F16, F32, F64, PRED, ElementType, Kind

_COMPLEX = {"c64": "{ float, float }", "c128": "{ double, double }"}
_MINIFLOATS = [element_type.name for element_type in minifloat.MINIFLOATS]
_TOO_LARGE = (1 << 17) - 1
"""An integer that is infinite in f16, whose greatest number is 65,504, and exact in f32."""
_LONGER_MANTISSA = 52 - 23
"""Bits of a mantissa that f64 has and f32 has not."""
_FLOAT_STORAGE = {
    "bf16": "i16", "f16": "half", "f32": "float", "f64": "double", **_COMPLEX, **dict.fromkeys(_MINIFLOATS, I8),
}  # fmt: skip
_FLOAT_VALUE = {
    "bf16": "float", "f16": "float", "f32": "float", "f64": "double", **_COMPLEX, **dict.fromkeys(_MINIFLOATS, "float"),
}  # fmt: skip


def storage_type(element_type: ElementType) -> str:
    """The LLVM type of an element in memory."""
    if element_type.kind is Kind.PRED:
        return I8
    if element_type.is_integer:
        return f"i{max(8, element_type.bits)}"
    return _float(element_type, _FLOAT_STORAGE)


def value_type(element_type: ElementType) -> str:
    """The LLVM type of an element as a value."""
    if element_type.kind is Kind.PRED:
        return I1
    if element_type.is_integer:
        return f"i{max(8, element_type.bits)}"
    return _float(element_type, _FLOAT_VALUE)


def _float(element_type: ElementType, table: dict[str, str]) -> str:
    if element_type.name not in table:
        raise UnsupportedError(f"element type {element_type}", "code generation", "no native form of it yet")
    return table[element_type.name]


def load(builder: Builder, element_type: ElementType, pointer: Value, metadata: str = "") -> Value:
    """Load an element and bring it into the form in which it is computed with.

    Args:
        builder: where code is emitted.
        element_type: of the array.
        pointer: the element's address.
        metadata: LLVM's, behind the instruction.
    """
    align = element_type.size_bytes
    if element_type.is_complex:
        half = component_type(element_type)
        second = builder.gep(storage_type(half), pointer, integer(1))
        both = (load(builder, half, address, metadata) for address in (pointer, second))
        return complex_numbers.pair(builder, *both)
    in_memory = builder.load(storage_type(element_type), pointer, align=align, metadata=metadata)
    return loaded(builder, element_type, in_memory)


def loaded(builder: Builder, element_type: ElementType, stored: Value) -> Value:
    """The value of an element from the form in which it lies in memory.

    Args:
        builder: where code is emitted.
        element_type: of the array.
        stored: the element as it lies in memory.
    """
    if element_type.kind is Kind.PRED:
        return builder.compare("ne", stored, integer(0, I8))
    if element_type is BF16:
        wide = builder.binary("shl", builder.cast("zext", stored, "i32"), integer(16, "i32"))
        return builder.cast("bitcast", wide, "float")
    if element_type.is_integer and element_type.bits < 8:
        return _wrap(builder, element_type, stored)
    if element_type in minifloat.MINIFLOATS:
        return minifloat.decode(builder, element_type, stored)
    return builder.cast("fpext", stored, "float") if element_type is F16 else stored


def stored(builder: Builder, element_type: ElementType, value: Value) -> Value:
    """A value in the form in which it lies in memory; a bf16 or f16 one has been rounded, so nothing is lost.

    Args:
        builder: where code is emitted.
        element_type: of the element.
        value: the element, in the form in which it is computed with.
    """
    if element_type.kind is Kind.PRED:
        return builder.cast("zext", value, I8)
    if element_type is BF16:
        bits = builder.binary("lshr", builder.cast("bitcast", value, "i32"), integer(16, "i32"))
        return builder.cast("trunc", bits, "i16")
    if element_type.is_integer and 1 < element_type.bits < 8:
        return unsigned(builder, element_type, value)
    if element_type in minifloat.MINIFLOATS:
        return minifloat.encode(builder, element_type, value)
    return builder.cast("fptrunc", value, "half") if element_type is F16 else value


def to_bits(builder: Builder, element_type: ElementType, value: Value) -> Value:
    """The bits of a value, in an integer of exactly the type's width.

    Args:
        builder: where code is emitted.
        element_type: of the value.
        value: as it is computed with.
    """
    if element_type.kind is Kind.PRED:
        return value
    bits = builder.cast("bitcast", stored(builder, element_type, value), f"i{8 * element_type.size_bytes}")
    return builder.cast("trunc", bits, f"i{element_type.bits}")


def from_bits(builder: Builder, element_type: ElementType, bits: Value) -> Value:
    """The value whose bits those are.

    Args:
        builder: where code is emitted.
        element_type: of the value.
        bits: an integer of exactly the type's width.
    """
    if element_type.kind is Kind.PRED:
        return bits
    opcode = "sext" if element_type.is_signed else "zext"
    wide = builder.cast(opcode, bits, f"i{8 * element_type.size_bytes}")
    return loaded(builder, element_type, builder.cast("bitcast", wide, storage_type(element_type)))


def store(builder: Builder, element_type: ElementType, value: Value, pointer: Value, metadata: str = "") -> None:
    """Store an element.

    Args:
        builder: where code is emitted.
        element_type: of the array.
        value: in the form in which it is computed with.
        pointer: the element's address.
        metadata: LLVM's, behind the instruction.
    """
    if element_type.is_complex:
        half = component_type(element_type)
        for number in (0, 1):
            at = builder.gep(storage_type(half), pointer, integer(number))
            store(builder, half, complex_numbers.component(builder, value, number), at, metadata)
        return
    value = stored(builder, element_type, value)
    builder.store(value, pointer, align=element_type.size_bytes, metadata=metadata)


def constant(element_type: ElementType, value: object) -> Value:
    """The literal for a Python or NumPy scalar."""
    type_ = value_type(element_type)
    if element_type.kind is Kind.PRED:
        return Value(I1, "true" if value else "false")
    if element_type.is_integer:
        return integer(int(value), type_)  # type: ignore[call-overload]  # any integer scalar
    if element_type.is_complex:
        number, half = complex(value), value_type(component_type(element_type))  # type: ignore[call-overload]  # any scalar
        return Value(type_, f"{{ {floating(number.real, half)}, {floating(number.imag, half)} }}")
    return floating(float(value), type_)  # type: ignore[arg-type]  # any real scalar


def round_to(builder: Builder, element_type: ElementType, value: Value, *, arithmetic: bool = False) -> Value:
    """Round a computed value to the precision of its type, wrap it to its width; nothing where it has them already.

    Args:
        builder: where code is emitted.
        element_type: of the result.
        value: as it was computed.
        arithmetic: whether it is a sum, a product, a quotient or a function of numbers of the type.
    """
    if element_type is F16:
        return builder.cast("fpext", builder.cast("fptrunc", value, "half"), "float")
    if element_type.is_integer and element_type.bits < 8:
        return _wrap(builder, element_type, value)
    if element_type in minifloat.MINIFLOATS:
        return minifloat.rounded(builder, element_type, value)
    return _round_to_bf16(builder, value, arithmetic=arithmetic) if element_type is BF16 else value


def _round_to_bf16(builder: Builder, value: Value, *, arithmetic: bool) -> Value:
    """A float with 8 significant bits, by integer arithmetic, because x86's own instruction flushes denormals.

    A GPU's does not; it has one NaN.

    What is added before the lower half is cut off is half a unit to numbers whose last bit is set, and a little less to
    others, so that ties go to even.  x86 makes NaN of a sum by passing one on, whose lower half is empty in bf16, or by
    a certain one: adding does no harm.  Other NaN might become infinite or change sign.
    """
    if SM_80 in builder.module.features:
        narrow = builder.cast("bitcast", builder.cast("fptrunc", value, "bfloat"), "i16")
        wide = builder.binary("shl", builder.cast("zext", narrow, "i32"), integer(16, "i32"))
        return builder.cast("bitcast", wide, "float")
    bits, has_masks = builder.cast("bitcast", value, "i32"), "avx512f" in builder.module.features
    below = builder.binary("add", bits, integer(0x7FFF, "i32"))
    if has_masks:
        odd = builder.compare("ne", builder.binary("and", bits, integer(0x10000, "i32")), integer(0, "i32"))
        raised = builder.select(odd, builder.binary("add", bits, integer(0x8000, "i32")), below)
    else:
        odd = builder.binary("and", builder.binary("lshr", bits, integer(16, "i32")), integer(1, "i32"))
        raised = builder.binary("add", below, odd)
    rounded = builder.binary("and", raised, integer(-65536, "i32"))
    if not (arithmetic and has_masks):
        quiet = builder.binary("and", builder.binary("or", bits, integer(0x400000, "i32")), integer(-65536, "i32"))
        rounded = builder.select(builder.compare("uno", value, value), quiet, rounded)
    return builder.cast("bitcast", rounded, "float")


def _wrap(builder: Builder, element_type: ElementType, value: Value) -> Value:
    unused = integer(8 - element_type.bits, I8)
    return builder.binary("ashr" if element_type.is_signed else "lshr", builder.binary("shl", value, unused), unused)


def unsigned(builder: Builder, element_type: ElementType, value: Value) -> Value:
    """The bits of an integer with zeros above them.

    Args:
        builder: where code is emitted.
        element_type: of the integer.
        value: in the form in which it is computed with.
    """
    if element_type.bits >= 8 or not element_type.is_signed:
        return value
    return builder.binary("and", value, integer((1 << element_type.bits) - 1, I8))


def convert(builder: Builder, value: Value, source: ElementType, target: ElementType) -> Value:
    """HLO `convert`: to float rounds to nearest even; to integer truncates and saturates, NaN gives 0.

    Args:
        builder: where code is emitted.
        value: in the form in which it is computed with.
        source: its type.
        target: the type of the result.
    """
    if source is target:
        return value
    if target.is_complex:
        return _to_complex(builder, value, source, target)
    if source.is_complex:
        return _from_complex(builder, value, source, target)
    if target.kind is Kind.PRED:
        return _to_pred(builder, value)
    if target.is_integer:
        return _to_integer(builder, value, source, target)
    return _to_float(builder, value, source, target)


def _from_complex(builder: Builder, value: Value, source: ElementType, target: ElementType) -> Value:
    """The real part; as a truth value, whether the number is not zero."""
    if target.kind is Kind.PRED:
        is_zero = complex_numbers.equal(builder, value, constant(source, 0))
        return builder.binary("xor", is_zero, Value(I1, "true"))
    return convert(builder, complex_numbers.component(builder, value, 0), component_type(source), target)


def _to_pred(builder: Builder, value: Value) -> Value:
    if element_of(value.type) in FLOAT_TYPES:
        return builder.compare("une", value, floating(0.0, value.type))
    return builder.compare("ne", value, integer(0, value.type))


def _to_integer(builder: Builder, value: Value, source: ElementType, target: ElementType) -> Value:
    type_ = value_type(target)
    if source.is_float:
        return _saturated(builder, value, target)
    from_bits = 1 if source.kind is Kind.PRED else max(8, source.bits)
    to_bits = max(8, target.bits)
    opcode = "trunc" if from_bits > to_bits else "sext" if source.is_signed else "zext"
    return round_to(builder, target, builder.cast(opcode, value, type_))


def _saturated(builder: Builder, value: Value, target: ElementType) -> Value:
    """A real number as an integer: bounded first, then converted, because LLVM takes its saturating casts apart.

    Where the type's bounds are no floats, only what lies below is bounded; what the cast makes of the rest is unused.
    """
    bits, signed, real = target.bits, target.is_signed, value.type
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def bound(predicate: str, limit: float) -> None:
        nonlocal value
        value = builder.select(builder.compare(predicate, value, floating(limit, real)), value, floating(limit, real))

    if signed:
        value = builder.select(builder.compare("ord", value, value), value, floating(0.0, real))
    # Not greater, so NaN becomes the unsigned types' bound 0.
    bound("ogt", low)
    whole = f"i{max(32, bits)}"
    opcode = "fptosi" if signed or bits < 32 else "fptoui"
    if high < 1 << (24 if element_of(real) == "float" else 53):
        bound("olt", high)
        result = builder.cast(opcode, value, whole)
        return result if bits >= 32 else builder.cast("trunc", result, value_type(target))
    beyond = builder.compare("oge", value, floating(high + 1, real))
    return builder.select(beyond, integer(high, whole), builder.cast(opcode, value, whole))


def _to_float(builder: Builder, value: Value, source: ElementType, target: ElementType) -> Value:
    type_ = value_type(target)
    if source is PRED:
        # A choice of two constants, which is one masked move, and not an integer that is converted.
        return builder.select(value, floating(1.0, type_), floating(0.0, type_))
    if source.is_integer:
        return round_to(builder, target, _integer_to_float(builder, value, source, target))
    if element_of(value.type) == type_:
        return round_to(builder, target, value)
    if type_ == "double":
        return builder.cast("fpext", value, type_)
    narrow = _narrow(builder, value) if target.bits < 32 else builder.cast("fptrunc", value, type_)
    return round_to(builder, target, narrow)


def _integer_to_float(builder: Builder, value: Value, source: ElementType, target: ElementType) -> Value:
    """An integer as a value from which a single rounding gives the nearest one of the target."""
    if target.bits >= 32 or source.bits <= 24:
        return builder.cast("sitofp" if source.is_signed else "uitofp", value, value_type(target))
    if target in (BF16, F8E8M0):
        # Rounding to f32 first could round twice; f64 holds any 32-bit integer, and sticks to odd above that.
        return _odd_float(builder, _odd_double(builder, value, source))
    return builder.cast("sitofp", _near_zero(builder, value, source), "float")


def _near_zero(builder: Builder, value: Value, source: ElementType) -> Value:
    """An integer, or for one that f16 and narrower floats have not, another such that a float holds."""
    if source.is_signed:
        near = builder.clamp(value, integer(-_TOO_LARGE, value.type), integer(_TOO_LARGE, value.type))
    else:
        near = builder.umin(value, integer(_TOO_LARGE, value.type))
    return builder.cast("trunc", near, "i32")


def component_type(element_type: ElementType) -> ElementType:
    """The type of the two parts of a complex type."""
    return F32 if element_type is C64 else F64


def _to_complex(builder: Builder, value: Value, source: ElementType, target: ElementType) -> Value:
    half = component_type(target)
    if not source.is_complex:
        return complex_numbers.pair(builder, convert(builder, value, source, half), constant(half, 0.0))
    both = (complex_numbers.component(builder, value, number) for number in (0, 1))
    return complex_numbers.pair(builder, *(convert(builder, one, component_type(source), half) for one in both))


def _odd_double(builder: Builder, value: Value, source: ElementType) -> Value:
    """An integer as a double, rounded to odd where 53 bits do not hold it, so that a second rounding is right."""
    if source.bits > 32:
        is_signed = source.is_signed
        magnitude = builder.overloaded("abs", [value, Value(I1, "false")]) if is_signed else value
        small = builder.compare("ult", magnitude, integer(1 << 53))
        value = builder.select(small, value, _sticky(builder, value, 11))
    return builder.cast("sitofp" if source.is_signed else "uitofp", value, "double")


def _odd_float(builder: Builder, value: Value) -> Value:
    """A double that is an integer as a float rounded to odd: among those there are neither denormals nor infinities."""
    odd = _sticky(builder, builder.cast("bitcast", value, "i64"), _LONGER_MANTISSA)
    return builder.cast("fptrunc", builder.cast("bitcast", odd, "double"), "float")


def _sticky(builder: Builder, bits: Value, count: int) -> Value:
    """An i64 without so many of its lowest bits, which set the one above them unless they were all zero."""
    dropped = (1 << count) - 1
    is_inexact = builder.compare("ne", builder.binary("and", bits, integer(dropped)), integer(0))
    above = builder.select(is_inexact, integer(dropped + 1), integer(0))
    return builder.binary("or", builder.binary("and", bits, integer(~dropped)), above)


def _narrow(builder: Builder, value: Value) -> Value:
    """A double as a float rounded to odd, so that rounding it once more to 16 bits equals rounding once."""
    near = builder.cast("fptrunc", value, "float")
    back = builder.cast("fpext", near, "double")
    bits = builder.cast("bitcast", near, "i32")
    # Where rounding went away from zero, step back to the truncated value; then set the last bit if inexact.
    magnitude = builder.overloaded("fabs", [value])
    away = builder.compare("ogt", builder.overloaded("fabs", [back]), magnitude)
    truncated = builder.binary("sub", bits, builder.cast("zext", away, "i32"))
    inexact = builder.compare("one", back, value)
    odd = builder.binary("or", truncated, builder.cast("zext", inexact, "i32"))
    return builder.cast("bitcast", odd, "float")
