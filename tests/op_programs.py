"""A small program for each opcode that the reference evaluates, and for forms that look at more than the opcode."""

from __future__ import annotations

from compiler.ops import OPS

_SCALARS = """
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
below { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
twice { a = f32[] parameter(0) ROOT s = f32[] add(a, a) }
pair { a = f32[4] parameter(0) ROOT t = f32[4] add(a, a) }
step { a = f32[] parameter(0) b = f32[] parameter(1) n = f32[] add(a, b) ROOT t = (f32[], f32[]) tuple(n, n) }
small { s = (s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
next { s = (s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(1)
  j = s32[] add(i, n) ROOT t = (s32[]) tuple(j) }
"""
"""Computations that the programs below call."""

_LINES = {
    "add-dependency": "t = token[] after-all() ROOT r = f32[4] add-dependency(x, t)",
    "after-all": "t = token[] after-all() ROOT r = f32[4] add-dependency(x, t)",
    "all-gather": "ROOT r = f32[4] all-gather(x), dimensions={0}, replica_groups={{0}}",
    "all-gather-start": "s = (f32[4], f32[4]) all-gather-start(x), dimensions={0}, replica_groups={{0}}"
    " ROOT r = f32[4] all-gather-done(s)",
    "all-reduce": "ROOT r = f32[4] all-reduce(x), to_apply=add, replica_groups={}",
    "all-reduce-start": "s = f32[4] all-reduce-start(x), to_apply=add, replica_groups={}"
    " ROOT r = f32[4] all-reduce-done(s)",
    "all-to-all": "ROOT r = f32[4] all-to-all(x), dimensions={0}, replica_groups={{0}}",
    "async-start": "s = ((f32[4]), f32[4], u32[]) async-start(x), calls=pair"
    " u = ((f32[4]), f32[4], u32[]) async-update(s) ROOT r = f32[4] async-done(u)",
    "batch-norm-grad": "ROOT r = (f32[2,3], f32[3], f32[3]) batch-norm-grad(m, v, v, w, m), epsilon=1, feature_index=1",
    "batch-norm-inference": "ROOT r = f32[2,3] batch-norm-inference(m, v, v, v, w), epsilon=1, feature_index=1",
    "batch-norm-training": "ROOT r = (f32[2,3], f32[3], f32[3]) batch-norm-training(m, v, v), epsilon=1,"
    " feature_index=1",
    "bitcast": "ROOT r = f32[3,2] bitcast(m)",
    "bitcast-convert": "ROOT r = s32[4] bitcast-convert(x)",
    "broadcast": "ROOT r = f32[2,4] broadcast(x), dimensions={1}",
    "call": "ROOT r = f32[4] call(x), to_apply=pair",
    "cholesky": "d = f32[2,2] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={1}"
    " ROOT r = f32[2,2] cholesky(d), lower=true",
    "clamp": "ROOT r = f32[4] clamp(x, x, y)",
    "collective-broadcast": "ROOT r = f32[4] collective-broadcast(x), replica_groups={{0}}",
    "collective-permute": "ROOT r = f32[4] collective-permute(x), source_target_pairs={{0,0}}",
    "collective-permute-start": "s = (f32[4], f32[4], u32[], u32[]) collective-permute-start(x),"
    " source_target_pairs={{0,0}} ROOT r = f32[4] collective-permute-done(s)",
    "compare": "ROOT r = pred[4] compare(x, y), direction=LT",
    "complex": "ROOT r = c64[4] complex(x, y)",
    "concatenate": "ROOT r = f32[8] concatenate(x, y), dimensions={0}",
    "conditional": "ROOT r = f32[4] conditional(p, x, y), true_computation=pair, false_computation=pair",
    "constant": "ROOT r = f32[2] constant({1, 2})",
    "convert": "ROOT r = s32[4] convert(x)",
    "convolution": "a = f32[1,4,1] reshape(x) h = f32[2] slice(y), slice={[0:2]} b = f32[2,1,1] reshape(h)"
    " ROOT r = f32[1,3,1] convolution(a, b), window={size=2}, dim_labels=b0f_0io->b0f",
    "copy-start": "s = (f32[4], f32[4], u32[]) copy-start(x) ROOT r = f32[4] copy-done(s)",
    "custom-call": 'ROOT r = f32[4] custom-call(x), custom_call_target="Sharding"',
    "domain": 'ROOT r = f32[4] domain(x), domain={kind="sharding", entry={maximal device=0}, exit={maximal device=0}}',
    "dot": "ROOT r = f32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    "dynamic-reshape": "n = s32[] constant(2) ROOT r = f32[2,2] dynamic-reshape(x, n, n)",
    "dynamic-slice": "ROOT r = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}",
    "dynamic-update-slice": "u = f32[2] slice(y), slice={[0:2]} ROOT r = f32[4] dynamic-update-slice(x, u, i)",
    "fft": "c = c64[4] complex(x, y) ROOT r = c64[4] fft(c), fft_type=FFT, fft_length={4}",
    "fusion": "ROOT r = f32[4] fusion(x), kind=kLoop, calls=pair",
    "gather": "ROOT r = f32[2,3] gather(m, j), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},"
    " index_vector_dim=1, slice_sizes={1,3}",
    "get-dimension-size": "ROOT r = s32[] get-dimension-size(x), dimensions={0}",
    "get-tuple-element": "t = (f32[4], f32[4]) tuple(x, y) ROOT r = f32[4] get-tuple-element(t), index=1",
    "imag": "c = c64[4] complex(x, y) ROOT r = f32[4] imag(c)",
    "iota": "ROOT r = s32[4] iota(), iota_dimension=0",
    "is-finite": "ROOT r = pred[4] is-finite(x)",
    "map": "ROOT r = f32[4] map(x), dimensions={0}, to_apply=twice",
    "opt-barrier": "ROOT r = f32[4] opt-barrier(x)",
    "pad": "ROOT r = f32[7] pad(x, o), padding=1_2_0",
    "partition-id": "ROOT r = u32[] partition-id()",
    "ragged-all-to-all": "ROOT r = f32[4] ragged-all-to-all(x, y, j, j, j, j), replica_groups={{0}}",
    "ragged-dot": "b = f32[2,3,1] broadcast(v), dimensions={1} ROOT r = f32[2,1] ragged-dot(m, b, j),"
    " lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
    "real": "c = c64[4] complex(x, y) ROOT r = f32[4] real(c)",
    "reduce": "ROOT r = f32[] reduce(x, o), dimensions={0}, to_apply=add",
    "reduce-precision": "ROOT r = f32[4] reduce-precision(x), exponent_bits=5, mantissa_bits=10",
    "reduce-scatter": "ROOT r = f32[4] reduce-scatter(x), dimensions={0}, to_apply=add, replica_groups={{0}}",
    "reduce-window": "ROOT r = f32[3] reduce-window(x, o), window={size=2}, to_apply=add",
    "replica-id": "ROOT r = u32[] replica-id()",
    "reshape": "ROOT r = f32[2,2] reshape(x)",
    "reverse": "ROOT r = f32[4] reverse(x), dimensions={0}",
    "rng": "a = f32[] constant(0) b = f32[] constant(1) ROOT r = f32[4] rng(a, b), distribution=rng_uniform",
    "rng-bit-generator": "s = u64[2] constant({1, 2})"
    " ROOT r = (u64[2], u32[4]) rng-bit-generator(s), algorithm=rng_three_fry",
    "scaled-dot": "ROOT r = f32[] scaled-dot(x, y, z, z), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    "scan": "ROOT r = (f32[4], f32[]) scan(x, o), dimensions={0}, num_carries=1, to_apply=step",
    "scatter": "u = f32[2,3] negate(m) ROOT r = f32[2,3] scatter(m, j, u), update_window_dims={1},"
    " inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
    "select": "ROOT r = f32[4] select(q, x, y)",
    "select-and-scatter": "u = f32[2] slice(y), slice={[0:2]}"
    " ROOT r = f32[4] select-and-scatter(x, u, o), window={size=2 stride=2}, select=below, scatter=add",
    "set-dimension-size": "n = s32[] constant(4) ROOT r = f32[4] set-dimension-size(x, n), dimensions={0}",
    "slice": "ROOT r = f32[2] slice(x), slice={[1:3]}",
    "sort": "ROOT r = f32[4] sort(x), dimensions={0}, to_apply=below",
    "stochastic-convert": "b = u32[4] constant({1, 2, 3, 4}) ROOT r = s32[4] stochastic-convert(x, b)",
    "topk": "ROOT r = (f32[2], s32[2]) topk(x), k=2, largest=true",
    "transpose": "ROOT r = f32[3,2] transpose(m), dimensions={1,0}",
    "triangular-solve": "a = f32[2,2] slice(m), slice={[0:2], [0:2]}"
    " ROOT r = f32[2,3] triangular-solve(a, m), left_side=true, lower=true, unit_diagonal=true,"
    " transpose_a=NO_TRANSPOSE",
    "tuple": "ROOT r = (f32[4], f32[4]) tuple(x, y)",
    "while": "t = (s32[]) tuple(i) ROOT r = (s32[]) while(t), condition=small, body=next",
}
"""The entry computation's last lines, by opcode; an opcode whose second half is another's is tested with it."""

