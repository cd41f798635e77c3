"""What does not fit is refused, and the message says what was given."""

from __future__ import annotations

import pytest

from compiler.ir.attributes import VOCABULARY
from compiler.ir.types import TYPES, Kind
from compiler.text.parser import parse
from compiler.verifier import findings

_COMPUTATIONS = """
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
one { a = f32[] parameter(0) ROOT r = f32[] negate(a) }
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }
"""

_REFUSED = [
    ("f32[2] add(f32[2] %v, f32[3] %w)", "operands 0 and 1 of add differ in dimensions"),
    ("f32[2] and(f32[2] %v, f32[2] %v)", "and takes pred, signed integers, unsigned integers, not f32"),
    ("f32[3] negate(f32[2] %v)", r"states f32\[3\].*, but negate gives f32\[2\]"),
    ("pred[] compare(s32[] %i, s32[] %i), direction=EQ, type=TOTALORDER", "type 'TOTALORDER' does not compare s32"),
    ("f32[2] select(f32[2] %v, f32[2] %v, f32[2] %v)", "operand 0 of select must be pred"),
    ("f32[2] clamp(f32[2] %v, f32[2] %v, f32[3] %w)", "the upper bound .* of clamp"),
    ("f32[3] convert(f32[2] %v)", "convert keeps dimensions"),
    ("s16[2] bitcast-convert(f32[2] %v)", "bitcast-convert keeps all bits"),
    ("f32[2] reduce-precision(f32[2] %v), exponent_bits=0, mantissa_bits=3", "exponent_bits=0 must be at least 1"),
    ("f32[2,5] broadcast(f32[2] %v), dimensions={1}", "dimension 0 of .* does not fit dimension 1"),
    ("f32[2,2] broadcast(f32[2] %v), dimensions={2}", "dimensions 2 is not a dimension of an array of rank 2"),
    ("f32[3] reshape(f32[2] %v)", "reshape keeps the number of elements"),
    ("f32[3,2] transpose(f32[2,3] %m), dimensions={1,1}", "names a dimension twice"),
    ("f32[2,3] reverse(f32[2,3] %m), dimensions={2}", "2 is not a dimension"),
    ("f32[5] slice(f32[3] %w), slice={[0:5]}", r"slice \[0:5:1\] is outside"),
    ("f32[1] pad(f32[3] %w, f32[] %s), padding=-3_-1", "padding leaves -1 elements"),
    ("f32[5] concatenate(f32[2] %v, f32[2,3] %m), dimensions={0}", "differ outside of dimension 0"),
    ("f32[2] iota(), iota_dimension=1", "iota_dimension 1 is not a dimension"),
    ("f32[4] dynamic-slice(f32[3] %w, s32[] %i), dynamic_slice_sizes={4}", "slice size 4 does not fit dimension 0"),
    ("f32[3] dynamic-update-slice(f32[3] %w, f32[2] %v, f32[] %s)", "must be an integer"),
    ("f32[] reduce(f32[2] %v, f32[] %s), dimensions={0}, to_apply=one", "has 1 parameters but is given 2"),
    ("f32[] reduce(f32[2] %v, f32[2] %v), dimensions={0}, to_apply=add", "initial value of operand 0 must be a scalar"),
    ("f32[1] reduce-window(f32[2] %v, f32[] %s), window={size=2x1}, to_apply=add", "the window has 2 dimensions"),
    ("f32[2] sort(f32[2] %v), dimensions={0}, to_apply=add", r"yields f32\[\] but pred\[\] is needed"),
    ("f32[2] map(f32[2] %v), dimensions={0}, to_apply=add", "has 2 parameters but is given 1"),
    ("f32[2,3] dot(f32[2] %v, f32[3] %w), lhs_contracting_dims={0}, rhs_contracting_dims={0}", "does not fit dim 0"),
    ("c64[] dot(f32[2] %v, c64[2] %c), lhs_contracting_dims={0}, rhs_contracting_dims={0}", "do not mix"),
    ("f32[2,3] cholesky(f32[2,3] %m)", "cholesky takes square matrices"),
    ("c64[2] fft(f32[2] %v), fft_type=FFT, fft_length={2}", "FFT does not take f32"),
    ("f32[] get-tuple-element((f32[2], f32[3]) %t), index=2", "index=2 is not an element"),
    ("f32[] call(f32[2] %v), to_apply=one", r"takes f32\[\] as a but is given f32\[2\]"),
    ("f32[] while(f32[] %s), condition=one, body=one", r"yields f32\[\] but pred\[\] is needed"),
    ("f32[2] all-gather(f32[3] %w), dimensions={0}", "dimension 0 of .* does not multiply"),
    ("(u64[2], u32[4]) rng-bit-generator(f32[2] %v), algorithm=rng_philox", "rng-bit-generator gives"),
]


def _module(line: str) -> str:
    parameters = ("v = f32[2]", "w = f32[3]", "m = f32[2,3]", "s = f32[]", "i = s32[]", "c = c64[2]")
    declared = "\n".join(f"{text} parameter({number})" for number, text in enumerate(parameters))
    return (
        f"HloModule m\n{_COMPUTATIONS}\nENTRY e {{\n{declared}\nt = (f32[2], f32[3]) tuple(v, w)\nROOT r = {line}\n}}\n"
    )


@pytest.mark.parametrize(("line", "message"), _REFUSED)
def test_what_does_not_fit_is_refused(line: str, message: str) -> None:
    (finding,) = findings(parse(_module(line)))
    assert finding.rule == "V10"
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(finding.message)


_COMPARED_AS = {
    Kind.PRED: "UNSIGNED",
    Kind.SIGNED: "SIGNED",
    Kind.UNSIGNED: "UNSIGNED",
    Kind.FLOAT: "FLOAT TOTALORDER",
    Kind.COMPLEX: "FLOAT",
}
"""What `type` XLA's verifier lets pass, asked (jaxlib 0.10.2) about 25 types of all kinds and each name."""


@pytest.mark.parametrize("name", [one.name for one in TYPES.values() if one.kind in _COMPARED_AS])
@pytest.mark.parametrize("how", VOCABULARY["type"])
def test_numbers_compare_as_their_type_says(name: str, how: str) -> None:
    text = f"p = {name}[2] parameter(0) ROOT c = pred[2] compare(p, p), direction=EQ, type={how}"
    said = [finding.message for finding in findings(parse(f"HloModule m\nENTRY e {{ {text} }}"))]
    known = _COMPARED_AS[TYPES[name].kind].split()
    refused = f"type {how!r} does not compare {name}: {', '.join(known)} do"
    assert [refused in message for message in said] == [True] * (how not in known)
