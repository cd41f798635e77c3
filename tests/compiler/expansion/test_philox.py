"""Random bits are those of Philox as it is published, and of NumPy's generator of that name."""

import numpy as np
import pytest

import compiler
from compiler.expansion.expression import Expression
from compiler.expansion.philox import joined, low_high, philox

VECTORS = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]
"""Counter, key and result from the known answers of Random123."""


@pytest.mark.parametrize(("counter", "key", "words"), VECTORS)
def test_the_words_are_those_that_are_published(counter, key, words):
    lines = " ".join(f"x{n} = u32[] parameter({n})" for n in range(6))
    module = compiler.parse(f"ENTRY e {{ {lines} ROOT r = u32[] copy(x0) }}")
    given = [Expression(one) for one in module.entry.parameters]
    for word, made in zip(words, philox(given[:4], (given[4], given[5])), strict=True):
        module.entry.root = made.instruction
        assert compiler.interpret(module, *np.array([*counter, *key], np.uint32))[0] == word


@pytest.mark.parametrize("value", [0, 1, (1 << 64) - 1, 0x123456789ABCDEF0])
def test_two_words_are_one_number_and_back(value):
    module = compiler.parse("ENTRY e { ROOT x = u64[] parameter(0) }")
    x = Expression(module.entry.root)
    module.entry.root = joined(*low_high(x)).instruction
    assert compiler.interpret(module, np.uint64(value))[0] == value
