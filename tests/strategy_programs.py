"""Programs by the strategy that a plan takes for one of their kernels, one for each row of the back ends' tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import compiler
from compiler import CompileOptions
from compiler.backends import BACKENDS
from compiler.codegen.kernel import Kernel, KernelKind, kernel_of, scheduled
from compiler.pipeline import PIPELINES, run

COMPUTATIONS = """
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
most { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
below { a = s32[] parameter(0)  b = s32[] parameter(1)  c = f32[] parameter(2)  d = f32[] parameter(3)
  ROOT e = pred[] compare(a, b), direction=LT }
least { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] subtract(a, b) }
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
more { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=GE }
uneven { a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] multiply(a, b)
  ROOT d = pred[] compare(c, a), direction=LT }
condition { s = (s32[], f32[16], f32[5,16], f32[5,16]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)  ROOT again = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[16], f32[5,16], f32[5,16]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)  next = s32[] add(i, one)  zero = s32[] constant(0)
  h = f32[16] get-tuple-element(s), index=1  xs = f32[5,16] get-tuple-element(s), index=3
  x = f32[1,16] dynamic-slice(xs, i, zero), dynamic_slice_sizes={1,16}  x1 = f32[16] reshape(x)
  h1 = f32[16] add(h, x1)  ys = f32[5,16] get-tuple-element(s), index=2  y = f32[1,16] reshape(h1)
  ys1 = f32[5,16] dynamic-update-slice(ys, y, i, zero)
  ROOT r = (s32[], f32[16], f32[5,16], f32[5,16]) tuple(next, h1, ys1, xs) }
either { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT c = pred[] or(a, b) }
any_left { s = (s32[], s32[32768], f32[32768]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(50)  more = pred[] compare(i, n), direction=LT  t = s32[32768] get-tuple-element(s), index=1
  zero = s32[] constant(0)  zeros = s32[32768] broadcast(zero), dimensions={}
  left = pred[32768] compare(t, zeros), direction=GT  no = pred[] constant(false)
  any = pred[] reduce(left, no), dimensions={0}, to_apply=either  ROOT again = pred[] and(more, any) }
counted { s = (s32[], s32[32768], f32[32768]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)  ones = s32[32768] broadcast(one), dimensions={}  zero = s32[] constant(0)
  zeros = s32[32768] broadcast(zero), dimensions={}  t = s32[32768] get-tuple-element(s), index=1
  left = pred[32768] compare(t, zeros), direction=GT  fewer = s32[32768] subtract(t, ones)
  t1 = s32[32768] select(left, fewer, t)  x = f32[32768] get-tuple-element(s), index=2
  y = f32[32768] sine(x)  x1 = f32[32768] select(left, y, x)  next = s32[] add(i, one)
  ROOT r = (s32[], s32[32768], f32[32768]) tuple(next, t1, x1) }
updated { x = f32[64] parameter(0)  u = f32[0] parameter(1)  i = s32[] parameter(2)
  ROOT r = f32[64] dynamic-update-slice(x, u, i) }
by_both { a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] parameter(2)  d = f32[] parameter(3)
  ad = f32[] multiply(a, d)  bc = f32[] multiply(b, c)  ROOT e = pred[] compare(ad, bc), direction=LT }
by_first { a = s64[] parameter(0)  b = s64[] parameter(1)  c = f64[] parameter(2)  d = f64[] parameter(3)
  ROOT e = pred[] compare(a, b), direction=LT }