_SECOND_HALVES = {
    "all-gather-done": "all-gather-start",
    "all-reduce-done": "all-reduce-start",
    "async-update": "async-start",
    "async-done": "async-start",
    "collective-permute-done": "collective-permute-start",
    "copy-done": "copy-start",
}
_INTEGER = {"and", "or", "xor", "not", "shift-left", "shift-right-arithmetic", "shift-right-logical", "popcnt",
           "count-leading-zeros", "mulhi"}  # fmt: skip


def program(opcode: str) -> str:
    """A program in which the opcode is used on small arrays."""
    opcode = _SECOND_HALVES.get(opcode, opcode)
    line = _LINES.get(opcode)
    if line is None:
        element_type = "s32" if opcode in _INTEGER else "f32"
        names = ("k", "l") if opcode in _INTEGER else ("x", "y")
        line = f"ROOT r = {element_type}[4] {opcode}({', '.join(names[: OPS[opcode].operands[0]])})"
    return around(line)


def around(line: str, computations: str = "") -> str:
    """A program whose entry computation ends in that line, with further computations."""
    return f"""HloModule every
{_SCALARS}{computations}
ENTRY e {{
  x = f32[4] parameter(0) y = f32[4] parameter(1) m = f32[2,3] parameter(2) v = f32[3] parameter(3)
  k = s32[4] parameter(4) l = s32[4] parameter(5) p = pred[] parameter(6) q = pred[4] parameter(7)
  i = s32[] constant(1) j = s32[2] constant({{1, 0}}) w = f32[3] constant({{1, 2, 3}}) z = f32[] constant(2)
  o = f32[] constant(0)
  {line}
}}"""


