"""Words that sorts in registers move: an element's key above, its position below, so that no two are equal."""

from __future__ import annotations

from compiler.codegen.llvm_ir import I32, Builder, Value, integer

POSITION_BITS = 16
"""Low bits of a word of 32, which hold its position; as many are left for a key."""


def narrow_word(builder: Builder, key: Value, position: Value, exists: Value) -> Value:
    """The word of 32 bits of an element; behind all others where there is none.

    Args:
        builder: where code is emitted.
        key: what the order is decided by, an unsigned integer.
        position: of the element in its line or chunk.
        exists: whether there is one, an i1.
    """
    wide = key if key.type == I32 else builder.cast("zext", key, I32)
    high = builder.binary("shl", builder.select(exists, wide, integer(-1, I32)), integer(POSITION_BITS, I32))
    return builder.binary("or", high, builder.cast("trunc", position, I32))
