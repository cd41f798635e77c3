"""Tensor core instructions, with fragments laid out element by element as the PTX manual writes it."""

import ml_dtypes
import numpy as np
import pytest

KERNEL = """
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)
{
 .reg .b64 %base, %at; .reg .b32 %t; .reg .TYPE %a<8>, %b<4>, %c<4>, %d<4>;
 mov.u32 %t, %tid.x;
"""


def kernel_text(shape: str, types: str, counts: tuple[int, int, int]) -> str:
    type_, size = ("f64", 8) if types.startswith("f64") else ("b32", 4)
    lines = [KERNEL.replace("TYPE", type_)]
    for name, count in zip("abc", counts, strict=True):
        lines += [
            f" ld.param.u64 %base, [p{name}];",
            f" mul.wide.u32 %at, %t, {size * count};",
            " add.u64 %at, %at, %base;",
        ]
        lines += [f" ld.global.{type_} %{name}{i}, [%at+{size * i}];" for i in range(count)]
    groups = [
        "{" + ", ".join(f"%{n}{i}" for i in range(c)) + "}" for n, c in zip("dabc", (counts[2], *counts), strict=True)
    ]
    lines.append(f" mma.sync.aligned.{shape}.row.col.{types} {', '.join(groups)};")
    lines += [" ld.param.u64 %base, [pd];", f" mul.wide.u32 %at, %t, {size * counts[2]};", " add.u64 %at, %at, %base;"]
    lines += [f" st.global.{type_} [%at+{size * i}], %d{i};" for i in range(counts[2])]
    return "\n".join([*lines, " ret;", "}"])


def a_place_16(i: int, group: int, thread: int, k: int) -> tuple[int, int]:
    row = group if i < 2 or 4 <= i < 6 else group + 8
    return row, thread * 2 + (i & 1) + (8 if i >= 4 else 0)


def a_place_32(i: int, group: int, thread: int, k: int) -> tuple[int, int]:
    return (group if i in (0, 2) else group + 8), (thread if i < 2 else thread + 4)


def a_place_8(i: int, group: int, thread: int, k: int) -> tuple[int, int]:
    row = group if i < 4 or 8 <= i < 12 else group + 8
    return row, thread * 4 + (i & 3) + (16 if i >= 8 else 0)


def a_place_64(i: int, group: int, thread: int, k: int) -> tuple[int, int]:
    return (group if i % 2 == 0 else group + 8), 4 * (i // 2) + thread


def b_place(per: int):
    def place(i: int, group: int, thread: int, k: int) -> tuple[int, int]:
        return thread * per + i % per + 4 * per * (i // per), group

    return place


def c_place(i: int, group: int, thread: int, k: int) -> tuple[int, int]:
    return (group if i < 2 else group + 8), thread * 2 + (i & 1)


def fragment(matrix: np.ndarray, place, count: int) -> np.ndarray:
    k = matrix.shape[1]
    lanes = [[matrix[place(i, lane >> 2, lane & 3, k)] for i in range(count)] for lane in range(32)]
    return np.ascontiguousarray(np.array(lanes, matrix.dtype)).view(np.uint64 if matrix.itemsize == 8 else np.uint32)


CASES = [
    ("m16n8k16", "f32.f16.f16.f32", np.float16, np.float32, a_place_16, 2),
    ("m16n8k8", "f32.f16.f16.f32", np.float16, np.float32, a_place_16, 2),
    ("m16n8k16", "f32.bf16.bf16.f32", ml_dtypes.bfloat16, np.float32, a_place_16, 2),
    ("m16n8k16", "f16.f16.f16.f16", np.float16, np.float16, a_place_16, 2),
    ("m16n8k8", "f32.tf32.tf32.f32", np.float32, np.float32, a_place_32, 1),
    ("m16n8k4", "f32.tf32.tf32.f32", np.float32, np.float32, a_place_32, 1),
    ("m16n8k32", "s32.s8.s8.s32", np.int8, np.int32, a_place_8, 4),
    ("m16n8k16", "s32.s8.s8.s32", np.int8, np.int32, a_place_8, 4),
    ("m16n8k4", "f64.f64.f64.f64", np.float64, np.float64, a_place_64, 1),
    ("m16n8k8", "f64.f64.f64.f64", np.float64, np.float64, a_place_64, 1),
    ("m16n8k16", "f64.f64.f64.f64", np.float64, np.float64, a_place_64, 1),
]


@pytest.mark.parametrize(("shape", "types", "element", "result", "place", "per"), CASES)
def test_mma_multiplies_the_matrices(run_kernel, shape, types, element, result, place, per) -> None:
    k = int(shape.rpartition("k")[2])
    rng = np.random.default_rng(0)
    a, b = rng.integers(-8, 8, (16, k)), rng.integers(-8, 8, (k, 8))
    c = rng.integers(-50, 50, (16, 8))
    fragments = (
        fragment(a.astype(element), place, 16 * k // 32),
        fragment(b.astype(element), b_place(per), 8 * k // 32),
        fragment(c.astype(result), c_place, 4),
    )
    counts = tuple(f.shape[1] for f in fragments)
    *_, d = run_kernel(kernel_text(shape, types, counts), *fragments, np.zeros_like(fragments[2]))
    expected = fragment((a @ b + c).astype(result), c_place, 4)
    assert d.tolist() == expected.tolist()


@pytest.mark.parametrize("transposed", [False, True])
def test_ldmatrix_hands_each_lane_its_pair(run_kernel, transposed) -> None:
    text = """
.visible .entry k(.param .u64 in, .param .u64 out)
{
 .reg .b64 %i, %o, %s, %off; .reg .b32 %t, %x<4>, %d<4>;
 .shared .align 16 .b8 sh[512];
 ld.param.u64 %i, [in]; ld.param.u64 %o, [out];
 mov.u32 %t, %tid.x;
 mul.wide.u32 %off, %t, 16;
 add.u64 %i, %i, %off; add.u64 %o, %o, %off;
 ld.global.v4.b32 {%x0, %x1, %x2, %x3}, [%i];
 mov.u64 %s, sh; add.u64 %s, %s, %off;
 st.shared.v4.b32 [%s], {%x0, %x1, %x2, %x3};
 bar.sync 0;
 ldmatrix.sync.aligned.m8n8.x4TRANS.shared.b16 {%d0, %d1, %d2, %d3}, [%s];
 st.global.v4.b32 [%o], {%d0, %d1, %d2, %d3};
 ret;
}
""".replace("TRANS", ".trans" if transposed else "")
    matrices = np.arange(256, dtype=np.uint16).reshape(4, 8, 8)
    _, out = run_kernel(text, matrices, np.zeros((32, 4, 2), np.uint16))
    for lane in range(32):
        for i in range(4):
            source = matrices[i].T if transposed else matrices[i]
            assert out[lane, i].tolist() == source[lane // 4, 2 * (lane % 4) :][:2].tolist()


def test_the_kernels_are_valid_ptx(assemble) -> None:
    texts = []
    for n, (shape, types, _, _, _, per) in enumerate(CASES):
        k = int(shape.rpartition("k")[2])
        c = 2 if types.startswith("f16") else 4
        texts.append(
            kernel_text(shape, types, (16 * k // 32 // per, 8 * k // 32 // per, c)).replace("entry k(", f"entry k{n}(")
        )
    assert assemble(".version 8.0\n.target sm_90\n.address_size 64\n" + "\n".join(texts)) == ""