EVALUATED = [opcode for opcode, op in OPS.items() if op.evaluate is not None]
"""The opcodes that have a program."""

_COMPUTATIONS = """
softest { a = f32[] parameter(0) b = f32[] parameter(1) x = f32[] exponential(a) y = f32[] exponential(b)
  s = f32[] add(x, y) ROOT r = f32[] log(s) }
furthest { a = f32[] parameter(0) b = f32[] parameter(1) x = f32[] abs(a) y = f32[] abs(b)
  c = pred[] compare(x, y), direction=GE ROOT r = f32[] select(c, a, b) }
alone { a = f32[] parameter(0) b = f32[] parameter(1) s = f32[] add(a, b) ROOT t = (f32[]) tuple(s) }
greatest { v = f32[] parameter(0) i = s32[] parameter(1) w = f32[] parameter(2) j = s32[] parameter(3)
  c = pred[] compare(v, w), direction=GE x = f32[] select(c, v, w) y = s32[] select(c, i, j)
  ROOT t = (f32[], s32[]) tuple(x, y) }
product { a = c64[] parameter(0) b = c64[] parameter(1) ROOT r = c64[] multiply(a, b) }
nearer { a = f32[] parameter(0) b = f32[] parameter(1) x = f32[] abs(a) y = f32[] abs(b)
  ROOT r = pred[] compare(x, y), direction=LT }
looped { a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] constant(0) t = (s32[]) tuple(i)
  w = (s32[]) while(t), condition=small, body=next n = s32[] get-tuple-element(w), index=0 f = f32[] convert(n)
  s = f32[] maximum(a, f) ROOT r = f32[] maximum(s, b) }
"""
_SQUARE = "d = f32[2,2] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={1}"
_INDICES = "e = s32[2,3] iota(), iota_dimension=1"


def _lapack(routine: str, result: str, operands: str = "d", **options: str | int) -> str:
    listed = ", ".join(
        f"{name} = {ord(value)} : ui8" if isinstance(value, str) else f"{name} = {value} : i32"
        for name, value in options.items()
    )
    config = '", backend_config="{' + listed + "}" if listed else ""
    return f'{_SQUARE} ROOT r = {result} custom-call({operands}), custom_call_target="lapack_s{routine}_ffi{config}"'


