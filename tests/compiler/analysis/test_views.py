"""Arrays seen through chains of moves are where the moves would put them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import compiler
from compiler.analysis.views import view


@st.composite
def chains(draw):
    """A program of moves from `x`, and the dimensions of `x`."""
    dims = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4))
    lines, now, starts = [f"x = s32[{','.join(map(str, dims))}] parameter(0)"], list(dims), []
    for number in range(draw(st.integers(1, 5))):
        name, before = f"m{number}", "x" if not number else f"m{number - 1}"
        kind = draw(st.sampled_from(["slice", "dynamic-slice", "transpose", "reshape"]))
        operands = [before]
        if kind == "slice":
            parts = []
            for place, size in enumerate(now):
                start = draw(st.integers(0, size - 1))
                limit, stride = draw(st.integers(start + 1, size)), draw(st.integers(1, 2))
                parts.append(f"[{start}:{limit}:{stride}]")
                now[place] = -(-(limit - start) // stride)
            attributes = f"slice={{{', '.join(parts)}}}"
        elif kind == "dynamic-slice":
            for place, size in enumerate(now):
                starts.append(draw(st.integers(-3, size + 1)))
                operands.append(f"s{len(starts)}")
                now[place] = draw(st.integers(1, size))
            attributes = f"dynamic_slice_sizes={{{','.join(map(str, now))}}}"
        elif kind == "transpose":
            order = draw(st.permutations(range(len(now))))
            now = [now[d] for d in order]
            attributes = f"dimensions={{{','.join(map(str, order))}}}"
        else:
            now = reshaped(draw, int(np.prod(now)))
            attributes = ""
        comma = ", " if attributes else ""
        lines.append(f"{name} = s32[{','.join(map(str, now))}] {kind}({', '.join(operands)}){comma}{attributes}")
    lines[-1] = f"ROOT {lines[-1]}"
    given = [f"s{number} = s32[] constant({start})" for number, start in enumerate(starts, 1)]
    return "ENTRY e { " + " ".join([*given, *lines]) + " }", dims


def reshaped(draw, count):
    dims = []
    while count > 1 and len(dims) < 3:
        divisors = [n for n in range(1, count + 1) if count % n == 0]
        dims.append(draw(st.sampled_from(divisors)))
        count //= dims[-1]
    return [*dims, count]


@pytest.mark.slow
@settings(max_examples=200)
@given(chains())
def test_a_view_is_what_the_moves_make(chain):
    text, dims = chain
    module = compiler.parse(text)
    values = np.arange(np.prod(dims), dtype=np.int32).reshape(dims)
    seen = view(module.entry.root, module.entry.parameters)
    if seen is None:
        assert "reshape" in text
        return
    (wanted,) = compiler.interpret(module, values)
    assert seen.source is module.entry.parameters[0]
    strides = [stride * values.itemsize for stride in seen.strides]
    first = seen.offset + sum(map(begin, seen.slices))
    np.testing.assert_array_equal(as_strided(values.ravel()[first:], seen.dims, strides), wanted)


def begin(dynamic):
    """The elements before a dynamic slice's first."""
    part, strides = dynamic
    operand, *starts = part.operands
    limits = [size - taken for size, taken in zip(operand.array.dims, part.array.dims, strict=True)]
    places = [np.clip(int(start.literal.array), 0, limit) for start, limit in zip(starts, limits, strict=True)]
    return int(np.dot(places, strides))


@pytest.mark.parametrize(
    ("moves", "found"),
    [
        ("ROOT r = s32[6,4] reshape(x)", True),
        ("t = s32[4,3,2] transpose(x), dimensions={2,1,0} ROOT r = s32[12,2] reshape(t)", False),
        ("s = s32[2,2,4] slice(x), slice={[0:2], [1:3], [0:4]} ROOT r = s32[2,8] reshape(s)", True),
        ("s = s32[2,2,4] slice(x), slice={[0:2], [1:3], [0:4]} ROOT r = s32[16] reshape(s)", False),
        ("s = s32[2,3,1] slice(x), slice={[0:2], [0:3], [2:3]} ROOT r = s32[6] reshape(s)", True),
        ("ROOT r = s32[2,3,4] negate(x)", False),
    ],
)
def test_what_is_a_view(moves, found):
    module = compiler.parse(f"ENTRY e {{ x = s32[2,3,4] parameter(0) {moves} }}")
    assert (view(module.entry.root, module.entry.parameters) is not None) == found
