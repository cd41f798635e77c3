"""Calls of ops that draw random numbers."""

import numpy as np
from op_values import ints, numbers

from compiler.graph import BY_NAME

INT32, INT64 = BY_NAME["int32"], BY_NAME["int64"]
SIZES = ((3, 7), (), (2, 0))


def seeded(element_type):
    del element_type
    for number, dims in enumerate(SIZES):
        yield {"T": INT32, "Tseed": INT64}, [ints(*dims), np.array([7 * number - 2, 1 << 40])]
    yield {"T": INT64, "Tseed": INT32}, [np.array([6]), ints(-3, 5)]


def keyed(element_type):
    del element_type
    for dims in SIZES:
        key, counter = np.array([0x123456789ABCDEF0], np.uint64), np.array([(1 << 64) - 2, 5], np.uint64)
        yield {}, [ints(*dims), key, counter, np.array(1, np.int32)]


def bounded(rows):
    def made(element_type):
        low = -5 if element_type.is_signed else 3
        for attributes, given in rows(element_type):
            bounds = [np.array(one, element_type.dtype) for one in (low, 1000)]
            yield attributes, [*given, *bounds]

    return made


def stated(element_type):
    del element_type
    for number, dims in enumerate(SIZES):
        yield {"T": INT32, "seed": 87654321, "seed2": number + 1}, [ints(*dims)], 1
    yield {"T": INT64, "seed": 0, "seed2": -5}, [np.array([33])], 1


def stated_between(element_type):
    for attributes, given, count in stated(element_type):
        yield attributes, [*given, *(np.array(one, element_type.dtype) for one in (-5, 1000))], count


def _parameters(element_type):
    """Parameters around 1, where the method changes, far from it, and what makes no distribution."""
    yield np.array([0.5, 1, 1.5, 1e-2, 40], element_type.dtype), (6,)
    yield np.array([[0.9], [1]], element_type.dtype), (2, 3)
    yield np.array(2.5, element_type.dtype), (7,)
    yield np.array([0, -1, np.nan, np.inf], element_type.dtype), (3,)
    yield np.array([1, 2], element_type.dtype), (0,)


def gammas(element_type):
    for number, (alpha, dims) in enumerate(_parameters(element_type)):
        stated = {"S": INT32, "seed": 87654321, "seed2": number + 1}
        yield stated, [ints(*dims), alpha], 1


def seeded_gammas(element_type):
    for number, (alpha, dims) in enumerate(_parameters(element_type)):
        seed = np.array([7 * number - 2, 1 << 40])
        yield {"T": INT32, "Tseed": INT64}, [ints(*dims, *alpha.shape), seed, alpha]


def keyed_gammas(element_type):
    for alpha, dims in _parameters(element_type):
        key, counter = np.array([0x123456789ABCDEF0], np.uint64), np.array([(1 << 64) - 2, 5], np.uint64)
        yield {}, [ints(*dims, *alpha.shape), key, counter, np.array(1, np.int32), alpha]


def seeds(element_type):
    for pair in ((1, 2), (-7, 1 << 30)):
        yield {}, [np.array(pair, element_type.dtype)]


def nothing(_element_type):
    yield {}, []


def _logits(element_type):
    yield numbers(element_type, 1, 5) / element_type.dtype.type(4)
    yield np.array([[-np.inf, 0, 1], [2, -np.inf, -30], [0, 0, 0]]).astype(element_type.dtype)
    yield np.zeros((0, 3), element_type.dtype)


def choices(element_type):
    for number, logits in enumerate(_logits(element_type)):
        yield {"output_dtype": INT32, "seed": 87654321, "seed2": number + 1}, [logits, np.array(7, np.int32)], 1


def seeded_choices(element_type):
    for number, logits in enumerate(_logits(element_type)):
        yield {"output_dtype": INT64, "Tseed": INT64}, [logits, np.array(5, np.int32), np.array([number, 1 << 40])]


def orders(element_type):
    for number, dims in enumerate(((7,), (5, 2), (1, 3), ())):
        yield {"seed": 1234, "seed2": number + 1}, [numbers(element_type, *dims)], 1


_GENERATOR = np.array([-3, 5, 0x123456789ABCDEF0])
_ALGORITHM = np.array(1)


def held(element_type):
    del element_type
    for dims in SIZES:
        yield {"shape_dtype": INT32}, [_GENERATOR, _ALGORITHM, ints(*dims)]


def held_between(element_type):
    for attributes, given in held(element_type):
        yield attributes, [*given, *(np.array(one, element_type.dtype) for one in (3, 1000))]


def skips(_element_type):
    yield {}, [_GENERATOR, _ALGORITHM, np.array(5)]


def read_and_skips(_element_type):
    yield {}, [_GENERATOR, np.array(1, np.int32), np.array(5, np.uint64)]
