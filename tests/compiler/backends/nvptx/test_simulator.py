"""What LLVM makes of IR at any level runs and agrees with NumPy; no instruction is half an instruction."""

import numpy as np
import pytest

from compiler.backends.nvptx.simulator import LaunchOptions, Machine, parse_ptx
from compiler.backends.nvptx.simulator.decode import DECODERS, decode
from compiler.codegen import llvm
from compiler.diagnostics import CompilerError

DECLARATIONS = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier0()
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.nvvm.shfl.sync.down.f32(i32, float, i32, i32)
declare float @llvm.maximum.f32(float, float)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i32 @llvm.bswap.i32(i32)
declare i8 @llvm.sadd.sat.i8(i8, i8)
declare i64 @llvm.fptosi.sat.i64.f32(float)
declare float @llvm.roundeven.f32(float)
"""

INDEX = """
 %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
 %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
 %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
 %bd = mul i32 %b, %d
 %i = add i32 %bd, %t
 %j = zext i32 %i to i64
"""

ELEMENTWISE = (
    DECLARATIONS
    + "define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %o, i32 %n) {"
    + INDEX
    + """
 %c = icmp ult i32 %i, %n
 br i1 %c, label %go, label %end
go:
 %px = getelementptr float, ptr addrspace(1) %x, i64 %j
 %py = getelementptr float, ptr addrspace(1) %y, i64 %j
 %po = getelementptr float, ptr addrspace(1) %o, i64 %j
 %vx = load float, ptr addrspace(1) %px
 %vy = load float, ptr addrspace(1) %py
 %z = call float @llvm.fma.f32(float %vx, float %vy, float 1.0)
 %w = fmul float %z, %vx
 %q = fadd float %w, %vy
 store float %q, ptr addrspace(1) %po
 br label %end
