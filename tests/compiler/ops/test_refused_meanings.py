"""What XLA's verifier lets pass though no two targets need agree on its meaning: valid, but refused when it is run."""

import pytest

import compiler
from compiler.backends import BACKENDS

OPTIONS = compiler.CompileOptions(device="sim")

FORMS = {
    "more bits": "f32[2] bitcast(f32[3] x)",
    "packed bits": "s8[2] bitcast(s4[4] x)",
    "another state": "(f32[4], u32[4]) rng-bit-generator(f32[4] x), algorithm=rng_philox",
    "complex bits": "(u64[2], c64[4]) rng-bit-generator(u64[2] x), algorithm=rng_three_fry",
    "bits of truth": "(u64[2], pred[4]) rng-bit-generator(u64[2] x), algorithm=rng_three_fry",
    "six bits": "(u64[2], f6e2m3fn[4]) rng-bit-generator(u64[2] x), algorithm=rng_philox",
    "whole normal numbers": "s8[4] rng(s8[] x, s8[] y), distribution=rng_normal",
    "complex random numbers": "c64[4] rng(c64[] x, c64[] y), distribution=rng_uniform",
    "no order": "(c64[2], s32[2]) topk(c64[4] x), k=2, largest=true",
    "no order for XLA's call": '(c64[2], s32[2]) custom-call(c64[4] x), custom_call_target="TopK"',
    "gathered from others": "f32[8] all-gather(f32[4] x), dimensions={0}",
    "another length": "c64[4] fft(c64[4] x), fft_type=FFT, fft_length={8}",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_reference_refuses_it(form):
    module = compiler.parse(FORMS[form])
    compiler.verify(module)
    with pytest.raises(compiler.UnsupportedError):
        compiler.interpret(module, *compiler.inputs.draw(module, 0))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", FORMS)
def test_back_ends_refuse_it(form, backend):
    with pytest.raises(compiler.UnsupportedError):
        compiler.compile(FORMS[form], backend, OPTIONS)
