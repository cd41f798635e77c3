"""Programs with a kernel of every kind in every form that a GPU has for it, and those that run under control flow."""

from __future__ import annotations

from typing import Any

import numpy as np

import compiler
from compiler import inputs

REDUCERS = """
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
addi { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = s32[] add(a, b) }
addb { a = bf16[] parameter(0)  b = bf16[] parameter(1)  ROOT r = bf16[] add(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
and { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] and(a, b) }
mul { a = f64[] parameter(0)  b = f64[] parameter(1)  ROOT r = f64[] multiply(a, b) }
argmax {
  a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  less = pred[] compare(a, b), direction=LT
  equal = pred[] compare(a, b), direction=EQ
  first = s32[] minimum(i, j)
  index = s32[] select(less, j, i)
  ROOT r = (f32[], s32[]) tuple(f32[] maximum(a, b), s32[] select(equal, first, index))
}
lt { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
gt2 {
  a = s32[] parameter(0)  b = s32[] parameter(1)  c = bf16[] parameter(2)  d = bf16[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=GT
}
ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }
last { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] copy(b) }
"""


def reduction(dims: str, out: str, over: str, *, type_: str = "f32", reducer: str = "add", start: str = "0") -> str:
    return f"""
  x = {type_}[{dims}] parameter(0)
  z = {type_}[] constant({start})
  ROOT r = {type_}[{out}] reduce(x, z), dimensions={{{over}}}, to_apply={reducer}"""


def dot(lhs: str, rhs: str, out: str, how: str, *, types: tuple[str, str] = ("f32", "f32")) -> str:
    return f"""
  x = {types[0]}[{lhs}] parameter(0)
  y = {types[0]}[{rhs}] parameter(1)
  ROOT r = {types[1]}[{out}] dot(x, y), {how}"""


MATMUL = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
EVEN = "  x = f32[{0}] parameter(0)\n  y = f32[{0}] multiply(x, x)\n  ROOT r = f32[{0}] add(y, x)"