end:
 ret void
}
"""
)

STEPS = "".join(
    f" %s{k} = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %a{k}, i32 {16 >> k}, i32 31)\n"
    f" %a{k + 1} = fadd float %a{k}, %s{k}\n"
    for k in range(5)
).replace("%a0", "%next")

ROW_SUM = (
    DECLARATIONS
    + "@sh = internal addrspace(3) global [8 x float] undef, align 16\n"
    + """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %o, i32 %cols) {
entry:
 %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
 %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
 %row = mul i32 %b, %cols
 br label %loop
loop:
 %i = phi i32 [ %t, %entry ], [ %i2, %loop ]
 %acc = phi float [ 0.0, %entry ], [ %next, %loop ]
 %at = add i32 %row, %i
 %p = getelementptr float, ptr addrspace(1) %x, i32 %at
 %v = load float, ptr addrspace(1) %p
 %next = fadd float %acc, %v
 %i2 = add i32 %i, 256
 %c = icmp ult i32 %i2, %cols
 br i1 %c, label %loop, label %fin
fin:
"""
    + STEPS
    + """
 %lane = and i32 %t, 31
 %warp = lshr i32 %t, 5
 %first = icmp eq i32 %lane, 0
 br i1 %first, label %put, label %join
put:
 %q = getelementptr [8 x float], ptr addrspace(3) @sh, i32 0, i32 %warp
 store float %a5, ptr addrspace(3) %q
 br label %join
join:
 call void @llvm.nvvm.barrier0()
 %one = icmp eq i32 %t, 0
 br i1 %one, label %sum, label %end
sum:
 %k = phi i32 [ 0, %join ], [ %k2, %sum ]
 %s = phi float [ 0.0, %join ], [ %total, %sum ]
 %r = getelementptr [8 x float], ptr addrspace(3) @sh, i32 0, i32 %k
 %l = load float, ptr addrspace(3) %r
 %total = fadd float %s, %l
 %k2 = add i32 %k, 1
 %more = icmp ult i32 %k2, 8
 br i1 %more, label %sum, label %write
write:
 %po = getelementptr float, ptr addrspace(1) %o, i32 %b
 store float %total, ptr addrspace(1) %po
 br label %end
end:
 ret void
}
"""
)

# IR that computes %r from %i, and what NumPy says of it.
SNIPPETS = {
    "popc": ("%r = call i32 @llvm.ctpop.i32(i32 %i)", np.bitwise_count),
    "shf": ("%r = call i32 @llvm.fshl.i32(i32 %i, i32 77, i32 9)", lambda i: i << 9),
    "prmt": ("%r = call i32 @llvm.bswap.i32(i32 %i)", lambda i: i.byteswap()),
    "saturating bytes": (
        """%t8 = trunc i32 %i to i8
           %s = call i8 @llvm.sadd.sat.i8(i8 %t8, i8 100)
           %r = sext i8 %s to i32""",
        lambda i: np.minimum(i.astype(np.int8).astype(int) + 100, 127),
    ),
    "64-bit product": (
        """%w = zext i32 %i to i64
           %m = mul i64 %w, 6148914691236517206
           %h = lshr i64 %m, 33
           %r = trunc i64 %h to i32""",
        lambda i: (i.astype(np.uint64) * np.uint64(6148914691236517206)) >> np.uint64(33),
    ),
    "128-bit product": (
        """%w = zext i32 %i to i128
           %m = mul i128 %w, 79228162514264337593543950336
           %h = lshr i128 %m, 95
           %r = trunc i128 %h to i32""",
        lambda i: i * 2,
    ),
    "128-bit sum": (
        """%w = zext i32 %i to i128
           %m = mul i128 %w, 18446744073709551615
           %n = add i128 %m, %w
           %o128 = sub i128 0, %n
           %h = lshr i128 %o128, 64
           %r = trunc i128 %h to i32""",
        lambda i: -i.astype(np.int64),
    ),
    "unsigned division": (
        """%q = udiv i32 %i, 7
           %s = urem i32 %i, 5
           %r = add i32 %q, %s""",
        lambda i: i // 7 + i % 5,
    ),
    "signed division": (
        """%u = sub i32 40, %i
           %r = sdiv i32 %u, 3""",
        lambda i: np.trunc((40 - i.astype(int)) / 3),
    ),
    "half": (
        """%f = uitofp i32 %i to half
           %g = fdiv half %f, 3.0
           %h = fmul half %g, 64.0
           %r = fptoui half %h to i32""",
        lambda i: ((i.astype(np.float16) / np.float16(3)).astype(np.float16) * np.float16(64)).astype(int),
    ),
    "rounding": (
        """%f = uitofp i32 %i to float
           %g = fdiv float %f, 4.0
           %h = call float @llvm.roundeven.f32(float %g)
           %s = call i64 @llvm.fptosi.sat.i64.f32(float %h)
           %r = trunc i64 %s to i32""",
        lambda i: np.rint(i / 4),
    ),
    "bfloat": (
        """%f = uitofp i32 %i to bfloat
           %g = fadd bfloat %f, 1.0
           %r = fptoui bfloat %g to i32""",
        lambda i: i + 1,
    ),
    "double": (
        """%f = uitofp i32 %i to double
           %g = fdiv double %f, 7.0
           %h = fmul double %g, 1.0e6
           %r = fptosi double %h to i32""",
        lambda i: np.trunc(i / 7.0 * 1e6),
    ),
    "packed half": (
        """%v0 = insertelement <2 x half> undef, half 1.0, i32 0
           %f = uitofp i32 %i to half
           %v1 = insertelement <2 x half> %v0, half %f, i32 1
           %w = fadd <2 x half> %v1, %v1
           %e = extractelement <2 x half> %w, i32 1
           %r = fptoui half %e to i32""",
        lambda i: 2 * i,
    ),
}


def ptx_of(ir: str, level: int, arch: str = "sm_90") -> str:
    target = llvm.Target.nvptx(arch)
    module = llvm.parse(ir, target, level)
    llvm.optimise(module, target, level)
    return llvm.assembly(module, target, level)


@pytest.mark.parametrize("level", [0, 3])
def test_guarded_elementwise_kernel(run_kernel, level) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1000)).astype(np.float32)
    text = ptx_of(ELEMENTWISE, level)
    *_, out = run_kernel(text, x, y, np.zeros_like(x), 1000, grid=(8, 1, 1), block=(128, 1, 1))
    fused = (x.astype(np.float64) * y + 1).astype(np.float32)
    assert np.array_equal(out, fused * x + y)


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("lanes_per_batch", [256, 1024])
def test_row_sum_through_shuffles_and_shared_memory(run_kernel, level, lanes_per_batch) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (5, 700)).astype(np.float32)
    text = ptx_of(ROW_SUM, level)
    _, out = run_kernel(
        text, x, np.zeros(5, np.float32), 700, grid=(5, 1, 1), block=(256, 1, 1), lanes_per_batch=lanes_per_batch
    )
    assert out.tolist() == x.sum(axis=1).tolist()


@pytest.mark.parametrize("arch", ["sm_70", "sm_90"])
@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", SNIPPETS)
def test_snippet_agrees_with_numpy(run_kernel, name, level, arch) -> None:
    body, truth = SNIPPETS[name]
    store = (
        "\n %po = getelementptr i32, ptr addrspace(1) %o, i64 %j\n store i32 %r, ptr addrspace(1) %po\n ret void\n}\n"
    )
    ir = DECLARATIONS + "define ptx_kernel void @k(ptr addrspace(1) %o) {" + INDEX + body + store
    (out,) = run_kernel(ptx_of(ir, level, arch), np.zeros(128, np.uint32), grid=(2, 1, 1), block=(64, 1, 1))
    expected = np.asarray(truth(np.arange(128, dtype=np.uint32))).astype(np.int64).astype(np.uint32)
    assert out.tolist() == expected.tolist()


@pytest.mark.bench
def test_twenty_million_lane_instructions_per_second() -> None:
    rows = np.ones((64, 4096), np.float32)
    module = parse_ptx(ptx_of(ROW_SUM, 2))
    best = 0.0
    for _ in range(3):
        machine = Machine()
        source, target = machine.allocate(rows.nbytes), machine.allocate(64 * 4)
        machine.write(source, rows)
        statistics = machine.launch(
            module, "k", (64, 1, 1), (256, 1, 1), [source, target, 4096], options=LaunchOptions()
        )
        best = max(best, statistics.rate_per_s)
    assert best > 20e6


QUIET = {"activemask", "trap", "membar", "fence", "prefetch", "prefetchu", "nanosleep", "applypriority", "discard"}
QUIET |= {"pmevent", "griddepcontrol"}
"""Opcodes that mean something, or nothing, without operands."""


def decoded(text):
    module = parse_ptx(text)
    return decode(module, module.functions["k"])


@pytest.mark.parametrize("opcode", sorted(DECODERS.keys() - QUIET))
def test_an_instruction_without_its_operands_is_refused_where_it_stands(opcode) -> None:
    text = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{\n {opcode};\n ret;\n}}\n"
    with pytest.raises(CompilerError, match=opcode):
        decoded(text)