"""


def _program(text: str) -> str:
    """`f32[4] x, f32[4] y -> f32[4] add(x, y)`: parameters, then lines, of which the last gives the result."""
    given, _, body = text.partition(" -> ")
    names = [one.split() for one in given.split("; ") if one]
    lines = [f"{name} = {type_} parameter({number})" for number, (type_, name) in enumerate(names)]
    *others, last = [line.strip() for line in body.split(";")]
    return f"{COMPUTATIONS} ENTRY e {{ {' '.join([*lines, *others])} ROOT r = {last} }}"


def _programs(rows: Mapping[str, str]) -> dict[str, str]:
    return {name: _program(text) for name, text in rows.items()}


MATMUL = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
ROWS = "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
ELEMENTS = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
TAKEN = "offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}"
ZERO = "z = f32[] constant(0)"


def _solve(unknowns: str, sides: str) -> str:
    how = "left_side=true, lower=true, transpose_a=NO_TRANSPOSE"
    return f"f32[{unknowns}] a; f32[{sides}] b -> f32[{sides}] triangular-solve(a, b), {how}"


def _dot(m: int, n: int, k: int, type_: str = "f32", result: str = "f32") -> str:
    return f"{type_}[{m},{k}] x; {type_}[{k},{n}] y -> {result}[{m},{n}] dot(x, y), {MATMUL}"


def _scan(lines: int, length: int, *, inner: int = 0) -> str:
    dims, size, pad = f"{lines},{length}", f"1x{length}", f"0_0x{length - 1}_0"
    if inner:
        dims, size, pad = f"{dims},{inner}", f"{size}x1", f"{pad}x0_0"
    return f"f32[{dims}] x -> {ZERO}; f32[{dims}] reduce-window(x, z), window={{size={size} pad={pad}}}, to_apply=add"


def _convolution(image: str, weights: str, result: str, window: str, more: str = "") -> str:
    labels = "dim_labels=b01f_01io->b01f"
    return f"f32[{image}] x; f32[{weights}] w -> f32[{result}] convolution(x, w), window={{{window}}}, {labels}{more}"


STATE = "(s32[], f32[16], f32[5,16], f32[5,16])"
ITERATION = (
    f"f32[16] x; f32[5,16] y -> i = s32[] constant(0); n = f32[5,16] negate(y); t = {STATE} tuple(i, x, n, y);"
    f" w = {STATE} while(t), condition=condition, body=body; f32[5,16] get-tuple-element(w), index=2"
)
ROW = (
    "f32[64,{0}] x -> z = f32[] constant(0); s = f32[64] reduce(x, z), dimensions={{1}}, to_apply=add;"
    " b = f32[64,{0}] broadcast(s), dimensions={{0}}; f32[64,{0}] subtract(x, b)"
)
SCATTER = f"f32[64] x; s32[8,1] i; f32[8] u -> f32[64] scatter(x, i, u), {ELEMENTS}, to_apply=add"
LONG = "f32[64,16384]"

CPU = _programs(
    {
        "loop: complex product": _dot(64, 64, 64, "c64", "c64"),
        "loop: tables in registers": f"f32[16] t; s32[4096,1] i -> f32[4096] gather(t, i), {TAKEN}",
        "loop: transposing tiles": "f32[512,512] x -> f32[512,512] transpose(x), dimensions={1,0}",
        "loop: tables in memory": "bf16[1048576] x -> a = bf16[1048576] tanh(x); b = bf16[1048576] log-plus-one(a);"
        " bf16[1048576] exponential(b)",
        "loop: pairs of bf16": "bf16[4096] x; bf16[4096] y -> bf16[4096] add(x, y)",
        "loop: fast vectors": "f32[65536] x -> a = f32[65536] sine(x); f32[65536] multiply(a, x)",
        "loop: written vectors": "f32[1048576] x -> a = f32[1048576] tanh(x); f32[1048576] multiply(a, x)",
        "loop: called functions": "f32[8] x -> "
        + " ".join(f"y{n} = f32[8] sine({f'y{n - 1}' if n else 'x'});" for n in range(8))
        + " f32[8] sine(y7)",
        "loop: loops": "f32[100] x -> f32[100] negate(x)",
        "reduce: a few terms in a loop": f"f32[1024] x -> {ZERO}; b = f32[1024,4] broadcast(x), dimensions={{0}};"
        " i = f32[1024,4] iota(), iota_dimension=1; m = f32[1024,4] multiply(b, i); t = f32[1024,4] tanh(m);"
        " f32[1024] reduce(t, z), dimensions={1}, to_apply=add",
        "reduce: rows": f"f32[64,512] x -> {ZERO}; f32[64] reduce(x, z), dimensions={{1}}, to_apply=add",
        "reduce: few columns": f"f32[4096,3] x -> {ZERO}; f32[3] reduce(x, z), dimensions={{0}}, to_apply=add",
        "reduce: columns": f"f32[64,512] x -> {ZERO}; f32[512] reduce(x, z), dimensions={{0}}, to_apply=add",
        "row: rows in vectors": ROW.format(512),
        "row: rows by elements": ROW.format(3),
        "dot: tile registers": _dot(256, 256, 256, "bf16", "f32"),
        "dot: split sums": _dot(32, 32, 65536),
        "dot: register tiles": _dot(64, 64, 64),
        "dot: sums along vectors": (
            "f32[8] x; f32[8] y -> f32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
        ),
        "dot: rows streamed": _dot(1, 512, 512),
        "dot: zeros": _dot(4, 4, 0),
        "convolution: matrix product": _convolution("2,16,16,64", "1,1,64,64", "2,16,16,64", "size=1x1"),
        "convolution: vectors of features": _convolution("2,18,18,16", "3,3,16,64", "2,16,16,64", "size=3x3"),
        "convolution: vectors of places": "f32[1,4,66,66] x; f32[4,4,3,3] w ->"
        " f32[1,4,64,64] convolution(x, w), window={size=3x3}, dim_labels=bf01_oi01->bf01",
        "convolution: vectors of lanes": _convolution(
            "1,18,18,64", "3,3,1,64", "1,16,16,64", "size=3x3", ", feature_group_count=64"
        ),
        "reduce-window: scan in blocks": _scan(1, 1 << 20),
        "reduce-window: scan": _scan(64, 64),
        "reduce-window: windows unrolled": f"f32[64,64] x -> {ZERO};"
        " f32[62,62] reduce-window(x, z), window={size=3x3}, to_apply=add",
        "reduce-window: windows point by point": f"f32[64,64] x -> {ZERO};"
        " f32[64,64] reduce-window(x, z), window={size=9x9 pad=4_4x4_4}, to_apply=add",
        "scatter: chunks of updates": "f32[64] x; s32[65536,1] i; f32[65536] u ->"
        f" f32[64] scatter(x, i, u), {ELEMENTS}, to_apply=add",
        "scatter: rows shared": "f32[512,256] x; s32[512,1] i; f32[512,256] u ->"
        f" f32[512,256] scatter(x, i, u), {ROWS}, to_apply=add",
        "scatter: windows shared": "f32[2,65536] x; s32[8,1] i; f32[8,65536] u ->"
        f" f32[2,65536] scatter(x, i, u), {ROWS}, to_apply=add",
        "scatter: one thread": SCATTER,
        "update: loops over the update": "f32[64] x; f32[8] u; s32[] i -> n = f32[64] sort(x), dimensions={0},"
        " to_apply=less; f32[64] dynamic-update-slice(n, u, i)",
        "select-and-scatter: windows side by side": f"f32[64,64] x; f32[32,32] u -> {ZERO};"
        " f32[64,64] select-and-scatter(x, u, z), window={size=2x2 stride=2x2}, select=more, scatter=add",
        "select-and-scatter: windows in order": f"f32[64,64] x; f32[62,62] u -> {ZERO};"
        " f32[64,64] select-and-scatter(x, u, z), window={size=3x3}, select=more, scatter=add",
        "sort: network shared by threads": "f32[65536] x -> f32[65536] sort(x), dimensions={0}, to_apply=less",
        "sort: selection": "f32[64,4096] x -> t = (f32[64,4], s32[64,4]) topk(x), k=4, largest=true;"
        " f32[64,4] get-tuple-element(t), index=0",
        "sort: network for each line": "f32[64,64] x -> f32[64,64] sort(x), dimensions={1}, to_apply=less",
        "sort: radix sort": "s64[100000] x; f64[100000] y -> t = (s64[100000], f64[100000]) sort(x, y),"
        " dimensions={0}, is_stable=true, to_apply=by_first; s64[100000] get-tuple-element(t), index=0",
        "sort: merge sort": "f32[1000] x; f32[1000] y -> (f32[1000], f32[1000]) sort(x, y), dimensions={0},"
        " to_apply=by_both",
        "cholesky: panels": "f32[64,64] x -> f32[64,64] cholesky(x), lower=true",
        "triangular-solve: strips": _solve("64,64", "64,64"),
        "triangular-solve: one side at a time": _solve("64,64", "64,1"),
        "fft: passes": "c64[64] x -> c64[64] fft(x), fft_type=FFT, fft_length={64}",
        "lapack: matrix by matrix": "f32[80,80] x -> t = (f32[80,80], f32[80])"
        ' custom-call(x), custom_call_target="lapack_sgeqrf_ffi"; f32[80,80] get-tuple-element(t), index=0',
        "foreign: call of Python": 'f32[4] x -> f32[4] custom-call(x), custom_call_target="op"',
        "iteration: blocks": ITERATION,
    }
)

GPU = _programs(
    {
        "loop: dot": _dot(64, 64, 64, "c64", "c64"),
        "loop: transposing tiles": "f32[512,512] x -> f32[512,512] transpose(x), dimensions={1,0}",
        "loop: threads for elements": "f32[100] x -> f32[100] negate(x)",
        "iteration: a thread for each element": ITERATION,
        "iteration: survivors put together": "s32[32768] t; f32[32768] x -> i = s32[] constant(0);"
        " s = (s32[], s32[32768], f32[32768]) tuple(i, t, x);"
        " w = (s32[], s32[32768], f32[32768]) while(s), condition=any_left, body=counted;"
        " f32[32768] get-tuple-element(w), index=2",
        "reduce: a thread for each result": f"f32[65536,3] x -> {ZERO};"
        " f32[65536] reduce(x, z), dimensions={1}, to_apply=add",
        "reduce: a team for each row": f"f32[64,500] x -> {ZERO}; f32[64] reduce(x, z), dimensions={{1}}, to_apply=add",
        "reduce: a block for each strip": f"f32[2048,2048] x -> {ZERO};"
        " f32[2048] reduce(x, z), dimensions={0}, to_apply=add",
        "reduce: a block for each result": f"f32[4,65536] x -> {ZERO};"
        " f32[4] reduce(x, z), dimensions={1}, to_apply=add",
        "row: rows in registers": ROW.format(512),
        "row: rows in the workspace": f"{LONG} x; {LONG} y; {LONG} w -> {ZERO};"
        f" m = {LONG} multiply(x, y); n = {LONG} multiply(m, w);"
        f" s = f32[64] reduce(n, z), dimensions={{1}}, to_apply=add; b = {LONG} broadcast(s), dimensions={{0}};"
        f" {LONG} subtract(n, b)",
        "dot: tiles": _dot(256, 256, 256),
        "dot: a matrix by few vectors": _dot(2, 64, 4096),
        "dot: a block for each strip": _dot(16, 64, 256),
        "dot: a block for each element": "f32[4096,2] x; f32[4096,4] y ->"
        " f32[2,4] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "dot: a warp for each element": "f32[16,64] x; f32[16,64] y ->"
        " f32[16,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
        "dot: a thread for each element": _dot(2, 4, 8),
        "convolution: matrix product": _convolution("2,16,16,64", "1,1,64,64", "2,16,16,64", "size=1x1"),
        "convolution: tiles": _convolution("2,18,18,16", "3,3,16,64", "2,16,16,64", "size=3x3"),
        "convolution: a block for each strip": _convolution("8,10,10,8", "3,3,8,32", "8,8,8,32", "size=3x3"),
        "convolution: a block for each element": _convolution("1,5,5,64", "3,3,64,2", "1,3,3,2", "size=3x3"),
        "convolution: a warp for each element": _convolution("1,5,5,16", "3,3,16,2", "1,3,3,2", "size=3x3"),
        "convolution: a thread for each element": _convolution("1,5,5,2", "3,3,2,2", "1,3,3,2", "size=3x3"),
        "convolution: element by element": _convolution("1,514,514,2", "3,3,2,2", "1,512,512,2", "size=3x3"),
        "reduce-window: scan, a thread for each line": _scan(256, 64, inner=64),
        "reduce-window: scan, a block for each part of a line": _scan(1, 1 << 20),
        "reduce-window: scan, a block for each line": _scan(64, 64),
        "reduce-window: windows element by element": f"f32[64,64] x -> {ZERO};"
        " f32[62,62] reduce-window(x, z), window={size=3x3}, to_apply=add",
        "scatter: elements find their windows": "f32[64] x; s32[4096] i; f32[4096] u -> s = (s32[4096], f32[4096])"
        " sort(i, u), dimensions={0}, is_stable=true, to_apply=below; j = s32[4096] get-tuple-element(s), index=0;"
        " v = f32[4096] get-tuple-element(s), index=1;"
        f" f32[64] scatter(x, j, v), {ELEMENTS}, indices_are_sorted=true, to_apply=least",
        "scatter: a block for each element": "f32[64] x; s32[4096] i; f32[4096] u -> s = (s32[4096], f32[4096])"
        " sort(i, u), dimensions={0}, is_stable=true, to_apply=below; j = s32[4096] get-tuple-element(s), index=0;"
        " v = f32[4096] get-tuple-element(s), index=1;"
        f" f32[64] scatter(x, j, v), {ELEMENTS}, indices_are_sorted=true, to_apply=add",
        "scatter: elements ask windows": "f32[64,64] x; s32[64,1] i; f32[64,64] u ->"
        f" f32[64,64] scatter(x, i, u), {ROWS}, to_apply=add",
        "scatter: updates by atomic operations": SCATTER,
        "scatter: updates in order": "f32[262144] x; s32[8,1] i; f32[8] u ->"
        f" f32[262144] scatter(x, i, u), {ELEMENTS}, to_apply=add",
        "sort: a block for each line": "f32[64,64] x -> f32[64,64] sort(x), dimensions={1}, to_apply=less",
        "sort: the first of each part": "f32[64,4096] x -> t = (f32[64,4], s32[64,4]) topk(x), k=4, largest=true;"
        " f32[64,4] get-tuple-element(t), index=0",
        "sort: ranks in several runs": "f32[65536] x -> f32[65536] sort(x), dimensions={0}, to_apply=less",
        "sort: digit by digit": "f32[524288] x -> f32[524288] sort(x), dimensions={0}, to_apply=less",
        "sort: merges of runs": "f32[524288] x -> f32[524288] sort(x), dimensions={0}, to_apply=uneven",
        "cholesky: panels": "f32[512,512] x -> f32[512,512] cholesky(x), lower=true",
        "cholesky: a block for each matrix": "f32[8,8] x -> f32[8,8] cholesky(x), lower=true",
        "triangular-solve: a thread for each side": _solve("4,4", "4,4096"),
        "triangular-solve: squares, a block for a few sides": _solve("512,512", "512,2"),
        "fft: passes": "c64[64] x -> c64[64] fft(x), fft_type=FFT, fft_length={64}",
        "select-and-scatter: elements ask windows": f"f32[64,64] x; f32[32,32] u -> {ZERO};"
        " f32[64,64] select-and-scatter(x, u, z), window={size=2x2 stride=2x2}, select=more, scatter=add",
        "update: a thread for each element": "f32[64] x; f32[8] u; s32[] i -> n = f32[64] sort(x), dimensions={0},"
        " to_apply=less; f32[64] dynamic-update-slice(n, u, i)",
    }
)

NOTHING = _programs(
    {
        "loop": "f32[0] x -> f32[0] negate(x)",
        "reduce": f"f32[0,4] x -> {ZERO}; f32[0] reduce(x, z), dimensions={{1}}, to_apply=add",
        "dot": _dot(0, 4, 4),
        "cholesky": "f32[0,0] x -> f32[0,0] cholesky(x), lower=true",
        "scatter": f"f32[0] x; s32[8,1] i; f32[8] u -> f32[0] scatter(x, i, u), {ELEMENTS}, to_apply=add",
        "sort": "f32[0] x -> f32[0] sort(x), dimensions={0}, to_apply=less",
        "triangular-solve": _solve("4,4", "4,0"),
        "update": "f32[64] x; f32[0] u; s32[] i -> f32[64] fusion(x, u, i), kind=kLoop, calls=updated,"
        " output_to_operand_aliasing={{}: (0, {})}",
    }
)
"""Kernels without elements by their kinds: passes leave none, so these are what they are without any."""

_STRATEGIES = {"cpu": CPU, "nvptx": GPU}


def kernels(backend: str, kind: KernelKind, strategy: str) -> Iterator[Kernel]:
    """The kernels of that kind in the program for a strategy."""
    if strategy == "nothing":
        yield kernel_of(compiler.parse(NOTHING[kind.value]).entry.root)
        return
    module = compiler.parse(_STRATEGIES[backend][f"{kind.value}: {strategy}"])
    run(module, PIPELINES[BACKENDS[backend].pipeline], CompileOptions(threads=2))
    for instruction in scheduled(module.entry):
        kernel = kernel_of(instruction)
        if kernel.kind is kind:
            yield kernel
