"""A loaded module's variables, and the block of a launch's arguments."""

import struct

import numpy as np
import pytest

from compiler.backends.nvptx.simulator import parse_ptx
from compiler.backends.nvptx.simulator.image import Image, encode_arguments
from compiler.backends.nvptx.simulator.memory import GLOBAL_BASE, Arena
from compiler.diagnostics import CompilerError

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"


def placed(variables):
    arena = Arena()
    image = Image.load(parse_ptx(HEADER + variables), arena)
    return lambda name, size: arena.data[image.addresses[name] - GLOBAL_BASE :][:size].tobytes()


def test_variables_hold_what_they_begin_with_and_zeros_behind_it():
    read = placed(".global .align 4 .u32 a[4] = {1, 2};\n.const .align 2 .u16 b = 65535;\n.global .f64 c = 1.5;")
    assert read("a", 16) == struct.pack("<4I", 1, 2, 0, 0)
    assert read("b", 2) == b"\xff\xff"
    assert read("c", 8) == struct.pack("<d", 1.5)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("letter", "bus")
def test_integers_of_all_widths_are_taken_by_their_low_bits(bits, letter):
    numbers = [0, -1, 1 << bits - 1, -(1 << bits - 1), (1 << bits) - 1, 7]
    listed = ", ".join(map(str, numbers))
    read = placed(f".global .align 8 .{letter}{bits} a[6] = {{{listed}}};")
    held = np.array([number % (1 << bits) for number in numbers], f"u{bits // 8}")
    assert read("a", held.nbytes) == held.tobytes()


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_integers_of_a_float_are_its_value(kind):
    read = placed(f".global .align 8 .{kind} a[3] = {{1, -2, 3.5}};\n.global .align 8 .{kind} b[2] = {{1, -2}};")
    held = np.array([1, -2, 3.5], f"f{int(kind[1:]) // 8}")
    assert (read("a", held.nbytes), read("b", held[:2].nbytes)) == (held.tobytes(), held[:2].tobytes())


def test_an_address_may_be_what_a_variable_holds():
    text = ".global .align 4 .u32 a[4];\n.global .align 8 .u64 p[2] = {a, a+8};"
    arena = Arena()
    image = Image.load(parse_ptx(HEADER + text), arena)
    at = image.addresses["p"] - GLOBAL_BASE
    first, second = struct.unpack("<2Q", arena.data[at : at + 16].tobytes())
    assert (first, second) == (image.addresses["a"], image.addresses["a"] + 8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (".extern .global .u32 a;", "external variable 'a'"),
        (".shared .u32 s;\n.global .u64 a = s;", "the address of 's' in 'a'"),
        (".global .u16 a[2] = {1, 2, 3};", "'a'"),
    ],
)
def test_what_cannot_be_placed_is_named(text, said):
    with pytest.raises(CompilerError, match=said):
        placed(text)


KERNEL = """.visible .entry k(.param .u32 n, .param .f32 x, .param .u64 p, .param .align 4 .b8 block[12], .param .b16 h)
{ ret; }"""


def kernel():
    return parse_ptx(HEADER + KERNEL).functions["k"]


def test_arguments_lie_where_the_parameters_are():
    block = encode_arguments(kernel(), [7, 1.5, 1 << 40, b"abcdefghijkl", np.float16(2)])
    expected = struct.pack("<IfQ", 7, 1.5, 1 << 40) + b"abcdefghijkl" + np.float16(2).tobytes()
    assert block == expected


@pytest.mark.parametrize(
    ("number", "argument", "said"),
    [
        (0, 1.5, "n is .u32, 1.5 is no integer"),
        (0, b"abc", "n has 4 bytes, 3 given"),
        (2, np.float32(1), "p has 8 bytes, 4 given"),
        (3, 1, "block is an array of 12 bytes; give bytes"),
    ],
)
def test_an_argument_that_does_not_fit_is_refused(number, argument, said):
    arguments = [7, 1.5, 1, b"x" * 12, np.float16(2)]
    arguments[number] = argument
    with pytest.raises(CompilerError, match=said):
        encode_arguments(kernel(), arguments)


def test_arguments_are_as_many_as_parameters():
    with pytest.raises(CompilerError, match="5 parameters, 1 arguments"):
        encode_arguments(kernel(), [1])
