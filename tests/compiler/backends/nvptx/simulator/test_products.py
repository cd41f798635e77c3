"""A product on its way is watched: whatever fence, wait or barrier is taken out of a kernel that is right, it tells."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from compiler.backends.nvptx.simulator import SimulationError

SLICES, STAGES, THREADS = 5, 4, 128
MATRIX_BYTES = 64 * 32
"""Of 64 rows of 16 terms: a piece of 16 bytes for each thread."""
SLICE_BYTES = 2 * MATRIX_BYTES
OFFSETS = 128 >> 4 << 16 | 256 >> 4 << 32
"""Without a swizzle: from one piece of a row to the next one, and from 8 rows to the next ones."""
SUMS = 32
FENCE, COMMIT, WAIT = (f"wgmma.{name}.sync.aligned" for name in ("fence", "commit_group", "wait_group"))
PROXY = "fence.proxy.async.shared::cta;"
NAME = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
LIST = "{" + ", ".join(f"%d{n}" for n in range(SUMS)) + "}"


def product(stage: int, sums: str = LIST) -> str:
    at = stage * SLICE_BYTES
    return "\n".join(
        [
            f" add.u64 %da, %desc, {at >> 4}; add.u64 %db, %desc, {at + MATRIX_BYTES >> 4};",
            f" {NAME} {sums}, %da, %db, 1, 1, 1, 0, 0;",
        ]
    )


def copies(slice_: int) -> list[str]:
    """Each thread copies a piece of either matrix."""
    to, source = slice_ % STAGES * SLICE_BYTES, slice_ * SLICE_BYTES
    if slice_ >= SLICES:
        return [" cp.async.commit_group;"]
    both = (0, MATRIX_BYTES)
    return [
        *(f" cp.async.cg.shared.global [%y+{to + at}], [%g+{source + at}], 16;" for at in both),
        " cp.async.commit_group;",
    ]


def stores(slice_: int) -> list[str]:
    """Each thread loads a piece of either matrix and stores it."""
    to, source = slice_ % STAGES * SLICE_BYTES, slice_ * SLICE_BYTES
    if slice_ >= SLICES:
        return []
    words = [at + 4 * n for at in (0, MATRIX_BYTES) for n in range(4)]
    return [f" ld.global.u32 %x, [%g+{source + at}]; st.shared.u32 [%y+{to + at}], %x;" for at in words]


def kernel(fetch: Callable[[int], list[str]] = copies) -> str:
    """Sums over slices, of which two are fetched ahead while a product is on its way."""
    lines = [
        ".version 8.0\n.target sm_90a\n.address_size 64",
        f".shared .align 1024 .b8 s[{STAGES * SLICE_BYTES}];",
        ".visible .entry k(.param .u64 pi, .param .u64 po)",
        "{ .reg .b64 %g, %p, %o, %desc, %da, %db; .reg .b32 %t, %l, %y, %x, %z; .reg .pred %q;",
        f" .reg .b32 %d<{SUMS}>, %e<{SUMS}>, %a<4>;",
        " mov.u32 %t, %tid.x; and.b32 %l, %t, 127; ld.param.u64 %g, [pi]; ld.param.u64 %p, [po];",
        " mul.wide.u32 %o, %l, 16; add.u64 %g, %g, %o; mov.u32 %y, s; mad.lo.u32 %y, %l, 16, %y;",
        f" mul.wide.u32 %o, %t, {4 * SUMS}; add.u64 %p, %p, %o; mov.u64 %desc, s; shr.u64 %desc, %desc, 4;",
        f" or.b64 %desc, %desc, {OFFSETS}; setp.lt.u32 %q, %t, 32;",
        *(f" mov.b32 %d{n}, 0;" for n in range(SUMS)),
        *fetch(0),
        *fetch(1),
    ]
    for slice_ in range(SLICES):
        lines += [" cp.async.wait_group 1;", f" {PROXY}", f" {WAIT} 1;", " bar.sync 0;", *fetch(slice_ + 2)]
        lines += [f" {FENCE};", product(slice_ % STAGES), f" {COMMIT};"]
    lines += [f" {WAIT} 0;", *(f" st.global.b32 [%p+{4 * n}], %d{n};" for n in range(SUMS)), " ret;", "}"]
    return "\n".join(lines)


def matrices() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-8, 8, (2, SLICES, 64, 16))
    return a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16)


def image() -> np.ndarray:
    a, b = (
        m.reshape(SLICES, 8, 8, 2, 8).transpose(0, 1, 3, 2, 4).reshape(SLICES, -1).view(np.uint8) for m in matrices()
    )
    return np.concatenate([a, b], axis=1)


def run(run_kernel, text: str, threads: int = THREADS) -> np.ndarray:
    _, left = run_kernel(text, image(), np.zeros((threads, SUMS), np.float32), block=(threads, 1, 1))
    return left


def found(run_kernel, text: str, threads: int = THREADS) -> tuple[str, str]:
    """The kind of error that a kernel ends with, and the instruction that is blamed for it."""
    with pytest.raises(SimulationError) as caught:
        run(run_kernel, text, threads)
    span = caught.value.span
    return caught.value.kind, text[span.start : span.end]


def edited(text: str, old: str, new: str, number: int = -1) -> str:
    """A text with something put instead of what stands in it so often, once or everywhere."""
    pieces = text.split(old)
    assert len(pieces) > 1, old
    if number < 0:
        return new.join(pieces)
    return old.join(pieces[: number + 1]) + new + old.join(pieces[number + 1 :])


@pytest.mark.parametrize("fetch", [copies, stores])
def test_the_kernel_is_right(run_kernel, fetch):
    left = run(run_kernel, kernel(fetch))
    a, b = (m.astype(np.float64) for m in matrices())
    total = np.matmul(a, b.transpose(0, 2, 1)).sum(axis=0)
    for thread in range(THREADS):
        row, column = 16 * (thread // 32) + thread % 32 // 4, 2 * (thread % 4)
        expected = [total[row + down, column + 8 * n + i] for n in range(8) for down in (0, 8) for i in (0, 1)]
        assert left[thread].tolist() == expected


TAKEN_OUT = {
    "the wait for copies": ("cp.async.wait_group 1;", "", "uninitialised", NAME),
    "the fence of proxies": (PROXY, "", "unfenced", NAME),
    "the barrier": ("bar.sync 0;", "", "unfenced", NAME),
    "the fence of registers": (f"{FENCE};", "", "unfenced", NAME),
    "the wait for products": (f"{WAIT} 1;", "", "in-flight", "cp.async"),
    "the commitment": (f"{COMMIT};", "", "in-flight", "cp.async"),
    "the last wait": (f"{WAIT} 0;", "", "in-flight", "st.global"),
    "most of a wait": (f"{WAIT} 1;", f"{WAIT} 3;", "in-flight", "cp.async"),
    "the scope of a fence": (PROXY, "fence.proxy.async.global;", "unfenced", NAME),
    "a fence's proxy": (PROXY, "fence.acq_rel.cta;", "unfenced", NAME),
}


@pytest.mark.parametrize(("old", "new", "kind", "blamed"), TAKEN_OUT.values(), ids=TAKEN_OUT)
def test_what_is_taken_out_tells(run_kernel, old, new, kind, blamed):
    told, instruction = found(run_kernel, edited(kernel(), old, new))
    assert told == kind
    assert instruction.startswith(blamed)


REUSED = 2
"""The barrier behind which a stage is copied to for the second time, before anything is multiplied."""


@pytest.mark.parametrize("number", range(SLICES))
@pytest.mark.parametrize("old", [PROXY, "bar.sync 0;"])
def test_it_tells_wherever_it_is_taken_out(run_kernel, old, number):
    kind = "race" if old != PROXY and number == REUSED else "unfenced"
    assert found(run_kernel, edited(kernel(), old, "", number))[0] == kind


@pytest.mark.parametrize("fetch", [copies, stores])
@pytest.mark.parametrize("old", [PROXY, "bar.sync 0;"])
def test_copies_and_stores_need_the_same(run_kernel, fetch, old):
    assert found(run_kernel, edited(kernel(fetch), old, ""))[0] == "unfenced"


MOVED = {
    "the fence before the copies landed": (f"cp.async.wait_group 1;\n {PROXY}", f"{PROXY}\n cp.async.wait_group 1;"),
    "the fence behind the barrier": (f"{PROXY}\n {WAIT} 1;\n bar.sync 0;", f"{WAIT} 1;\n bar.sync 0;\n {PROXY}"),
    "the fence in one warp": (PROXY, f"@%q {PROXY}"),
}


@pytest.mark.parametrize(("old", "new"), MOVED.values(), ids=MOVED)
def test_a_fence_stands_between_the_write_and_the_barrier_in_every_thread(run_kernel, old, new):
    assert found(run_kernel, edited(kernel(), old, new)) == (
        "unfenced",
        found(run_kernel, edited(kernel(), old, ""))[1],
    )


def test_others_may_not_write_where_a_product_has_read_before_a_barrier(run_kernel):
    text = edited(kernel(), f"{WAIT} 0;", f"{WAIT} 0;\n st.shared.u32 [%y], %t;\n")
    assert found(run_kernel, text)[0] == "race"
    run(run_kernel, edited(kernel(), f"{WAIT} 0;", f"{WAIT} 0;\n bar.sync 0;\n st.shared.u32 [%y], %t;\n"))


BEHIND = {
    "written": ("mov.b32 %d3, 0;", "in-flight"),
    "read": ("add.u32 %x, %d31, 0;", "in-flight"),
    "stored": ("st.global.b32 [%p], %d0;", "in-flight"),
    "loaded": ("ld.global.b32 %d5, [%p];", "in-flight"),
    "used by some": ("@%q mov.b32 %x, %d1;", "in-flight"),
    "memory stored to": ("st.shared.u32 [%y+STAGE], %x;", "in-flight"),
    "memory stored to by some": ("@%q st.shared.u16 [%y+STAGE], 7;", "in-flight"),
    "memory stored to by anything": ("cvt.u64.u32 %o, %y; cvta.shared.u64 %o, %o; st.u32 [%o+STAGE], %x;", "in-flight"),
    "memory updated": ("red.shared.add.u32 [%y+STAGE], 1;", "in-flight"),
    "memory exchanged": ("atom.shared.exch.b32 %x, [%y+STAGE], 1;", "in-flight"),
    "memory copied to": ("cp.async.ca.shared.global [%y+STAGE], [%g], 4;", "in-flight"),
}


@pytest.mark.parametrize(("line", "kind"), BEHIND.values(), ids=BEHIND)
@pytest.mark.parametrize("number", [0, SLICES - 1])
@pytest.mark.parametrize("behind", ["", f"{COMMIT};\n {WAIT} 1;\n"])
def test_nothing_a_product_uses_is_touched_while_it_is_on_its_way(run_kernel, line, kind, number, behind):
    line = line.replace("STAGE", str(number % STAGES * SLICE_BYTES))
    text = edited(kernel(), f"{COMMIT};", f"{behind} {line}\n {COMMIT};", number)
    told, instruction = found(run_kernel, text)
    assert told == kind
    assert instruction in line
    assert instruction == line or line.endswith(instruction)


def test_what_no_product_uses_may_be_touched(run_kernel):
    lines = f"mov.b32 %e0, 1; st.global.b32 [%p], %e0; ld.shared.u32 %x, [%y+{3 * SLICE_BYTES}];"
    text = edited(kernel(), f"{COMMIT};", f"{lines}\n {COMMIT};", 3)
    assert run(run_kernel, text).tolist() == run(run_kernel, kernel()).tolist()


@pytest.mark.parametrize("line", ["mov.b32 %d3, 0;", "mov.b32 %x, %d3;"])
def test_registers_that_were_waited_for_need_a_fence_once_they_are_touched(run_kernel, line):
    text = edited(kernel(), f"{FENCE};", f"{WAIT} 0;\n {line}\n {FENCE};", 2)
    run(run_kernel, text)
    unfenced = edited(text, f"{line}\n {FENCE};", line)
    assert found(run_kernel, unfenced) == ("unfenced", found(run_kernel, edited(kernel(), PROXY, ""))[1])


def test_products_of_one_shape_follow_each_other_without_a_fence(run_kernel):
    text = edited(kernel(), f"{FENCE};", "")
    run(run_kernel, edited(text, "bar.sync 0;", f"bar.sync 0;\n {FENCE};", 0))


OTHER = NAME.replace("n64", "n32") + " {" + ", ".join(f"%d{n}" for n in range(16)) + "}, %da, %db, 1, 1, 1, 0, 0;"


def test_products_of_another_shape_need_a_wait_and_a_fence(run_kernel):
    def follows(between: str) -> str:
        return edited(kernel(), f"{COMMIT};", f"{COMMIT};\n {between}\n {OTHER}\n {COMMIT};\n", SLICES - 1)

    run(run_kernel, follows(f"{WAIT} 0;\n {FENCE};"))
    assert found(run_kernel, follows(f"{WAIT} 0;")) == ("unfenced", OTHER)
    assert found(run_kernel, follows(f"{FENCE};")) == ("in-flight", OTHER)


HELD = NAME + " " + LIST.replace("%d", "%e") + ", {%a0, %a1, %a2, %a3}, %db, 0, 1, 1, 0;"


def test_a_in_registers_is_watched_like_sums(run_kernel):
    def with_a(before: str, behind: str) -> str:
        lines = f"{before}\n {HELD}\n {HELD}\n {behind}\n {COMMIT};\n"
        return edited(kernel(), f"{COMMIT};", lines, SLICES - 1)

    set_a = " ".join(f"mov.b32 %a{n}, %t;" for n in range(4))
    run(run_kernel, with_a(f"{set_a}\n {FENCE};", ""))
    assert found(run_kernel, with_a(set_a, "")) == ("unfenced", HELD)
    for line in ("mov.b32 %a2, 0;", "mov.b32 %x, %a3;"):
        assert found(run_kernel, with_a(f"{set_a}\n {FENCE};", line)) == ("in-flight", line)


DESCRIPTORS = {
    "behind shared memory": (f"add.u64 %da, %da, {STAGES * SLICE_BYTES >> 4};", "out-of-bounds"),
    "partly behind it": (f"add.u64 %da, %da, {STAGES * SLICE_BYTES - 1024 >> 4};", "out-of-bounds"),
    "of strides too long": ("add.u64 %db, %db, 0x100000000000;", "out-of-bounds"),
    "with bits that mean nothing": ("add.u64 %da, %da, 0x4000;", "out-of-bounds"),
    "of what nothing has written": (f"add.u64 %da, %da, {3 * SLICE_BYTES >> 4};", "uninitialised"),
    "partly of what nothing has written": (f"add.u64 %da, %da, {3 * SLICE_BYTES - 16 >> 4};", "uninitialised"),
    "that differ among threads": ("cvt.u64.u32 %o, %t; add.u64 %da, %da, %o;", "divergent-warp-group"),
    "that differ in one warp": ("@%q add.u64 %da, %da, 2;", "divergent-warp-group"),
}


@pytest.mark.parametrize(("line", "kind"), DESCRIPTORS.values(), ids=DESCRIPTORS)
def test_descriptors_name_what_is_there(run_kernel, line, kind):
    told, instruction = found(run_kernel, edited(kernel(), f" {NAME}", f" {line}\n {NAME}", 0))
    assert told == kind
    assert instruction.startswith(NAME)


def test_scales_that_differ_among_threads_are_an_error(run_kernel):
    told, instruction = found(run_kernel, edited(kernel(), "%db, 1, 1, 1, 0, 0;", "%db, %q, 1, 1, 0, 0;", 0))
    assert told == "divergent-warp-group"
    assert instruction.startswith(NAME)


ALIGNED = [f"{FENCE};", f"{COMMIT};", f"{WAIT} 1;", NAME]


@pytest.mark.parametrize("instruction", ALIGNED)
def test_a_group_executes_as_a_whole(run_kernel, instruction):
    told, blamed = found(run_kernel, edited(kernel(), f" {instruction}", f" @%q {instruction}", 0))
    assert told == "divergent-warp-group"
    assert instruction in blamed


@pytest.mark.parametrize("instruction", ALIGNED[:3])
def test_a_group_that_has_parted_is_not_whole(run_kernel, instruction):
    around = f" @%q bra SKIP;\n {instruction}\nSKIP:\n"
    told, blamed = found(run_kernel, edited(kernel(), f" {instruction}", around, 0))
    assert (told, blamed) == ("divergent-warp-group", instruction)


@pytest.mark.parametrize("threads", [96, 192])
def test_a_block_of_no_whole_groups_has_none_to_execute(run_kernel, threads):
    text = kernel(stores)
    assert found(run_kernel, text, threads)[0] in ("divergent-warp-group", "race")


def test_a_group_watches_over_the_products_of_others(run_kernel):
    """The second group writes to what a product of the first one reads, after it has waited for its own."""
    text = edited(kernel(), "setp.lt.u32 %q, %t, 32;", "setp.lt.u32 %q, %t, 128;")
    run(run_kernel, text, 2 * THREADS)
    waits = edited(text, f"{WAIT} 0;", f"@!%q {WAIT} 0;\n @!%q st.shared.u32 [%y], %x;\n {WAIT} 0;", 0)
    told, blamed = found(run_kernel, waits, 2 * THREADS)
    assert (told, blamed) == ("in-flight", "@!%q st.shared.u32 [%y], %x;")


@pytest.mark.parametrize("last", ["", f"{PROXY} bar.sync 0;"])
def test_a_write_is_known_however_many_others_follow(run_kernel, last):
    """More than are kept, to places that are written over and over."""
    loop = "\n".join(
        [
            f"mov.u32 %z, 0;\nLOOP:\n st.shared.u32 [%y+{3 * SLICE_BYTES}], %z; add.u32 %z, %z, 1;",
            f"setp.lt.u32 %q, %z, 2000;\n @%q bra LOOP;\n {last}\n {FENCE};",
        ]
    )
    first = "st.shared.u32 [%y], %t; " + " ".join(f"st.shared.u32 [%y+{at}], %t;" for at in (4, 8, 12))
    text = edited(kernel(), f"{FENCE};", f"bar.sync 0; {first}\n bar.sync 0;\n {loop}", 0)
    if last:
        run(run_kernel, text)
    else:
        assert found(run_kernel, text)[0] == "unfenced"
