"""What a routine leaves open may be another thing each time, and so may what is made of it; nothing else may."""

import numpy as np
import pytest

import compiler
from xlabench.judging.left_open import left_open
from xlabench.judging.residuals import decided_by, residuals_of

ROUTINES = {
    "gesvd": ("f32[3,3], f32[3], f32[3,3], f32[3,3], s32[]", "mode = {} : ui8", {"A": {0}, "S": {0}, "N": {0, 2, 3}}),
    "gees": (
        "f32[3,3], f32[3,3], f32[3], f32[3], s32[], s32[]",
        "mode = {} : ui8, sort = 78 : ui8",
        {"V": (), "N": {1}},
    ),
    "syevd": ("f32[3,3], f32[3], s32[]", "mode = {} : ui8, uplo = 76 : ui8", {"V": (), "N": {0}}),
    "geev": (
        "f32[3], f32[3], c64[3,3], c64[3,3], s32[]",
        "compute_left = {} : ui8, compute_right = 86 : ui8",
        {"V": (), "N": {2}},
    ),
    "geqrf": ("f32[3,3], f32[3]", "", {"V": ()}),
}
X = np.asarray([[4, 1, 2], [1, 3, 0], [2, 0, 5]], np.float32)


def call(routine, letter, rest="", root="ROOT "):
    shapes, options, _ = ROUTINES[routine]
    target = f'custom_call_target="lapack_s{routine}_ffi", backend_config={{{options.format(ord(letter))}}}'
    return f"ENTRY e {{ x = f32[3,3] parameter(0) {root}r = ({shapes}) custom-call(x), {target} {rest} }}"


@pytest.mark.parametrize(("routine", "letter"), [(name, letter) for name, row in ROUTINES.items() for letter in row[2]])
def test_a_call_leaves_open_what_nobody_asked_for(routine, letter):
    assert left_open(compiler.parse(call(routine, letter))) == set(ROUTINES[routine][2][letter])


def test_what_is_made_of_it_is_open_as_well_and_what_stands_beside_it_is_not():
    rest = """l = f32[3,3] get-tuple-element(r), index=0 s = f32[3] get-tuple-element(r), index=1
      n = f32[3,3] negate(l) t = (f32[3], f32[3,3]) tuple(s, n) ROOT o = ((f32[3], f32[3,3]), f32[3]) tuple(t, s)"""
    assert left_open(compiler.parse(call("gesvd", "A", rest, root=""))) == {1}


@pytest.mark.parametrize(("routine", "values"), [("gesvd", 1), ("syevd", 1)])
def test_values_are_held_to_the_matrix_where_there_are_no_vectors(routine, values):
    module = compiler.parse(call(routine, "N"))
    expected = compiler.interpret(module, X)
    residuals = residuals_of(module, [X], expected)
    right = decided_by(residuals, expected, expected)
    assert right[values].right.all()
    garbage = [np.full_like(one, 7) if n in left_open(module) else one for n, one in enumerate(expected)]
    assert not any(one.wrong.any() for one in decided_by(residuals, expected, garbage).values())
    wrong = [one * np.float32(1.01) if n == values else one for n, one in enumerate(garbage)]
    assert decided_by(residuals, expected, wrong)[values].wrong.all()
