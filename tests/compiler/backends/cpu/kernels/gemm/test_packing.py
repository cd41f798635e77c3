"""What packs a factor is the same for every size, where it is copied in vectors; results are those of plain packing."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.backends.cpu.kernels.gemm import packing
from compiler.backends.cpu.kernels.gemm.pack import Panels, Rows
from compiler.backends.cpu.kernels.gemm.product import Array, Narrow, Operand
from compiler.backends.cpu.kernels.gemm.vnni import FLIP, WordFactor
from compiler.codegen.llvm_ir import PTR, Module, Value, integer, written_once
from compiler.options import CompileOptions


def never(*_):
    raise AssertionError("a routine reads in vectors")


def matrix(row, column):
    return Array(lambda _b, _batch: Value(PTR, "%source"), row, column)


def plain(apart):
    """Neighbours along the rows of the right factor."""
    return Operand(never, row_major=True, array=matrix(apart, 1)).transposed()


def words(type_, group, *, signed=True):
    def made(apart):
        factor = WordFactor(Narrow(type_, never, signed, matrix(apart, 1)), group, 512, down=True, checks=True)
        return factor.operand(row_major=True).transposed()

    return made


def flipped(apart):
    """Rows of the left factor whose bytes are made unsigned."""
    factor = WordFactor(
        Narrow("i8", never, signed=True, array=matrix(apart, 1)), 4, 512, down=False, flip=FLIP.literal != 0
    )
    return factor.operand(row_major=True)


COPIED = {
    "floats": ("float", plain),
    "bf16": ("i32", words("bfloat", 2)),
    "bytes": ("i32", words("i8", 4)),
    "unsigned bytes": ("i32", words("i8", 4, signed=False)),
    "widened bytes": ("i32", words("i8", 2)),
    "widened unsigned bytes": ("i32", words("i8", 2, signed=False)),
    "halves": ("i32", words("i16", 2)),
}


def panels(type_, operand, *, count=3, depth=64, most=None, ahead=0, width=64):
    sizes = {"width": width, "last": width, "count": count, "depth": depth, "pad": 16, "most": most, "ahead": ahead}
    return Panels(operand, type_, 16, **sizes, whole=True, head=1, gap=1)


def rows(operand, depth=64):
    return Rows(operand, "i32", 16, 6, depth, whole=True)


def packed(factor):
    """The routine that packs a factor: its name and its text."""
    module = Module()
    function = module.function("caller", "void", [(PTR, "source"), (PTR, "target")])
    b = packing.Builder(function)
    steps = packing.Steps(integer(0), integer(0), integer(64))
    target = function.arguments[1]
    assert packing.pack_as_routine(b, factor, steps, packing.Range(integer(0), integer(3)), target)
    (routine,) = [function for function in module.functions if function.routine]
    return routine.name, re.sub(r"!\d+", "!", str(routine))


ALIKE = {
    **{
        name: (panels(t, made(512)), panels(t, made(96), count=7, depth=128, most=81))
        for name, (t, made) in COPIED.items()
    },
    "rows": (rows(flipped(512)), rows(flipped(2048), depth=1024)),
    "from far away": (panels("float", plain(512), ahead=32), panels("float", plain(768), ahead=32)),
    "narrow": (panels("float", plain(512), width=32), panels("float", plain(128), width=32)),
}


@pytest.fixture
def _forgetful(monkeypatch):
    """Every routine is written anew, so that texts can differ."""
    monkeypatch.setattr(written_once, "_WRITTEN", {})
    monkeypatch.setattr(written_once, "_MOST", 0)


@pytest.mark.usefixtures("_forgetful")
@pytest.mark.parametrize("name", ALIKE)
def test_sizes_share_a_routine(name):
    one, other = map(packed, ALIKE[name])
    assert one == other


@pytest.mark.usefixtures("_forgetful")
def test_what_is_packed_otherwise_is_another_routine():
    routines = [packed(first) for first, _ in ALIKE.values()]
    assert len(set(routines)) == len({name for name, _ in routines}) == len(ALIKE)


OTHERS = {
    "a last panel that is narrower": replace(panels("float", plain(512)), last=40),
    "columns that end within a vector": panels("float", plain(512), width=40),
    "rows along k": panels("float", Operand(never, array=matrix(512, 1))),
    "neighbours in neither direction": panels("float", Operand(never, array=matrix(512, 2)).transposed()),
    "something computed": panels("float", Operand(never).transposed()),
    "short runs": panels("float", Operand(never, vector=never, run=4).transposed()),
    "a rest of a row": Rows(flipped(512), "i32", 16, 6, 64, whole=False),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_copied_whole_is_no_routine(name):
    module = Module()
    b = packing.Builder(module.function("caller", "void", []))
    steps = packing.Steps(integer(0), integer(0), integer(64))
    bounds = packing.Range(integer(0), integer(3))
    assert not packing.pack_as_routine(b, OTHERS[name], steps, bounds, Value(PTR, "null"))


TYPES = ("f32", "f64", "s8", "u8", "bf16")
SIZES = [(192, 256, 192), (70, 260, 130), (512, 192, 64), (97, 128, 161)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("element_type", TYPES)
def test_products_of_many_sizes_in_one_process(element_type, threads):
    rng = np.random.default_rng(7)
    total = "s32" if element_type in ("s8", "u8") else "f32" if element_type == "bf16" else element_type
    for (m, k, n), batch in itertools.product(SIZES, (1, 2)):
        text = f"""ENTRY e {{ a = {element_type}[{batch},{m},{k}] parameter(0)
          b = {element_type}[{batch},{k},{n}] parameter(1)
          ROOT d = {total}[{batch},{m},{n}] dot(a, b), lhs_batch_dims={{0}}, rhs_batch_dims={{0}},
          lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}} }}"""
        module = compiler.parse(text)
        given = [p.array for p in module.entry.parameters]
        a, b = (rng.integers(0, 8, one.dims).astype(one.element_type.dtype) for one in given)
        (found,) = compiler.compile(module, options=CompileOptions(threads=threads))(a, b)
        np.testing.assert_array_equal(found.astype("f8"), a.astype("f8") @ b.astype("f8"))