_FORMS = {
    "all-gather of nothing": "ROOT r = f32[4] all-gather(x), dimensions={0}, replica_groups={{0}}",
    "collective-permute to nobody": "ROOT r = f32[4] collective-permute(x), source_target_pairs={}",
    "cholesky, upper": f"{_SQUARE} ROOT r = f32[2,2] cholesky(d), lower=false",
    "cholesky of what may have none": "a = f32[2,2] slice(m), slice={[0:2], [0:2]}"
    " ROOT r = f32[2,2] cholesky(a), lower=true",
    "dot of bf16": "a = bf16[4] convert(x) b = bf16[4] convert(y)"
    " ROOT r = bf16[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    "reduce by an odd sum": "ROOT r = f32[2] reduce(m, o), dimensions={1}, to_apply=softest",
    "reduce by a choice": "ROOT r = f32[] reduce(x, o), dimensions={0}, to_apply=furthest",
    "reduce by a loop": "ROOT r = f32[] reduce(x, o), dimensions={0}, to_apply=looped",
    "reduce many by a choice": "g = f32[300,4] broadcast(x), dimensions={1} h = f32[300,4] exponential(g)"
    " ROOT r = f32[] reduce(h, o), dimensions={0,1}, to_apply=furthest",
    "reduce to a tuple of one": "ROOT r = (f32[2]) reduce(m, o), dimensions={1}, to_apply=alone",
    "reduce of pairs": f"{_INDICES} ROOT r = (f32[2], s32[2]) reduce(m, e, o, i), dimensions={{1}}, to_apply=greatest",
    "reduce of complex factors": "c = c64[4] complex(x, y) u = c64[] constant((1, 0))"
    " ROOT r = c64[] reduce(c, u), dimensions={0}, to_apply=product",
    "reduce-window by an odd sum": "ROOT r = f32[4] reduce-window(x, o), window={size=2 pad=1_0}, to_apply=softest",
    "reduce-window to a tuple of one": "ROOT r = (f32[3]) reduce-window(x, o), window={size=2}, to_apply=alone",
    "reduce-window of pairs": f"{_INDICES} ROOT r = (f32[2,2], s32[2,2]) reduce-window(m, e, o, i),"
    " window={size=1x2}, to_apply=greatest",
    "scan by an odd sum of rounded numbers": "g = f32[4] exponential(x) ROOT r = (f32[4], f32[]) scan(g, o),"
    " dimensions={0}, num_carries=1, to_apply=step",
    "scatter by an odd sum": "u = f32[2,3] negate(m) ROOT r = f32[2,3] scatter(m, j, u), update_window_dims={1},"
    " inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=softest",
    "scatter of pairs": f"{_INDICES} u = f32[2,3] exponential(m) ROOT r = (f32[2,3], s32[2,3]) scatter(m, e, j, u, e),"
    " update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,"
    " to_apply=greatest",
    "select-and-scatter by an odd sum": "u = f32[2] slice(y), slice={[0:2]}"
    " ROOT r = f32[4] select-and-scatter(x, u, o), window={size=2 stride=2}, select=below, scatter=softest",
    "sort by magnitude": "ROOT r = f32[4] sort(x), dimensions={0}, to_apply=nearer, is_stable=true",
    "sort of rounded numbers by magnitude": "g = f32[4] exponential(x)"
    " ROOT r = f32[4] sort(g), dimensions={0}, to_apply=nearer, is_stable=true",
    "TopK": 'ROOT r = (f32[2], s32[2]) custom-call(x), custom_call_target="TopK"',
    "TopK of rounded numbers": "g = f32[4] exponential(x)"
    ' ROOT r = (f32[2], s32[2]) custom-call(g), custom_call_target="TopK"',
    "potrf, lower": _lapack("potrf", "(f32[2,2], s32[])", uplo="L"),
    "potrf, upper": _lapack("potrf", "(f32[2,2], s32[])", uplo="U"),
    "trsm": _lapack("trsm", "f32[2,3]", "d, m", side="L", uplo="L", trans_x="T", diag="N"),
    "getrf": _lapack("getrf", "(f32[2,2], s32[2], s32[])"),
    "getrf of a wide matrix": _lapack("getrf", "(f32[2,3], s32[2], s32[])", "m"),
    "geqrf": _lapack("geqrf", "(f32[2,3], f32[2])", "m"),
    "orgqr": "a = f32[2,2] slice(m), slice={[0:2], [0:2]} t = f32[2] slice(x), slice={[0:2]} "
    'ROOT r = f32[2,2] custom-call(a, t), custom_call_target="lapack_sorgqr_ffi"',
    "ormqr": "a = f32[2,1] slice(m), slice={[0:2], [0:1]} t = f32[1] slice(x), slice={[0:1]} "
    'ROOT r = f32[2,3] custom-call(a, t, m), custom_call_target="lapack_sormqr_ffi", '
    "backend_config={left = true, transpose = true}",
    "gesdd": _lapack("gesdd", "(f32[2,3], f32[2], f32[2,2], f32[2,3], s32[])", "m", mode="S"),
    "gesvd": _lapack("gesvd", "(f32[2,3], f32[2], f32[2,2], f32[2,3], s32[])", "m", mode="S"),
    "syevd": _lapack("syevd", "(f32[2,2], f32[2], s32[])", mode="V", uplo="L"),
    "geev": _lapack("geev", "(f32[2], f32[2], c64[2,2], c64[2,2], s32[])", compute_left="V", compute_right="V"),
    "gehrd": _lapack("gehrd", "(f32[2,2], f32[1], s32[])", low=1, high=2),
    "sytrd": _lapack("sytrd", "(f32[2,2], f32[2], f32[2], f32[1], s32[])", uplo="L"),
}

FORMS = {name: around(line, _COMPUTATIONS) for name, line in _FORMS.items()}
"""Programs with computations of their own, routines of LAPACK, results of several arrays."""
