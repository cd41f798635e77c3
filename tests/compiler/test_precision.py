"""Mixed precision, op by op: what XLA's verifier takes, ours does, and every way to run it means the same."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.backends import BACKENDS
from compiler.ops import OPS
from compiler.precision import EXACT

OPTIONS = compiler.CompileOptions(device="sim", verify_each=True)

_CALLED = """
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
narrow { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT s = bf16[] maximum(a, b) }
below { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
above { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT c = pred[] compare(a, b), direction=GE }
step { a = f32[4] parameter(0) c = f32[4] parameter(1) n = f32[4] add(a, c)
  ROOT t = (f32[4], f32[4]) tuple(n, n) }
"""

_PARAMETERS = """
ENTRY e { x = f32[4,4] parameter(0) y = bf16[4,4] parameter(1) h = f16[4] parameter(2) z = bf16[] constant(0.3)
  one = f32[] constant(1) i = s32[] constant(1) k = s32[2,1] constant({{1},{3}}) """

MIXED = {
    "add": "ROOT r = bf16[4,4] add(x, y)",
    "all-gather": "ROOT r = bf16[4,4] all-gather(x), dimensions={0}, replica_groups={{0}}",
    "all-reduce": "ROOT r = f32[4,4] all-reduce(x), to_apply=narrow, replica_groups={}",
    "all-reduce-start": "s = bf16[4,4] all-reduce-start(y), to_apply=add, replica_groups={}"
    " ROOT r = bf16[4,4] all-reduce-done(s)",
    "all-to-all": "ROOT r = bf16[4,4] all-to-all(x), dimensions={0}, replica_groups={{0}}",
    "atan2": "ROOT r = atan2(x, y)",
    "batch-norm-inference": "v = f32[4] constant({1, 2, 3, 4})"
    " ROOT r = bf16[4,4] batch-norm-inference(x, h, v, h, v), epsilon=1, feature_index=1",
    "broadcast": "ROOT r = bf16[4,4,2] broadcast(x), dimensions={0,1}",
    "cholesky": "d = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1} c = f32[4,4] add(d, x)"
    " ROOT r = bf16[4,4] cholesky(d), lower=true",
    "clamp": "ROOT r = clamp(z, x, y)",
    "collective-permute": "ROOT r = bf16[4,4] collective-permute(x), source_target_pairs={{0,0}}",
    "compare": "ROOT r = pred[4,4] compare(x, y), direction=LT",
    "complex": "ROOT r = c64[4,4] complex(x, y)",
    "concatenate": "ROOT r = concatenate(x, y), dimensions={0}",
    "convolution": "a = f32[1,4,4] reshape(x) b = bf16[1,4,4] reshape(y)"
    " ROOT r = bf16[1,4,4] convolution(a, b), window={size=1}, dim_labels=b0f_0io->b0f",
    "copy": "ROOT r = bf16[4,4] copy(x)",
    "divide": "ROOT r = f32[4,4] divide(y, x)",
    "dot": "ROOT r = bf16[4,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "dynamic-slice": "ROOT r = bf16[2,2] dynamic-slice(x, i, i), dynamic_slice_sizes={2,2}",
    "dynamic-update-slice": "u = bf16[2,2] slice(y), slice={[0:2],[1:3]} ROOT r = dynamic-update-slice(x, u, i, i)",
    "exponential": "ROOT r = bf16[4,4] exponential(x)",
    "gather": "ROOT r = bf16[2,4] gather(x, k), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},"
    " index_vector_dim=1, slice_sizes={1,4}",
    "map": "ROOT r = bf16[4,4] map(x, y), dimensions={0,1}, to_apply=add",
    "pad": "ROOT r = pad(x, z), padding=1_1x0_1",
    "reduce": "ROOT r = bf16[4] reduce(y, one), dimensions={0}, to_apply=add",
    "reduce-precision": "ROOT r = bf16[4,4] reduce-precision(x), exponent_bits=5, mantissa_bits=10",
    "reduce-scatter": "ROOT r = bf16[4,4] reduce-scatter(y), dimensions={0}, to_apply=add, replica_groups={{0}}",
    "reduce-window": "ROOT r = reduce-window(y, z), window={size=2x2}, to_apply=add",
    "reshape": "ROOT r = bf16[16] reshape(x)",
    "reverse": "ROOT r = bf16[4,4] reverse(x), dimensions={1}",
    "scan": "ROOT r = (bf16[4,4], f32[4]) scan(y, h), dimensions={0}, to_apply=step, num_carries=1",
    "scatter": "u = bf16[2,4] slice(y), slice={[0:2],[0:4]} ROOT r = scatter(x, k, u), update_window_dims={1},"
    " inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
    "select": "p = pred[4,4] compare(x, y), direction=LT ROOT r = select(p, x, y)",
    "select-and-scatter": "s = bf16[2,2] slice(y), slice={[0:2],[0:2]}"
    " ROOT r = select-and-scatter(x, s, one), window={size=2x2 stride=2x2}, select=above, scatter=add",
    "slice": "ROOT r = bf16[2,2] slice(x), slice={[0:2],[0:4:2]}",
    "sort": "ROOT r = sort(y), dimensions={0}, to_apply=below",
    "topk": "ROOT r = (bf16[4,2], s32[4,2]) topk(x), k=2",
    "transpose": "ROOT r = bf16[4,4] transpose(x), dimensions={1,0}",
    "triangular-solve": "ROOT r = triangular-solve(x, y), left_side=true, lower=true, transpose_a=NO_TRANSPOSE",
}
"""A program of mixed precision for each kind of op that takes it."""


def arrays():
    rng = np.random.default_rng(0)
    x = (rng.random((4, 4)) + 0.5 + 3 * np.eye(4)).astype(np.float32)
    y = (rng.random((4, 4)) + 0.5).astype(ml_dtypes.bfloat16)
    return x, y, rng.random(4).astype(np.float16)


def mixed(opcode):
    return compiler.parse(f"{_CALLED}{_PARAMETERS}{MIXED[opcode]} }}")


@pytest.mark.parametrize("opcode", MIXED)
def test_the_reference_and_the_wide_mode_agree(opcode):
    module = mixed(opcode)
    compiler.verify(module)
    assert compiler.parse(compiler.to_text(module)) == module
    for wide, result in zip(
        compiler.interpret(module, *arrays(), wide=True), compiler.interpret(module, *arrays()), strict=True
    ):
        assert wide.allows(result).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("opcode", MIXED)
def test_every_back_end_runs_it(opcode, backend):
    module = mixed(opcode)
    results = compiler.compile(module, backend, OPTIONS)(*arrays())
    for wide, result in zip(compiler.interpret(module, *arrays(), wide=True), results, strict=True):
        assert result.dtype == np.dtype(module_type(wide))
        assert wide.allows(result).all()


def module_type(wide):
    return {"bf16": ml_dtypes.bfloat16, "f32": np.float32, "pred": np.bool_, "s32": np.int32, "c64": np.complex64}[
        wide.element_type
    ]


def test_a_trace_has_the_instructions_of_the_program():
    module = mixed("add")
    seen = {}
    compiler.interpret(module, *arrays(), trace=seen.__setitem__)
    assert set(seen) == set(module.entry.instructions)


@pytest.mark.parametrize("opcode", sorted(EXACT & {"tuple", "call", "opt-barrier", "while"}))
def test_what_hands_values_on_keeps_their_types(opcode):
    lines = {
        "tuple": "ROOT r = (bf16[4,4]) tuple(x)",
        "call": "ROOT r = bf16[] call(one, one), to_apply=add",
        "opt-barrier": "ROOT r = bf16[4,4] opt-barrier(x)",
        "while": "ROOT r = bf16[] while(one), condition=below, body=add",
    }
    with pytest.raises(compiler.VerifyError):
        compiler.verify(compiler.parse(f"{_CALLED}{_PARAMETERS}{lines[opcode]} }}"))


@pytest.mark.parametrize("line", ["add(x, i)", "add(x, k)", "select(x, x, y)", "concatenate(y, k), dimensions={0}"])
def test_only_floats_mix(line):
    with pytest.raises(compiler.CompilerError):
        compiler.verify(compiler.parse(f"{_CALLED}{_PARAMETERS}ROOT r = f32[4,4] {line} }}"))


def test_the_table_names_opcodes():
    assert set(MIXED) <= set(OPS) - EXACT
    assert set(OPS) >= EXACT
