"""A program as it leaves the compiler survives being bytes, and says of arrays what their callers must know.

Compiling a program again gives the same bytes: in another process, with other hashes, beside other programs.
"""

import os
import subprocess
import sys

import pytest

import compiler
from compiler import CompileOptions
from compiler.backends.cpu.image import Image, ImageArray, arrays, leaf
from xlabench.cases.suite import load_suite

IMAGE = Image(
    objects=(b"\0first\xff", b"", b"third"),
    kernels=("tanh.1", "söt"),
    parameters=(ImageArray("f32", (2, 3), "f32[2,3]"), ImageArray("pred", (), "pred[]")),
    results=(ImageArray("bf16", (0,), "bf16[0]"),),
    arena_bytes=64,
    lower_bound_bytes=60,
    threads=2,
    shared_work=1 << 40,
    releases_lock=True,
)


PROGRAMS = {program.name: program.path for program in load_suite("corpus").programs}
KINDS = (
    "lenet_train_step", "mnist_softmax_step", "sort_64k", "fft_batch_1024", "attention_causal", "conv_grads",
    "kmeans_step", "lstm_scan",
)  # fmt: skip
"""Programs with kernels of every kind, of many units and of few."""

SCRIPT = """
import hashlib, sys
import compiler
from compiler import CompileOptions
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        executable = compiler.compile(file.read(), options=CompileOptions(threads=2))
    print(path, *(hashlib.sha256(code).hexdigest() for code in executable.image.objects))
"""


def shape(text):
    return compiler.parse(f"ENTRY e {{ ROOT x = {text} parameter(0) }}").entry.root.shape


def test_what_was_bytes_is_the_same_image_to_the_type_of_its_tuples():
    again = Image.from_bytes(IMAGE.to_bytes())
    assert again == IMAGE
    assert isinstance(again.parameters[0], ImageArray)
    assert hash(again) == hash(IMAGE)


def test_a_program_without_objects_kernels_and_arrays_is_one_too():
    empty = Image((), (), (), (), 0, 0, 1, 0, releases_lock=False)
    assert Image.from_bytes(empty.to_bytes()) == empty


def test_arrays_are_the_leaves_without_tokens_and_without_layouts():
    found = arrays(shape("f32[2,3]{0,1}"), shape("(token[], (s8[], c64[4]))"))
    assert found == (
        ImageArray("f32", (2, 3), "f32[2,3]"),
        ImageArray("s8", (), "s8[]"),
        ImageArray("c64", (4,), "c64[4]"),
    )
    assert [leaf(array).size_bytes for array in found] == [24, 1, 32]


def test_an_image_says_what_was_compiled():
    text = "ENTRY e { x = f32[8] parameter(0)  ROOT y = f32[8] tanh(x) }"
    image = compiler.compile(text, backend="cpu", options=CompileOptions(opt=0)).image
    assert (image.parameters, image.results) == (
        (ImageArray("f32", (8,), "f32[8]"),),
        (ImageArray("f32", (8,), "f32[8]"),),
    )
    assert len(image.kernels) == 1
    assert image.objects
    assert not image.releases_lock, "it is over before another thread could have begun"


def test_the_lock_is_given_up_where_a_loop_may_take_long():
    text = """
    below { i = s32[] parameter(0)  n = s32[] constant(3)  ROOT c = pred[] compare(i, n), direction=LT }
    next { i = s32[] parameter(0)  one = s32[] constant(1)  ROOT j = s32[] add(i, one) }
    ENTRY e { i = s32[] parameter(0)  ROOT w = s32[] while(i), condition=below, body=next }"""
    assert compiler.compile(text, backend="cpu", options=CompileOptions(opt=0)).image.releases_lock


def objects(paths, seed):
    """For each program the digests of its object files, compiled one after the other by a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, "-c", SCRIPT, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=600)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.slow
def test_object_files_are_the_same_whatever_the_hashes_and_whatever_was_compiled_before():
    paths = [PROGRAMS[name] for name in KINDS]
    first, second = objects(paths, seed=1), objects(paths[::-1], seed=2)
    assert len(first) == len(KINDS)
    assert first == second
