"""Calls of cuBLAS and cuDNN, as dumps after XLA's GPU passes hold them, against what they say in NumPy."""

from __future__ import annotations

import json
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.diagnostics import UnsupportedError
from compiler.passes.gpu_library_expander import EXPANSIONS

F8 = ml_dtypes.float8_e4m3fn
RNG = np.random.default_rng(7)


def config(part: str, *, bare: bool = False, **fields: Any) -> str:
    """A backend_config as XLA writes it: wrapped with others, or bare in a string as older versions did."""
    if bare:
        return '"' + json.dumps(fields).replace('"', r"\"") + '"'
    return json.dumps({"operation_queue_id": "0", "wait_on_operation_queues": [], part: fields})


def dims(**given: Any) -> dict[str, list[str]]:
    names = ("lhs_contracting", "rhs_contracting", "lhs_batch", "rhs_batch")
    return {f"{name}_dimensions": list(map(str, given.get(name, ()))) for name in names}


def gemm_config(*, bare: bool = False, numbers: Any = None, **fields: Any) -> str:
    numbers = dims(lhs_contracting=(1,), rhs_contracting=(0,)) if numbers is None else numbers
    given = {"alpha_real": 1, "alpha_imag": 0, "beta": 0, "dot_dimension_numbers": numbers, "epilogue": "DEFAULT"}
    return config("gemm_backend_config", bare=bare, **{**given, **fields})


def everywhere(text: str, *inputs: Any) -> list[np.ndarray]:
    """The results of the reference, which back ends give as well, within its bounds."""
    module = compiler.parse(text)
    compiler.verify(module)
    assert compiler.parse(compiler.to_text(module)) == module
    bounds = compiler.interpret(module, *inputs, wide=True)
    results = compiler.interpret(module, *inputs)
    for backend, options in (
        ("cpu", compiler.CompileOptions(verify_each=True)),
        ("cpu", compiler.CompileOptions(fusion=False)),
        ("nvptx", compiler.CompileOptions(device="sim")),
    ):
        for bound, result in zip(bounds, compiler.compile(module, backend, options)(*inputs), strict=True):
            assert bound.allows(result).all()
    return results


def call(target: str, operands: str, result: str, settings: str, *, rest: str = "", kept: int = 1) -> str:
    """A program of one call whose results, without the scratch memory, are those of the program."""
    shapes = operands.split(" ")
    parameters = "\n".join(f"  p{n} = {shape} parameter({n})" for n, shape in enumerate(shapes))
    names = ", ".join(f"p{n}" for n in range(len(shapes)))
    kinds = result.split(" ")
    taken = "\n".join(f"  r{n} = {kinds[n]} get-tuple-element(c), index={n}" for n in range(kept))
    return f"""HloModule m
ENTRY e {{
{parameters}
  c = ({", ".join(kinds)}) custom-call({names}), {rest}custom_call_target="{target}", backend_config={settings}
{taken}
  ROOT t = ({", ".join(kinds[:kept])}) tuple({", ".join(f"r{n}" for n in range(kept))})
}}"""


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("bare", [False, True])
def test_gemm_scales_and_adds(*, bare: bool) -> None:
    settings = gemm_config(bare=bare, alpha_real=2.5, beta=-1.5)
    text = call("__cublas$gemm", "f32[3,5]{1,0} f32[5,4]{0,1} f32[3,4]{1,0}", "f32[3,4]{0,1} s8[64]{0}", settings)
    a, b, c = floats(3, 5), floats(5, 4), floats(3, 4)
    np.testing.assert_allclose(everywhere(text, a, b, c)[0], 2.5 * (a @ b) - 1.5 * c, 1e-5, 1e-5)


@pytest.mark.slow
def test_gemm_without_scratch_memory_yields_an_array() -> None:
    text = f"""ENTRY e {{ a = f64[3,5] parameter(0) b = f64[5,4] parameter(1)
      ROOT c = f64[3,4] custom-call(a, b), custom_call_target="__cublas$gemm", backend_config={gemm_config()} }}"""
    a, b = RNG.standard_normal((3, 5)), RNG.standard_normal((5, 4))
    np.testing.assert_allclose(everywhere(text, a, b)[0], a @ b, 1e-12)


