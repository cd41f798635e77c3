"""Functions that LLVM calls of its own accord and that neither the C library nor libm has: they go into the code.

Compilers bring them in a library of their own (libgcc, compiler-rt), which a process need not have loaded and older
ones do not have whole.  Halves are converted by them where a CPU has no instruction for it: on x86 without F16C all,
and with it those from double.  We never write such a conversion; LLVM makes one where a half takes the sign of what
was rounded from a double on the way.
"""

from __future__ import annotations

from collections.abc import Iterable

_TO_FLOAT = """
define internal float @__extendhfsf2(half %x) nounwind {
  %bits = bitcast half %x to i16
  %wide = zext i16 %bits to i32
  %size = and i32 %wide, 32767
  %moved = shl i32 %size, 13
  %tiny = bitcast i32 %moved to float
  %scaled = fmul float %tiny, 0x46F0000000000000
  %finite = bitcast float %scaled to i32
  %infinite = or i32 %moved, 2139095040
  %quiet = or i32 %moved, 2143289344
  %is.finite = icmp ult i32 %size, 31744
  %is.nan = icmp ugt i32 %size, 31744
  %number = select i1 %is.finite, i32 %finite, i32 %infinite
  %magnitude = select i1 %is.nan, i32 %quiet, i32 %number
  %negative = and i32 %wide, 32768
  %sign = shl i32 %negative, 16
  %signed = or i32 %magnitude, %sign
  %result = bitcast i32 %signed to float
  ret float %result
}
"""
"""A half moved to a float's place is too small by 2^112, denormal or not."""

_FROM_FLOAT = """
define internal half @__truncsfhf2(float %x) nounwind {
  %bits = bitcast float %x to i32
  %size = and i32 %bits, 2147483647
  %cut = lshr i32 %size, 13
  %odd = and i32 %cut, 1
  %rebiased = add i32 %size, -939520001
  %rounded = add i32 %rebiased, %odd
  %normal = lshr i32 %rounded, 13
  %small = bitcast i32 %size to float
  %shifted = fadd float %small, 5.0e-01
  %place = bitcast float %shifted to i32
  %denormal = sub i32 %place, 1056964608
  %payload = and i32 %cut, 1023
  %quiet = or i32 %payload, 32256
  %is.denormal = icmp ult i32 %size, 947912704
  %is.large = icmp uge i32 %size, 1199570944
  %is.nan = icmp ugt i32 %size, 2139095040
  %finite = select i1 %is.denormal, i32 %denormal, i32 %normal
  %number = select i1 %is.large, i32 31744, i32 %finite
  %magnitude = select i1 %is.nan, i32 %quiet, i32 %number
  %high = lshr i32 %bits, 16
  %sign = and i32 %high, 32768
  %signed = or i32 %magnitude, %sign
  %low = trunc i32 %signed to i16
  %result = bitcast i16 %low to half
  ret half %result
}
"""
"""To nearest even; the last place of a sum with 1/2 is that of denormal halves."""

_FROM_DOUBLE = """
define internal half @__truncdfhf2(double %x) nounwind {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %bits = bitcast float %near to i32
  %whole = bitcast double %x to i64
  %size = and i64 %whole, 9223372036854775807
  %again = bitcast double %back to i64
  %reached = and i64 %again, 9223372036854775807
  %away = icmp ugt i64 %reached, %size
  %inexact = icmp ne i64 %reached, %size
  %step = zext i1 %away to i32
  %truncated = sub i32 %bits, %step
  %last = zext i1 %inexact to i32
  %sticky = or i32 %truncated, %last
  %odd = bitcast i32 %sticky to float
  %result = call half @__truncsfhf2(float %odd)
  ret half %result
}
"""
"""By way of a float rounded to odd, from which a second rounding gives the nearest half."""

FUNCTIONS: dict[str, tuple[str, ...]] = {
    "__extendhfsf2": (_TO_FLOAT,),
    "__truncsfhf2": (_FROM_FLOAT,),
    "__truncdfhf2": (_FROM_DOUBLE, _FROM_FLOAT),
}
"""The definitions, in LLVM IR, that each function needs."""

_ONE_ARGUMENT = ("ceil", "floor", "nearbyint", "rint", "round", "roundeven", "sqrt", "trunc")
C_LIBRARY = frozenset(
    {"memcpy", "memmove", "memset", "fma", "fmaf"} | {name + end for name in _ONE_ARGUMENT for end in ("", "f")}
)
"""What code may call of libc and libm, which every program can be linked with."""


def definitions(lacking: Iterable[str]) -> str:
    """LLVM IR that defines those of the functions that are known here; empty where none is.

    They are seen from inside the module only.  Calls of them are made after all passes, so they are kept alive.
    """
    known = [name for name in lacking if name in FUNCTIONS]
    if not known:
        return ""
    texts = dict.fromkeys(text for name in known for text in FUNCTIONS[name])
    kept = ", ".join(f"ptr @{name}" for name in known)
    used = f'@llvm.compiler.used = appending global [{len(known)} x ptr] [{kept}], section "llvm.metadata"\n'
    return "\n".join(texts) + used
