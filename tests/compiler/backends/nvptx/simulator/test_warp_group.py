"""`wgmma` multiplies what lies in shared memory as its descriptors say, by layouts written out element by element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from compiler.backends.nvptx.simulator import LaunchOptions, Machine, parse_ptx
from compiler.backends.nvptx.simulator.slicing import Values
from compiler.diagnostics import ParseError, UnsupportedError

HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"
THREADS = 128
ELEMENTS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "s8": np.int8,
    "u8": np.uint8,
}
SUMS = {"f32": np.float32, "f16": np.float16, "s32": np.int32}
WIDTHS = {0: 16, 1: 128, 2: 64, 3: 32}


@dataclass(frozen=True)
class Product:
    """One instruction: its columns and types, whether A and B lie across, their swizzles, and the other operands."""

    columns: int = 16
    types: tuple[str, str, str] = ("f32", "bf16", "bf16")
    across: tuple[int, int] = (0, 0)
    swizzles: tuple[int, int] = (1, 1)
    signs: tuple[int, int] = (1, 1)
    adds: int = 1
    has_registers: bool = False
    groups: int = 1
    modifiers: str = ""
    spare: int = 0

    @property
    def depth(self) -> int:
        return 32 // np.dtype(ELEMENTS[self.types[1]]).itemsize

    @property
    def sums(self) -> int:
        return self.columns // (4 if self.types[0] == "f16" else 2)


def placed(matrix: np.ndarray, swizzle: int, across: int, spare: int) -> tuple[np.ndarray, int, int]:
    """The bytes of a matrix of shape (rows, depth), and the leading and the stride offset."""
    width, size = WIDTHS[swizzle], matrix.itemsize
    rows, depth = matrix.shape
    memory: dict[int, bytes] = {}
    atom = 8 * width + spare
    if across and swizzle:
        leading, stride = 2 * atom, atom
    elif across:
        leading, stride = atom * (rows // 8), atom
    else:
        leading, stride = (atom, 2 * atom) if not swizzle else (16, atom)
    for row in range(rows):
        for term in range(depth):
            if across and swizzle:
                wide = width // size
                at = (row % wide) * size + (row // wide) * leading + (term % 8) * width + (term // 8) * stride
            elif across:
                at = (row % 8) * size + (row // 8) * stride + (term % 8) * 16 + (term // 8) * leading
            elif swizzle:
                at = (row % 8) * width + (row // 8) * stride + term * size
            else:
                per = 16 // size
                at = (row % 8) * 16 + (row // 8) * stride + (term % per) * size + (term // per) * leading
            bit = {16: 0, 32: 1, 64: 3, 128: 7}[width]
            at ^= (at >> 7 & bit) << 4
            memory[at] = matrix[row, term].tobytes()
    image = np.zeros(-(-(max(memory) + 16) // 1024) * 1024, np.uint8)
    for at, raw in memory.items():
        image[at : at + size] = np.frombuffer(raw, np.uint8)
    return image, leading, stride


def descriptor(start: int, leading: int, stride: int, swizzle: int) -> int:
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | swizzle << 62


def signed(bits: int) -> int:
    return bits - (1 << 64) if bits >> 63 else bits


def operands_of(product: Product) -> str:
    sums = "{" + ", ".join(f"%d{n}" for n in range(product.sums)) + "}"
    left = "{%a0, %a1, %a2, %a3}" if product.has_registers else "%da"
    found = [sums, left, "%db", "%adds"]
    if product.types[1] not in ("s8", "u8"):
        found += [str(sign) for sign in product.signs]
    if product.types[1] in ("f16", "bf16"):
        found += [str(way) for way in product.across[product.has_registers :]]
    return ", ".join(found)


def kernel(product: Product, image: int, descriptors: tuple[int, int]) -> str:
    """A kernel that copies an image into shared memory, multiplies once, and stores the sums as threads have them."""
    count, shape = product.sums, f"m64n{product.columns}k{product.depth}"
    name = f"wgmma.mma_async.sync.aligned.{shape}{product.modifiers}.{'.'.join(product.types)}"
    moved = image // THREADS // product.groups
    lines = [
        ".extern .shared .align 1024 .b8 s[];",
        ".visible .entry k(.param .u64 pi, .param .u64 pa, .param .u64 pc, .param .u64 pd)",
        "{ .reg .b64 %p<8>, %da, %db, %o; .reg .b32 %t, %y, %x, %a<4>; .reg .pred %adds;",
        f" .reg .b32 %d<{count}>;",
        " mov.u32 %t, %tid.x; ld.param.u64 %p0, [pi]; ld.param.u64 %p1, [pa]; ld.param.u64 %p2, [pc];",
        f" ld.param.u64 %p3, [pd]; mul.wide.u32 %o, %t, {moved}; add.u64 %p0, %p0, %o;",
        f" mov.u32 %y, s; mad.lo.u32 %y, %t, {moved}, %y;",
    ]
    lines += [f" ld.global.u32 %x, [%p0+{at}]; st.shared.u32 [%y+{at}], %x;" for at in range(0, moved, 4)]
    lines += [f" mul.wide.u32 %o, %t, {4 * count}; add.u64 %p2, %p2, %o; add.u64 %p3, %p3, %o;"]
    lines += [f" ld.global.u32 %d{n}, [%p2+{4 * n}];" for n in range(count)]
    lines += [" mul.wide.u32 %o, %t, 16; add.u64 %p1, %p1, %o;"]
    lines += [f" ld.global.u32 %a{n}, [%p1+{4 * n}];" for n in range(4)]
    lines += [
        f" setp.eq.u32 %adds, {product.adds}, 1;",
        f" mov.b64 %da, {signed(descriptors[0])}; mov.b64 %db, {signed(descriptors[1])};",
        " fence.proxy.async.shared::cta; bar.sync 0;",
        " wgmma.fence.sync.aligned;",
        f" {name} {operands_of(product)};",
        " wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
    ]
    lines += [f" st.global.u32 [%p3+{4 * n}], %d{n};" for n in range(count)]
    return HEADER + "\n".join([*lines, " ret;", "}"])


def of_threads(matrix: np.ndarray, per: int) -> np.ndarray:
    """A matrix of 64 rows as threads have it, a row for each: pairs (or as many as fit 32 bits) side by side."""
    columns = matrix.shape[1]
    registers = [[] for _ in range(THREADS)]
    for thread in range(THREADS):
        warp, group, within = thread // 32, thread % 32 // 4, thread % 4
        for column in range(0, columns, 4 * per):
            for down in (0, 8):
                at = column + within * per
                registers[thread] += list(matrix[16 * warp + group + down, at : at + per])
    return np.array(registers, matrix.dtype)


def numbers(product: Product, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    low = 0 if "u8" in product.types else -8
    a = rng.integers(low, 8, (64, product.depth)).astype(ELEMENTS[product.types[1]])
    b = rng.integers(low, 8, (product.columns, product.depth)).astype(ELEMENTS[product.types[2]])
    return a, b, rng.integers(-50, 50, (64, product.columns)).astype(SUMS[product.types[0]])


def multiplied(run_kernel, product: Product, given=None, **options) -> tuple[np.ndarray, np.ndarray]:
    """The sums that threads have, and those that they ought to have."""
    a, b, c = given or numbers(product)
    sizes = product.swizzles, product.across
    left, a_leading, a_stride = placed(a, sizes[0][0], sizes[1][0], product.spare)
    right, b_leading, b_stride = placed(b, sizes[0][1], sizes[1][1], product.spare)
    descriptors = (
        descriptor(0, a_leading, a_stride, sizes[0][0]),
        descriptor(left.size, b_leading, b_stride, sizes[0][1]),
    )
    image = np.concatenate([left, right])
    text = kernel(product, image.size, descriptors)
    threads = THREADS * product.groups
    fragment = of_threads(a, 4 // a.itemsize).view(np.uint32)
    sums = np.tile(np.ascontiguousarray(of_threads(c, 2)).view(np.uint32), (product.groups, 1))
    # A of registers is in the order of `mma`: the upper and the lower rows of some columns, then of the others.
    arrays = image, np.tile(fragment, (product.groups, 1)), sums, np.zeros_like(sums)
    *_, d = run_kernel(text, *arrays, block=(threads, 1, 1), shared_bytes=image.size, **options)
    wide = np.float64 if product.types[0] != "s32" else np.int64
    total = product.signs[0] * a.astype(wide) @ (product.signs[1] * b.astype(wide)).T
    expected = (total + c.astype(wide) if product.adds else total).astype(c.dtype)
    return d, np.tile(np.ascontiguousarray(of_threads(expected, 2)).view(np.uint32), (product.groups, 1))


def products() -> Iterator[Product]:
    for types in (("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16")):
        for across in ((0, 0), (0, 1), (1, 0), (1, 1)):
            for swizzles in ((0, 0), (1, 1), (2, 2), (3, 3), (1, 3)):
                yield Product(64, types, across, swizzles, spare=1024 if swizzles == (1, 1) else 0)
    for types in (("f32", "tf32", "tf32"), *(("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8"))):
        for swizzles in ((0, 0), (1, 1), (2, 2), (3, 3)):
            yield Product(24, types, swizzles=swizzles)


def name_of(product: Product) -> str:
    return "-".join([*product.types, *map(str, (*product.across, *product.swizzles)), str(product.columns)])


@pytest.mark.parametrize("product", list(products()), ids=name_of)
def test_a_product_is_that_of_the_matrices_that_its_descriptors_name(run_kernel, product):
    found, expected = multiplied(run_kernel, product)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("columns", [8, 16, 40, 248, 256])
@pytest.mark.parametrize("types", [("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "tf32", "tf32")])
def test_columns_are_any_number_of_eights(run_kernel, columns, types):
    found, expected = multiplied(run_kernel, Product(columns, types))
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("types", [("f32", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32")])
@pytest.mark.parametrize("has_registers", [False, True])
@pytest.mark.parametrize("signs", [(1, 1), (-1, 1), (1, -1), (-1, -1)])
@pytest.mark.parametrize("adds", [0, 1])
def test_signs_and_scales_and_registers(run_kernel, types, has_registers, signs, adds):
    found, expected = multiplied(run_kernel, Product(16, types, signs=signs, adds=adds, has_registers=has_registers))
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("types", [("s32", "s8", "s8"), ("s32", "u8", "u8"), ("s32", "s8", "u8")])
def test_a_may_be_in_registers_for_integers_too(run_kernel, types):
    found, expected = multiplied(run_kernel, Product(32, types, has_registers=True))
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("groups", [2, 3])
def test_each_group_multiplies_for_itself(run_kernel, groups):
    found, expected = multiplied(run_kernel, Product(16, groups=groups))
    assert found.tolist() == expected.tolist()


def test_old_sums_do_not_matter_where_they_are_not_added(run_kernel):
    product = Product(16, adds=0)
    a, b, c = numbers(product)
    found, expected = multiplied(run_kernel, product, (a, b, np.full_like(c, np.nan)))
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(("modifiers", "expected"), [("", -(2**31)), (".satfinite", 2**31 - 1)])
def test_integers_wrap_or_saturate(run_kernel, modifiers, expected):
    product = Product(16, ("s32", "s8", "s8"), modifiers=modifiers)
    a, b, c = numbers(product)
    a[:], b[:], c[:] = 0, 0, 2**31 - 1
    a[:, 0] = b[:, 0] = 1
    found, _ = multiplied(run_kernel, product, (a, b, c))
    assert np.unique(found.view(np.int32)).tolist() == [expected]


def test_a_product_rounds_once(run_kernel):
    """What is lost where sums are rounded one by one."""
    product = Product(16)
    a, b, c = numbers(product)
    a[:], b[:] = 1, np.array(2.0**-12)
    c[:] = 2.0**12
    found, expected = multiplied(run_kernel, product, (a, b, c))
    assert found.tolist() == expected.tolist()
    assert np.unique(found.view(np.float32)).tolist() == [2.0**12 + 2.0**-8]


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, -0.0])
def test_special_values_pass(run_kernel, special):
    product = Product(16, ("f32", "f16", "f16"))
    a, b, c = numbers(product)
    a[3, 2], a[3, 3:], a[3, :2] = special, 0, 0
    b[:], c[:] = 1, -0.0
    found, expected = (np.asarray(x).view(np.float32) for x in multiplied(run_kernel, product, (a, b, c)))
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("values", Values)
@pytest.mark.parametrize("has_registers", [False, True])
def test_operands_are_read_from_shared_memory_once_for_all_warps(values, has_registers):
    product, stored = Product(256, has_registers=has_registers, groups=2), (64 + 256) * 32
    offsets = 128 >> 4 << 16 | 256 >> 4 << 32
    module = parse_ptx(kernel(product, stored, (offsets, offsets | 64 * 32 >> 4)))
    machine = Machine()
    arrays = [machine.allocate(1 << 18, initialised=True) for _ in range(4)]
    options = LaunchOptions(profile=True, values=values)
    found = machine.launch(module, "k", (1, 1, 1), (256, 1, 1), arrays, shared_bytes=stored, options=options)
    assert found.profile is not None
    read = stored - (64 * 32 if has_registers else 0)
    assert found.profile.least_shared_passes == (stored + product.groups * read) // 128


NOT_THERE = [
    "m64n12k16.f32.bf16.bf16",
    "m64n264k16.f32.bf16.bf16",
    "m64n40k32.s32.s8.s8",
    "m64n16k8.f32.bf16.bf16",
    "m128n16k16.f32.bf16.bf16",
    "m64n16k16.f16.bf16.bf16",
    "m64n16k16.f32.f16.bf16",
    "m64n16k16.satfinite.f32.f16.f16",
]


@pytest.fixture(name="with_line")
def _with_line(body_kernel):
    """A kernel of one instruction with 8 sums."""

    def text(line: str) -> str:
        return HEADER + body_kernel(f".reg .b32 %d<8>; {line}")

    return text


def one_line(name: str) -> str:
    columns = int(re.search(r"n(\d+)k", name)[1])
    sums = ", ".join(f"%d{n % 8}" for n in range(columns // (4 if ".f16." in name[:15] else 2)))
    others = "1" if "s8" in name else "1, 1, 1, 0, 0"
    return f"wgmma.mma_async.sync.aligned.{name} {{{sums}}}, %rd1, %rd2, {others};"


@pytest.mark.parametrize("name", [*NOT_THERE, "m64n16k32.f32.e4m3.e4m3"])
def test_what_there_is_not_is_refused(run_kernel, with_line, name):
    with pytest.raises(UnsupportedError, match=re.escape(name)):
        run_kernel(with_line(one_line(name)), np.zeros(128, np.uint32), block=(128, 1, 1))


@pytest.mark.parametrize("name", NOT_THERE)
def test_the_assembler_refuses_it_too(assemble, with_line, name):
    assert assemble(with_line(one_line(name)), "sm_90a") != ""


MALFORMED = [
    "{SUMS}, %rd1, %rd2, 1, 1, 1, 0",
    "{SUMS}, %rd1, %rd2, 1, 1, 1, 0, 0, 0",
    "{SUMS}, %rd1, %rd2, 1, 1, 2, 0, 0",
    "{SUMS}, %rd1, %rd2, 1, 1, 1, 0, 2",
    "{%d0, %d1}, %rd1, %rd2, 1, 1, 1, 0, 0",
    "{SUMS}, {%r0, %r1}, %rd2, 1, 1, 1, 0",
    "{SUMS}, {%r0, %r1, %r2, %r3}, %rd2, 1, 1, 1, 0, 0",
    "{TWICE}, %rd1, %rd2, 1, 1, 1, 0, 0",
]


@pytest.mark.parametrize("operands", MALFORMED)
def test_operands_that_do_not_fit_are_refused(run_kernel, with_line, operands):
    sums = ", ".join(f"%d{n}" for n in range(8))
    written = operands.replace("SUMS", sums).replace("TWICE", ", ".join(["%d0"] * 8))
    line = f"wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {written};"
    with pytest.raises(ParseError):
        run_kernel(with_line(line), np.zeros(128, np.uint32), block=(128, 1, 1))


def test_the_kernels_are_valid_ptx(assemble):
    picked = [Product(16), Product(16, has_registers=True), Product(24, ("f32", "tf32", "tf32"))]
    picked += [Product(32, ("s32", "s8", "s8"), modifiers=".satfinite"), Product(16, ("f16", "f16", "f16"))]
    for product in picked:
        assert assemble(kernel(product, 4096, (0, 0)), "sm_90a") == ""