@pytest.mark.slow
def test_gemm_of_batches_and_of_contracted_dimensions_anywhere() -> None:
    numbers = dims(lhs_batch=(0,), rhs_batch=(2,), lhs_contracting=(1,), rhs_contracting=(1,))
    text = call("__cublas$gemm", "f32[2,5,3] f32[4,5,2]", "f32[2,3,4]{2,1,0} s8[8]{0}", gemm_config(numbers=numbers))
    a, b = floats(2, 5, 3), floats(4, 5, 2)
    np.testing.assert_allclose(everywhere(text, a, b)[0], np.einsum("bkm,nkb->bmn", a, b), 1e-5, 1e-5)


@pytest.mark.slow
def test_gemm_of_complex_numbers_has_a_complex_factor_and_of_integers_a_whole_one() -> None:
    settings = gemm_config(alpha_real=0.5, alpha_imag=-2)
    text = call("__cublas$gemm", "c64[3,5] c64[5,4]", "c64[3,4] s8[8]", settings)
    a, b = (floats(*s) + 1j * floats(*s) for s in ((3, 5), (5, 4)))
    a, b = a.astype(np.complex64), b.astype(np.complex64)
    np.testing.assert_allclose(everywhere(text, a, b)[0], (0.5 - 2j) * (a @ b), 1e-4, 1e-4)
    text = call("__cublas$gemm", "s8[3,5] s8[5,4]", "s32[3,4] s8[8]", gemm_config(alpha_real=3))
    a, b = (RNG.integers(-128, 128, s).astype(np.int8) for s in ((3, 5), (5, 4)))
    np.testing.assert_array_equal(everywhere(text, a, b)[0], 3 * (a.astype(np.int32) @ b.astype(np.int32)))


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS = {
    "DEFAULT": lambda x: x,
    "RELU": lambda x: np.maximum(x, 0),
    "GELU": gelu,
    "SILU": lambda x: x / (1 + np.exp(-x)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["f32", "bf16", "f16", "f64"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", [*ACTIVATIONS, "GELU_AUX"])
def test_epilogues_of_a_matmul(activation: str, kind: str, *, bias: bool) -> None:
    name = f"{'BIAS_' if bias else ''}{activation}".replace("BIAS_DEFAULT", "BIAS")
    aux = name.endswith("AUX")
    operands = f"{kind}[6,5] {kind}[5,4] {kind}[6,4]" + (f" {kind}[4]" if bias else "")
    result = " ".join([f"{kind}[6,4]{{1,0}}"] * (1 + aux)) + " s8[64]{0}"
    text = call("__cublas$lt$matmul", operands, result, gemm_config(epilogue=name, beta=0.5), kept=1 + aux)
    dtype = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f64": np.float64}[kind]
    inputs = [floats(*s).astype(dtype) for s in ((6, 5), (5, 4), (6, 4), *([(4,)] if bias else []))]
    a, b, c, *rest = (x.astype(np.float64) for x in inputs)
    before = a @ b + 0.5 * c + (rest[0] if rest else 0)
    results = everywhere(text, *inputs)
    tolerance = {"f32": 1e-5, "bf16": 2e-2, "f16": 2e-3, "f64": 1e-12}[kind]
    expected = [ACTIVATIONS[activation.removesuffix("_AUX")](before), before][: 1 + aux]
    for got, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(got.astype(np.float64), wanted, tolerance, tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["older", "newer"])
@pytest.mark.parametrize("result", ["f32", "bf16", "f8e4m3fn"])
@pytest.mark.parametrize("bias", [False, True])
def test_factors_of_eight_bits_have_scales(layout: str, result: str, *, bias: bool) -> None:
    is_small = result == "f8e4m3fn"
    vector = ["bf16[4]"] if bias else []
    scales = 4 if layout == "older" else 2
    operands = ["f8e4m3fn[6,8]", "f8e4m3fn[8,4]", *["f32[]"] * scales, *vector]
    operands += ["f32[]"] if is_small and layout == "newer" else []
    settings = gemm_config(epilogue="BIAS_RELU" if bias else "RELU", damax_output=is_small, is_fp8=True)
    kinds = [f"{result}[6,4]", *(["f32[]"] if is_small else []), "s8[64]"]
    text = call("__cublas$lt$matmul$f8", " ".join(operands), " ".join(kinds), settings, kept=1 + is_small)
    a, b = (RNG.integers(-8, 9, s).astype(np.float32) for s in ((6, 8), (8, 4)))
    given = [np.float32(0.5), np.float32(3), np.float32(1), np.float32(2)][:scales]
    added = np.array([1, -2, 3, 4], np.float32)
    inputs = [a.astype(F8), b.astype(F8), *given, *([added.astype(ml_dtypes.bfloat16)] if bias else [])]
    inputs += [np.float32(2)] if is_small and layout == "newer" else []
    before = np.maximum(1.5 * (a @ b) + (added if bias else 0), 0)
    got = everywhere(text, *map(np.asarray, inputs))
    if not is_small:
        np.testing.assert_allclose(got[0].astype(np.float32), before, 8e-3)
        return
    np.testing.assert_array_equal(got[0], np.clip(2 * before, -448, 448).astype(F8))
    np.testing.assert_array_equal(got[1], np.abs(before).max())


@pytest.mark.slow
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE"])
@pytest.mark.parametrize("left", [False, True])
def test_triangular_systems(transpose: str, *, left: bool) -> None:
    settings = json.dumps({"left_side": left, "lower": True, "unit_diagonal": False, "transpose_a": transpose})
    shape = "f32[4,3]" if left else "f32[3,4]"
    text = call("__cublas$triangularSolve", f"f32[4,4] {shape}", f"{shape} s8[8]", settings)
    a = np.tril(floats(4, 4)) + 4 * np.eye(4, dtype=np.float32)
    b = floats(4, 3) if left else floats(3, 4)
    matrix = a.T if transpose == "TRANSPOSE" else a
    (x,) = everywhere(text, a, b)
    np.testing.assert_allclose(matrix @ x if left else x @ matrix, b, 1e-4, 1e-4)


CONVOLUTIONS = {
    "plain": ("f64[2,5,6,4] f64[3,3,4,6] f64[2,3,4,6]", "{size=3x3}", "b01f_01io->b01f", 1),
    "padded": ("f64[2,5,6,4] f64[3,2,4,6] f64[2,5,6,6]", "{size=3x2 pad=1_1x0_1}", "b01f_01io->b01f", 1),
    "strides": ("f64[2,3,7,8] f64[5,3,3,2] f64[2,5,3,5]", "{size=3x2 stride=3x2 pad=0_2x1_1}", "bf01_oi01->bf01", 1),
    "strides that leave a rest": ("f64[1,8,1] f64[3,1,2] f64[1,3,2]", "{size=3 stride=2}", "b0f_0io->b0f", 1),
    "holes": ("f64[2,9,3] f64[3,3,2] f64[2,7,2]", "{size=3 pad=1_1 rhs_dilate=2}", "b0f_0io->b0f", 1),
    "groups": ("f64[2,5,6] f64[3,2,9] f64[2,3,9]", "{size=3}", "b0f_0io->b0f", 3),
    "groups, features first": ("f64[2,6,5] f64[9,2,3] f64[2,9,3]", "{size=3}", "bf0_oi0->bf0", 3),
    "depthwise": ("f64[2,5,4] f64[2,1,8] f64[2,2,8]", "{size=2 stride=2}", "b0f_0io->b0f", 4),
    "outputs in another order": ("f64[2,5,6,4] f64[3,3,4,6] f64[3,4,6,2]", "{size=3x3}", "b01f_01io->01fb", 1),
    "three dimensions": ("f64[1,2,4,4,4] f64[3,2,2,2,2] f64[1,3,3,3,3]", "{size=2x2x2}", "bf012_oi012->bf012", 1),
}
"""Input, filter and output of forward convolutions, their windows, labels and groups."""

CONV = config("cudnn_conv_backend_config", conv_result_scale=2, activation_mode="kNone", side_input_scale=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_gradients_are_those_of_the_forward_convolution(name: str) -> None:
    shapes, window, labels, groups = CONVOLUTIONS[name]
    x, w, y = shapes.split(" ")
    rest = f"window={window}, dim_labels={labels}, feature_group_count={groups}, "
    values = {
        shape: RNG.integers(-4, 5, compiler.parse(f"ENTRY e {{ ROOT p = {shape} parameter(0) }}").entry.root.shape.dims)
        for shape in (x, w, y)
    }
    values = {shape: value.astype(np.float64) for shape, value in values.items()}
    programs = {
        "convForward": (x, w, y),
        "convBackwardInput": (y, w, x),
        "convBackwardFilter": (x, y, w),
    }
    sums = []
    for target, (left, right, result) in programs.items():
        text = call(f"__cudnn${target}", f"{left} {right}", f"{result} u8[0]", CONV, rest=rest)
        (got,) = everywhere(text, values[left], values[right])
        sums.append(float((got * values[result]).sum()))
    # The gradients of <output, forward(input, filter)>, which is linear in each of the two.
    assert sums[0] == sums[1] == sums[2] != 0


def plain(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    text = """ENTRY e { x = f64[2,5,4] parameter(0) w = f64[3,4,6] parameter(1)
      ROOT y = f64[2,5,6] convolution(x, w), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f }"""
    return compiler.interpret(text, x.astype(np.float64), w.astype(np.float64))[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "function"),
    [
        ("kNone", lambda v: v),
        ("kRelu", lambda v: np.maximum(v, 0)),
        ("2", lambda v: np.maximum(v, 0)),
        ("kRelu6", lambda v: np.clip(v, 0, 6)),
        ("kElu", lambda v: np.where(v > 0, v, np.expm1(v))),
        ("kLeakyRelu", lambda v: np.where(v > 0, v, 0.25 * v)),
        ("kTanh", np.tanh),
        ("kSigmoid", lambda v: 1 / (1 + np.exp(-v))),
    ],
)
@pytest.mark.parametrize("side", [False, True])
def test_a_convolution_with_bias_side_input_and_activation(mode: str, function: Any, *, side: bool) -> None:
    fields = {"activation_mode": mode, "conv_result_scale": 0.5, "leakyrelu_alpha": 0.25}
    settings = config("cudnn_conv_backend_config", **fields, side_input_scale=2 if side else 0)
    operands = "f32[2,5,4] f32[3,4,6] f32[6]" + (" f32[2,5,6]" if side else "")
    rest = "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, "
    text = call("__cudnn$convBiasActivationForward", operands, "f32[2,5,6] u8[9]", settings, rest=rest)
    inputs = [floats(2, 5, 4), floats(3, 4, 6), floats(6), *([floats(2, 5, 6)] if side else [])]
    expected = 0.5 * plain(*inputs[:2]) + inputs[2] + (2 * inputs[3] if side else 0)
    np.testing.assert_allclose(everywhere(text, *inputs)[0], function(expected), 1e-4, 1e-4)


@pytest.mark.slow
def test_bytes_are_summed_in_integers_and_clamped() -> None:
    fields = {"activation_mode": "kRelu", "conv_result_scale": 1, "side_input_scale": 0}
    rest = "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, "
    settings = config("cudnn_conv_backend_config", **fields)
    text = call(
        "__cudnn$convBiasActivationForward", "s8[2,5,4] s8[3,4,6] f32[6]", "s8[2,5,6] u8[0]", settings, rest=rest
    )
    x, w = (RNG.integers(-9, 10, s).astype(np.int8) for s in ((2, 5, 4), (3, 4, 6)))
    bias = np.arange(6, dtype=np.float32)
    np.testing.assert_array_equal(everywhere(text, x, w, bias)[0], np.clip(plain(x, w) + bias, 0, 127))
    text = call("__cudnn$convForward", "s8[2,5,4] s8[3,4,6]", "s32[2,5,6] u8[0]", settings, rest=rest)
    x, w = np.full((2, 5, 4), -128, np.int8), np.full((3, 4, 6), 127, np.int8)
    np.testing.assert_array_equal(everywhere(text, x, w)[0], plain(x, w))


@pytest.mark.parametrize(
    ("target", "operands", "result", "settings", "rest", "said"),
    [
        ("__cublas$gemm", "f32[3,5] f32[5,4]", "f32[3,4] s8[8]", '"{"', "", "not JSON"),
        ("__cublas$gemm", "f32[3,5] f32[5,4]", "f32[3,4] s8[8]", '"{}"', "", "no dot_dimension_numbers"),
        ("__cublas$gemm", "f32[3,5] f32[5,4]", "f32[4,3] s8[8]", gemm_config(), "", "dimension numbers make"),
        ("__cublas$gemm", "f32[3,5] f32[6,4]", "f32[3,4] s8[8]", gemm_config(), "", "do not go together"),
        ("__cublas$gemm", "f32[3,5] f32[5,4]", "f32[3,4] s8[8]", gemm_config(beta=1), "", "third operand"),
        ("__cublas$gemm", "f32[3,5] f32[5,4]", "f32[3,4] s8[8]", gemm_config(alpha_imag=1), "", "alpha_imag"),
        ("__cublas$gemm", "f32[3,5]", "f32[3,4] s8[8]", gemm_config(), "", "two factors"),
        ("__cublas$lt$matmul", "f32[3,5] f32[5,4]", "f32[3,4] s8[8]", gemm_config(epilogue="BIAS"), "", "vector"),
        ("__cublas$lt$matmul", "f32[3,5] f32[5,4]", "f32[3,4] s8[8]", gemm_config(epilogue="SOFT"), "", "SOFT"),
        ("__cublas$lt$matmul$f8", "f8e5m2[3,5] f8e4m3fn[5,4]", "f32[3,4] s8[8]", gemm_config(), "", "scale"),
        ("__cudnn$convForward", "f32[2,5,4] f32[3,4,6]", "f32[2,3,6] u8[0]", CONV, "", "dim_labels"),
        (
            "__cudnn$convBiasActivationForward",
            "f32[2,5,4] f32[3,4,6] f32[6]",
            "f32[2,3,6] u8[0]",
            config("cudnn_conv_backend_config", conv_result_scale=1, activation_mode="kSwish"),
            "window={size=3}, dim_labels=b0f_0io->b0f, ",
            "kSwish",
        ),
        (
            "__cudnn$convForward",
            "f32[2,5,4] f32[3,4,6]",
            "f32[2,4,6] u8[0]",
            CONV,
            "window={size=3}, dim_labels=b0f_0io->b0f, ",
            "make [2, 3, 6]",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(
    target: str, operands: str, result: str, settings: str, rest: str, said: str
) -> None:
    text = call(target, operands, result, settings, rest=rest)
    inputs = [np.zeros(p.shape.dims, p.shape.element_type.dtype) for p in compiler.parse(text).entry.parameters]
    for work in (lambda: compiler.interpret(text, *inputs), lambda: compiler.compile(text)):
        with pytest.raises(UnsupportedError) as caught:
            work()
        assert said in str(caught.value)
        assert target in str(caught.value)


def test_other_library_calls_are_refused_by_name_with_a_way_out() -> None:
    for target in ("__cudnn$fmhaSoftmax", "__cudnn$norm", "__cublas$lt$matmul$mx"):
        assert target not in EXPANSIONS
        text = f'ENTRY e {{ x = f32[4] parameter(0) ROOT r = f32[4] custom-call(x), custom_call_target="{target}" }}'
        with pytest.raises(UnsupportedError, match="--custom-call") as caught:
            compiler.compile(text)
        assert target in str(caught.value)


def test_the_value_of_a_call_is_found_under_its_name() -> None:
    text = call("__cublas$gemm", "f32[3,5] f32[5,4]", "f32[3,4] s8[8]", gemm_config())
    seen = {}
    compiler.interpret(
        text, floats(3, 5), floats(5, 4), trace=lambda instruction, value: seen.update({instruction.name: value})
    )
    assert [part.shape for part in seen["c"]] == [(3, 4), (8,)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["__triton_gemm", "__triton_softmax", "__cudnn$fusion", "__custom_fusion"])
def test_fusions_that_name_kernels_are_what_they_call(kind: str) -> None:
    settings = json.dumps({"operation_queue_id": "0", "fusion_backend_config": {"kind": kind}})
    text = f"""HloModule m
fused {{
  a = f32[3,5] parameter(0)
  b = bf16[5,4]{{0,1}} parameter(1)
  c = f32[5,4]{{0,1}} convert(b)
  ROOT d = f32[3,4] dot(a, c), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
ENTRY e {{
  p = f32[3,5] parameter(0)
  q = bf16[5,4]{{0,1}} parameter(1)
  ROOT r = f32[3,4] fusion(p, q), kind=kCustom, calls=fused, backend_config={settings}
}}"""
    a, b = floats(3, 5), floats(5, 4).astype(ml_dtypes.bfloat16)
    np.testing.assert_allclose(everywhere(text, a, b)[0], a @ b.astype(np.float32), 1e-5, 1e-5)