PROGRAMS = {
    "loop of one": EVEN.format("1"),
    "loop of an odd size": EVEN.format("1023"),
    "loop of a large even size": EVEN.format("130,128"),
    "loop of a large odd size": EVEN.format("129,127"),
    "loop of a scalar": "  x = f32[] parameter(0)\n  ROOT r = f32[] exponential(x)",
    "loop of bytes": "  x = s8[70,128] parameter(0)\n  ROOT r = s8[70,128] add(x, x)",
    "loop of halves": "  x = bf16[70,128] parameter(0)\n  ROOT r = bf16[70,128] add(x, x)",
    "loop of doubles": "  x = f64[70,128] parameter(0)\n  ROOT r = f64[70,128] add(x, x)",
    "loop of complex": "  x = c64[70,128] parameter(0)\n  ROOT r = c64[70,128] multiply(x, x)",
    "loop of predicates": "  x = f32[70,128] parameter(0)\n  ROOT r = pred[70,128] compare(x, x), direction=GT",
    "loop with two types": """
  x = s8[8192] parameter(0)
  y = f64[8192] parameter(1)
  c = f64[8192] convert(x)
  s = f64[8192] add(c, y)
  ROOT t = (f64[8192], f32[8192]) tuple(s, f32[8192] convert(s))""",
    "broadcast along rows and columns": """
  x = f32[100] parameter(0)
  y = f32[52] parameter(1)
  a = f32[100,52] broadcast(x), dimensions={0}
  b = f32[100,52] broadcast(y), dimensions={1}
  ROOT r = f32[100,52] add(a, b)""",
    "transpose": "  x = f32[67,130] parameter(0)\n  ROOT r = f32[130,67] transpose(x), dimensions={1,0}",
    "transpose of whole tiles": "  x = f32[64,96] parameter(0)\n  ROOT r = f32[96,64] transpose(x), dimensions={1,0}",
    "transpose of bytes": "  x = s8[67,130] parameter(0)\n  ROOT r = s8[130,67] transpose(x), dimensions={1,0}",
    "transpose of a batch": "  x = f64[3,40,35] parameter(0)\n  ROOT r = f64[3,35,40] transpose(x), dimensions={0,2,1}",
    "transpose of 4": "  x = s16[2,33,4,34] parameter(0)\n  ROOT r = s16[34,4,2,33] transpose(x), dimensions={3,2,0,1}",
    "transpose of complex": "  x = c128[40,35] parameter(0)\n  ROOT r = c128[35,40] transpose(x), dimensions={1,0}",
    "transpose, padded": """
  x = f32[40,35] parameter(0)
  z = f32[] constant(7)
  t = f32[35,40] transpose(x), dimensions={1,0}
  p = f32[38,42] pad(t, z), padding=1_2x0_2
  ROOT r = f32[38,42] add(p, p)""",
    "transpose, twice over": """
  x = f32[40,35] parameter(0)
  y = bf16[40,35] parameter(1)
  s = f32[35,40] transpose(x), dimensions={1,0}
  t = bf16[35,40] transpose(y), dimensions={1,0}
  c = f32[35,40] convert(t)
  l = pred[35,40] compare(s, c), direction=LT
  ROOT r = (f32[35,40], pred[35,40]) tuple(f32[35,40] add(s, c), l)""",
    "transpose and its source": """
  x = f32[50,50] parameter(0)
  y = f32[50,50] parameter(1)
  t = f32[50,50] transpose(x), dimensions={1,0}
  u = f32[50,50] transpose(y), dimensions={1,0}
  ROOT r = f32[50,50] multiply(f32[50,50] add(t, x), u)""",
    "data movement": """
  x = f32[6,10] parameter(0)
  z = f32[] constant(3)
  i = s32[] parameter(1)
  a = f32[9,10] pad(x, z), padding=1_2x-1_1
  b = f32[3,5] slice(a), slice={[0:9:3], [5:10]}
  c = f32[3,5] reverse(b), dimensions={1}
  d = f32[6,5] concatenate(b, c), dimensions={0}
  e = f32[30] reshape(d)
  f = f32[30] iota(), iota_dimension=0
  g = f32[4] dynamic-slice(f32[30] add(e, f), i), dynamic_slice_sizes={4}
  ROOT r = f32[30] dynamic-update-slice(e, g, i)""",
    "update of nothing": """
  x = f32[2,0] parameter(0)
  u = f32[1,0] parameter(1)
  i = s32[] parameter(2)
  ROOT r = f32[2,0] dynamic-update-slice(f32[2,0] negate(x), u, i, i)""",
    "gather": """
  x = f32[20,7] parameter(0)
  i = s32[11] parameter(1)
  ROOT r = f32[11,7] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
    index_vector_dim=1, slice_sizes={1,7}""",
    "reduce one row": reduction("1000", "", "0"),
    "reduce a row of one": reduction("1", "", "0"),
    "reduce three elements": reduction("3", "", "0"),
    "reduce rows": reduction("37,100", "37", "1"),
    "reduce short rows": reduction("300,5", "300", "1"),
    "reduce columns": reduction("100,37", "37", "0"),
    "reduce many columns": reduction("9,2100", "2100", "0"),
    "reduce a long row in chunks": reduction("40000", "", "0"),
    "reduce long columns in chunks": reduction("9000,3", "3", "0"),
    "reduce columns in strips and chunks": reduction("3000,33", "33", "0"),
    "reduce the middle in strips": reduction("5,600,64", "5,64", "1"),
    "reduce columns of few": reduction("5,300", "300", "0"),
    "reduce the middle": reduction("5,60,7", "5,7", "1"),
    "reduce the outside": reduction("5,60,7", "60", "0,2"),
    "reduce nothing": reduction("5,6", "5,6", ""),
    "reduce an empty dimension": reduction("5,0", "5", "1", start="2"),
    "reduce to an empty result": reduction("0,5", "0", "1"),
    "reduce integers": reduction("40000", "", "0", type_="s32", reducer="addi"),
    "reduce bf16": reduction("13,700", "13", "1", type_="bf16", reducer="addb"),
    "reduce f64": reduction("13,70", "13", "1", type_="f64", reducer="mul", start="1"),
    "reduce predicates": reduction("13,70", "13", "1", type_="pred", reducer="and", start="true"),
    "reduce to the maximum": reduction("13,700", "13", "1", reducer="max", start="-inf"),
    "reduce variadically": """
  x = f32[70,300] parameter(0)
  i = s32[70,300] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  zero = s32[] constant(0)
  ROOT r = (f32[70], s32[70]) reduce(x, i, low, zero), dimensions={1}, to_apply=argmax""",
    "reduce with a producer and two results": """
  x = f32[40,90] parameter(0)
  z = f32[] constant(0)
  y = f32[40,90] exponential(x)
  s = f32[40] reduce(y, z), dimensions={1}, to_apply=add
  m = f32[40] reduce(y, z), dimensions={1}, to_apply=max
  ROOT r = (f32[40], f32[40]) tuple(s, m)""",
    "softmax": """
  x = f32[33,100] parameter(0)
  low = f32[] constant(-inf)
  z = f32[] constant(0)
  m = f32[33] reduce(x, low), dimensions={1}, to_apply=max
  w = f32[33,100] broadcast(m), dimensions={0}
  s = f32[33,100] subtract(x, w)
  e = f32[33,100] exponential(s)
  t = f32[33] reduce(e, z), dimensions={1}, to_apply=add
  v = f32[33,100] broadcast(t), dimensions={0}
  ROOT r = f32[33,100] divide(e, v)""",
    "softmax of short rows": """
  x = bf16[7,10] parameter(0)
  y = f32[7,10] convert(x)
  low = f32[] constant(-inf)
  z = f32[] constant(0)
  m = f32[7] reduce(y, low), dimensions={1}, to_apply=max
  w = f32[7,10] broadcast(m), dimensions={0}
  e = f32[7,10] exponential(f32[7,10] subtract(y, w))
  t = f32[7] reduce(e, z), dimensions={1}, to_apply=add
  v = f32[7,10] broadcast(t), dimensions={0}
  ROOT r = f32[7,10] divide(e, v)""",
    "dot": dot("33,50", "50,70", "33,70", MATMUL),
    "dot of whole tiles": dot("128,64", "64,128", "128,128", MATMUL),
    "dot of one tile and a bit": dot("65,17", "17,66", "65,66", MATMUL),
    "dot of vectors": dot("500", "500", "", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
    "dot of a matrix and a vector": dot("70,300", "300", "70", MATMUL),
    "dot of both transposed": dot("50,70", "90,50", "70,90", "lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
    "outer product": dot("70", "80", "70,80", "lhs_contracting_dims={}, rhs_contracting_dims={}"),
    "dot over nothing": dot("5,0", "0,6", "5,6", MATMUL),
    "dot to nothing": dot("0,5", "5,6", "0,6", MATMUL),
    "dot of batches": dot(
        "3,40,20", "3,20,50", "3,40,50",
        "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    ),
    "dot of inner batches and two depths": dot(
        "20,3,40,2", "2,20,50,3", "3,40,50",
        "lhs_batch_dims={1}, rhs_batch_dims={3}, lhs_contracting_dims={0,3}, rhs_contracting_dims={1,0}",
    ),
    "dot of bf16": dot("40,64", "64,72", "40,72", MATMUL, types=("bf16", "f32")),
    "dot of bf16 to bf16": dot("40,64", "64,72", "40,72", MATMUL, types=("bf16", "bf16")),
    "dot of f16": dot("40,50", "50,72", "40,72", MATMUL, types=("f16", "f16")),
    "dot of f64": dot("40,50", "50,72", "40,72", MATMUL, types=("f64", "f64")),
    "dot of s8": dot("40,64", "64,72", "40,72", MATMUL, types=("s8", "s32")),
    "dot of c64": dot("10,12", "12,9", "10,9", MATMUL, types=("c64", "c64")),
    "dot with prologue and epilogue": """
  x = f32[70,50] parameter(0)
  y = s8[50,66] parameter(1)
  b = f32[66] parameter(2)
  w = f32[50,66] convert(y)
  d = f32[70,66] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[70,66] broadcast(b), dimensions={1}
  s = f32[70,66] add(d, c)
  n = f32[] constant(0)
  z = f32[70,66] broadcast(n), dimensions={}
  ROOT r = f32[70,66] maximum(s, z)""",
    "convolution": """
  x = f32[2,9,8,3] parameter(0)
  w = f32[3,2,3,5] parameter(1)
  ROOT r = f32[2,9,4,5] convolution(x, w), window={size=3x2 stride=1x2 pad=1_1x0_0}, dim_labels=b01f_01io->b01f""",
    "grouped convolution": """
  x = f32[2,4,9] parameter(0)
  w = f32[6,2,3] parameter(1)
  ROOT r = f32[2,6,9] convolution(x, w), window={size=3 pad=1_1}, dim_labels=bf0_oi0->bf0, feature_group_count=2""",
    "windows": """
  x = f32[9,10] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[5,5] reduce-window(x, z), window={size=3x2 stride=2x2 pad=1_1x0_0}, to_apply=add""",
    "sort": " x = f32[5,70,3] parameter(0)\n ROOT r = f32[5,70,3] sort(x), dimensions={1}, is_stable=true, to_apply=lt",
    "sort one": "  x = f32[4,1] parameter(0)\n  ROOT r = f32[4,1] sort(x), dimensions={1}, is_stable=true, to_apply=lt",
    "sort a long line": "  x = f32[2100] parameter(0)\n  ROOT r = f32[2100] sort(x), dimensions={0}, to_apply=lt",
    "sort by key, stable": """
  x = s32[99,2] parameter(0)
  n = s32[] constant(4)
  m = s32[99,2] broadcast(n), dimensions={}
  k = s32[99,2] remainder(x, m)
  v = bf16[99,2] iota(), iota_dimension=0
  ROOT r = (s32[99,2], bf16[99,2]) sort(k, v), dimensions={0}, is_stable=true, to_apply=gt2""",
    "sort nothing": "  x = f32[4,0] parameter(0)\n  ROOT r = f32[4,0] sort(x), dimensions={1}, to_apply=lt",
    "topk": "  x = f32[4,50] parameter(0)\n  ROOT r = (f32[4,5], s32[4,5]) topk(x), k=5, largest=true",
    "scatter rows": """
  x = f32[20,7] parameter(0)
  i = s32[31] parameter(1)
  u = f32[31,7] parameter(2)
  ROOT r = f32[20,7] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add""",
    "scatter overlapping windows, last wins": """
  x = f32[20] parameter(0)
  i = s32[9,1] parameter(1)
  u = f32[9,5] parameter(2)
  ROOT r = f32[20] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=last""",
    "scatter integers": """
  x = s32[10] parameter(0)
  i = s32[300] parameter(1)
  u = s32[300] parameter(2)
  ROOT r = s32[10] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=addi""",
    "scatter unique indices": """
  x = f32[40] parameter(0)
  i = s32[9] iota(), iota_dimension=0
  u = f32[9] parameter(1)
  ROOT r = f32[40] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=add""",
    "scatter nothing": """
  x = f32[10] parameter(0)
  i = s32[0] parameter(1)
  u = f32[0] parameter(2)
  ROOT r = f32[10] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add""",
    "select and scatter": """
  x = f32[1,8,8,3] parameter(0)
  s = f32[1,4,4,3] parameter(1)
  z = f32[] constant(0)
  ROOT r = f32[1,8,8,3] select-and-scatter(x, s, z), window={size=1x2x2x1 stride=1x2x2x1}, select=ge, scatter=add""",
    "select and scatter with overlap": """
  x = f32[9,10] parameter(0)
  s = f32[5,5] parameter(1)
  z = f32[] constant(1)
  ROOT r = f32[9,10] select-and-scatter(x, s, z), window={size=3x3 stride=2x2 pad=1_1x0_1}, select=ge, scatter=add""",
    "cholesky": """
  x = f32[2,6,6] parameter(0)
  p = f32[2,6,6] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  i = s32[6,6] iota(), iota_dimension=0
  j = s32[6,6] iota(), iota_dimension=1
  d = pred[6,6] compare(i, j), direction=EQ
  e = f32[6,6] convert(d)
  f = f32[2,6,6] broadcast(e), dimensions={1,2}
  a = f32[2,6,6] add(p, f)
  l = f32[2,6,6] cholesky(a), lower=true
  ROOT r = (f32[2,6,6], f32[2,6,6]) tuple(l, f32[2,6,6] cholesky(a))""",
    "cholesky of what has no factor": """
  x = f32[40,40] iota(), iota_dimension=0
  ROOT r = f32[40,40] cholesky(f32[40,40] negate(x)), lower=true""",
    "fft": """
  x = c64[2,4,6] parameter(0)
  y = c64[2,4,6] fft(x), fft_type=FFT, fft_length={4,6}
  ROOT r = c64[2,4,6] fft(y), fft_type=IFFT, fft_length={6}""",
    "real fft": """
  x = f32[3,4,8] parameter(0)
  y = c64[3,4,5] fft(x), fft_type=RFFT, fft_length={4,8}
  ROOT r = f32[3,4,8] fft(c64[3,4,5] negate(y)), fft_type=IRFFT, fft_length={4,8}""",
    "fft of a line that leaves shared memory": """
  x = f32[2,2048] parameter(0)
  ROOT r = c64[2,1025] fft(x), fft_type=RFFT, fft_length={2048}""",
}  # fmt: skip

for _left, _lower, _how in [
    (a, b, c) for a in (True, False) for b in (True, False) for c in ("NO_TRANSPOSE", "TRANSPOSE")
]:
    _dims = "2,4,3" if _left else "2,3,4"
    PROGRAMS[f"triangular solve left={_left} lower={_lower} {_how}"] = f"""
  x = f32[2,4,4] parameter(0)
  b = f32[{_dims}] parameter(1)
  e = f32[2,4,4] exponential(x)
  ROOT r = f32[{_dims}] triangular-solve(e, b), left_side={str(_left).lower()}, lower={str(_lower).lower()},
    unit_diagonal={str(_lower).lower()}, transpose_a={_how}"""

OF_CONTROL = {
    "while": """
cond { s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  ROOT p = pred[] compare(i, s32[] constant(5)), direction=LT }
body { s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  j = s32[] add(i, s32[] constant(1))  y = f32[8] add(x, x)  ROOT t = (s32[], f32[8]) tuple(j, y) }
ENTRY e { i = s32[] parameter(0)  x = f32[8] parameter(1)  s = (s32[], f32[8]) tuple(i, x)
  ROOT w = (s32[], f32[8]) while(s), condition=cond, body=body }""",
    "while that swaps": """
cond { s = (s32[], f32[8], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  ROOT p = pred[] compare(i, s32[] constant(3)), direction=LT }
body { s = (s32[], f32[8], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1  y = f32[8] get-tuple-element(s), index=2
  j = s32[] add(i, s32[] constant(1))  ROOT t = (s32[], f32[8], f32[8]) tuple(j, y, x) }
ENTRY e { x = f32[8] parameter(0)  y = f32[8] parameter(1)  s = (s32[], f32[8], f32[8]) tuple(s32[] constant(0), x, y)
  ROOT w = (s32[], f32[8], f32[8]) while(s), condition=cond, body=body }""",
    "conditional by predicate": """
yes { x = f32[8] parameter(0)  ROOT r = f32[8] negate(x) }
no { x = f32[8] parameter(0)  ROOT r = f32[8] add(x, x) }
ENTRY e { p = pred[] parameter(0)  x = f32[8] parameter(1)
  ROOT r = f32[8] conditional(p, x, x), true_computation=yes, false_computation=no }""",
    "conditional by number": """
one { x = f32[8] parameter(0)  ROOT r = f32[8] negate(x) }
two { x = f32[8] parameter(0)  ROOT r = f32[8] add(x, x) }
ENTRY e { n = s32[] parameter(0)  x = f32[8] parameter(1)
  ROOT r = f32[8] conditional(n, x, x), branch_computations={one, two} }""",
    "tuples in and out": """
ENTRY e { p = (f32[3], (s32[2], f32[3])) parameter(0)  q = (s32[2], f32[3]) get-tuple-element(p), index=1
  x = f32[3] get-tuple-element(p), index=0  y = f32[3] get-tuple-element(q), index=1
  ROOT t = ((f32[3]), (s32[2], f32[3])) tuple((f32[3]) tuple(f32[3] add(x, y)), q) }""",
}  # fmt: skip


def text_of(name: str) -> str:
    if name in OF_CONTROL:
        return f"HloModule m\n{OF_CONTROL[name]}"
    return f"HloModule m\n{REDUCERS}\nENTRY e {{{PROGRAMS[name]}\n}}"


def draw(module: compiler.Module) -> list[Any]:
    """Inputs; integers are indices that are sometimes out of bounds."""
    drawn = inputs.draw(module, 3)
    rng = np.random.default_rng(0)
    return [
        rng.integers(-2, 22, a.shape).astype(a.dtype) if getattr(a, "dtype", None) == np.int32 else a for a in drawn
    ]
