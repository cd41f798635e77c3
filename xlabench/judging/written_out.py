"""Operations on many elements, each in a form or two, and what they mean, written out element by element.

The meanings take arrays of any numbers as objects, such as mpmath's, and share nothing with the reference's, which are
NumPy's own functions of whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

import compiler

Numbers = Any  # an array of numbers as objects
Meaning = Callable[..., Any]

_TOP, _TO = 3, np.array([1, 0, 1, 3])
"""How many of a line are chosen, and where updates go: two of them to one element."""


@dataclass(frozen=True, slots=True)
class Form:
    """An operation in one form.

    Attributes:
        opcode: whose rule it tries.
        dims: of each operand; those of the form are numbers that are not known exactly.
        text: the operation on `x0`, `x1`, ... of the type `T`, as the instruction `r`.
        shapes: of its results, with `T` for the type.
        meaning: the results of arrays of numbers.
        ends: between which operands lie.
        kinds: types that it is tried on.
        called: computations, in the text of the language.
    """

    opcode: str
    dims: Sequence[tuple[int, ...]]
    text: str
    shapes: Sequence[str]
    meaning: Meaning
    ends: tuple[float, float] = (0.1, 6.0)
    kinds: Sequence[str] = ("f32", "bf16", "f16", "f64")
    called: str = ""

    def module(self, kind: str) -> Any:
        """The program: operands that are off by what adding a number and taking it again makes, and the operation."""
        lines = list[str]()
        for k, dims in enumerate(self.dims):
            array = f"T{list(dims)}".replace(" ", "")
            lines += [f"p{k} = {array} parameter({2 * k})", f"c{k} = {array} parameter({2 * k + 1})"]
            lines += [f"s{k} = {array} add(p{k}, c{k})", f"x{k} = {array} subtract(s{k}, c{k})"]
        names = [f"x{k}" for k in range(len(self.dims))]
        results = [f"r{k}" for k in range(len(self.shapes))]
        is_one = len(results) == 1
        whole = self.shapes[0] if is_one else f"({', '.join(self.shapes)})"
        lines += [self.text.replace("WHOLE", whole)]
        lines += [
            f"r{k} = {shape} copy(r)" if is_one else f"r{k} = {shape} get-tuple-element(r), index={k}"
            for k, shape in enumerate(self.shapes)
        ]
        lines += [f"ROOT t = tuple({', '.join([*names, *results])})"]
        text = self.called + "ENTRY main {\n" + "\n".join(lines) + "\n}"
        return compiler.parse(_typed(text, kind))


def _typed(text: str, kind: str) -> str:
    return text.replace("T[", f"{kind}[")


def _combiner(opcode: str) -> str:
    return f"of {{ a = T[] parameter(0) b = T[] parameter(1) ROOT c = T[] {opcode}(a, b) }}\n"


_LESS = "less { a = T[] parameter(0) b = T[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }\n"
_LESS_OF_TWO = _LESS.replace("ROOT", "i = s32[] parameter(2) j = s32[] parameter(3) ROOT")


def _each(dims: tuple[int, ...], function: Callable[..., Any]) -> Numbers:
    """An array of what a function makes of the place of each element."""
    made = np.empty(dims, object)
    for at in np.ndindex(dims):
        made[at] = function(*at)
    return made


def _lines(function: Callable[[Any], Any]) -> Meaning:
    return lambda x: np.array([function(list(line)) for line in x], object)


def _product_of(numbers: Sequence[Any]) -> Any:
    made = numbers[0]
    for number in numbers[1:]:
        made = made * number
    return made


def _windows(x: Numbers) -> Numbers:
    return np.array([sum(x[max(0, 2 * j - 1) : 2 * j + 2]) for j in range(5)], object)


def _multiplied(x: Numbers, y: Numbers) -> Numbers:
    return np.array([[sum(a * b for a, b in zip(row, column, strict=True)) for column in y.T] for row in x], object)


def _convolved(x: Numbers, kernel: Numbers) -> Numbers:
    length, features = x.shape[1], range(x.shape[2])
    inside = [[k for k in range(3) if 0 <= j - 1 + k < length] for j in range(length)]
    return np.array(
        [
            [
                [sum(x[0, j - 1 + k, i] * kernel[k, i, o] for k in inside[j] for i in features)
                 for o in range(kernel.shape[2])]
                for j in range(length)
            ]
        ],
        object,
    )  # fmt: skip


def _added(x: Numbers, updates: Numbers) -> Numbers:
    made = x.copy()
    for at, update in zip(_TO, updates, strict=True):
        made[at] = made[at] + update
    return made


def _transformed(x: Numbers) -> Numbers:
    count = len(x)
    roots = [mpmath.expjpi(mpmath.mpf(-2 * k) / count) for k in range(count)]
    return np.array([sum(x[k] * roots[j * k % count] for k in range(count)) for j in range(count)], object)


def _solved(matrix: Numbers, given: Numbers) -> Numbers:
    made = given.copy()
    for row in range(len(matrix)):
        left = made[row] - sum((matrix[row, k] * made[k] for k in range(row)), 0 * made[row])
        made[row] = left / matrix[row, row]
    return made


def _factor(matrix: Numbers) -> Numbers:
    made = matrix * 0
    for row in range(len(matrix)):
        for column in range(row + 1):
            left = matrix[row, column] - sum(made[row, k] * made[column, k] for k in range(column))
            made[row, column] = mpmath.sqrt(left) if row == column else left / made[column, column]
    return made


SUMMED: Mapping[str, Form] = {
    "reduce": Form(
        "reduce", [(3, 5)], "z = T[] constant(0)\nr = WHOLE reduce(x0, z), dimensions={1}, to_apply=of", ["T[3]"],
        _lines(sum), (-6.0, 6.0), called=_combiner("add"),
    ),
    "product": Form(
        "reduce", [(3, 4)], "z = T[] constant(1)\nr = WHOLE reduce(x0, z), dimensions={1}, to_apply=of", ["T[3]"],
        _lines(_product_of), (0.5, 2.0), called=_combiner("multiply"),
    ),
    "window": Form(
        "reduce-window", [(9,)],
        "z = T[] constant(0)\nr = WHOLE reduce-window(x0, z), window={size=3 stride=2 pad=1_1}, to_apply=of", ["T[5]"],
        _windows, (-6.0, 6.0), called=_combiner("add"),
    ),
    "dot": Form(
        "dot", [(3, 4), (4, 2)], "r = WHOLE dot(x0, x1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        ["T[3,2]"], _multiplied, (-6.0, 6.0), kinds=("f32", "bf16", "f16", "f64", "c64"),
    ),
    "convolution": Form(
        "convolution", [(1, 7, 2), (3, 2, 2)],
        "r = WHOLE convolution(x0, x1), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f", ["T[1,7,2]"],
        _convolved, (-6.0, 6.0),
    ),
    "scatter": Form(
        "scatter", [(4,), (4,)],
        f"i = s32[4,1] constant({{{', '.join(f'{{{at}}}' for at in _TO)}}})\n"
        "r = WHOLE scatter(x0, i, x1), update_window_dims={}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=of",
        ["T[4]"], _added, (-6.0, 6.0), called=_combiner("add"),
    ),
    "fft": Form("fft", [(5,)], "r = WHOLE fft(x0), fft_type=FFT, fft_length={5}", ["T[5]"], _transformed,
                kinds=("c64",)),
}  # fmt: skip
"""Sums and products of many elements: of their magnitudes they are the largest that they can be."""
_SOLVED: Mapping[str, Form] = {
    "triangular-solve": Form(
        "triangular-solve", [(3, 3), (3, 2)],
        "r = WHOLE triangular-solve(x0, x1), left_side=true, lower=true, transpose_a=NO_TRANSPOSE", ["T[3,2]"],
        _solved, (1.0, 2.0), kinds=("f32", "f64"),
    ),
    "cholesky": Form(
        "cholesky", [(3, 3)],
        "n = T[] constant(8)\nd = T[3,3] constant({{8,0,0},{0,8,0},{0,0,8}})\ny = T[3,3] add(x0, d)\n"
        "h = T[3,3] transpose(y), dimensions={1,0}\nf = T[3,3] add(y, h)\nr = WHOLE cholesky(f), lower=true",
        ["T[3,3]"], lambda x: _factor(x + x.T + 16 * np.eye(3, dtype=int)), (0.1, 1.0), kinds=("f32", "f64"),
    ),
}  # fmt: skip
"""Solutions, of which no factor says how far they may be off."""
MOVED: Mapping[str, Form] = {
    "transpose": Form("transpose", [(2, 3, 4)], "r = WHOLE transpose(x0), dimensions={1,2,0}", ["T[3,4,2]"],
                      lambda x: _each((3, 4, 2), lambda j, k, i: x[i, j, k])),
    "reverse": Form("reverse", [(2, 5)], "r = WHOLE reverse(x0), dimensions={1}", ["T[2,5]"],
                    lambda x: np.array([list(line)[::-1] for line in x], object)),
    "slice": Form("slice", [(3, 9)], "r = WHOLE slice(x0), slice={[1:3], [2:9:3]}", ["T[2,3]"],
                  lambda x: np.array([[x[i, j] for j in (2, 5, 8)] for i in (1, 2)], object)),
    "pad": Form("pad", [(4,), ()], "r = WHOLE pad(x0, x1), padding=2_-1_1", ["T[8]"],
                lambda x, y: np.array([y[()], y[()], x[0], y[()], x[1], y[()], x[2], y[()]], object)),
    "concatenate": Form("concatenate", [(2, 3), (2, 2)], "r = WHOLE concatenate(x0, x1), dimensions={1}", ["T[2,5]"],
                        lambda x, y: np.array([[*a, *b] for a, b in zip(x, y, strict=True)], object)),
    "broadcast": Form("broadcast", [(3,)], "r = WHOLE broadcast(x0), dimensions={1}", ["T[2,3,2]"],
                      lambda x: np.array([[[x[j]] * 2 for j in range(3)]] * 2, object)),
    "reshape": Form("reshape", [(2, 6)], "r = WHOLE reshape(x0)", ["T[3,4]"],
                    lambda x: _each((3, 4), lambda i, j: x[divmod(4 * i + j, 6)])),
    "gather": Form(
        "gather", [(4, 3)],
        "i = s32[3,1] constant({{2}, {0}, {2}})\nr = WHOLE gather(x0, i), offset_dims={1}, collapsed_slice_dims={0},"
        " start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}",
        ["T[3,3]"], lambda x: np.array([list(x[at]) for at in (2, 0, 2)], object)),
    "dynamic-slice": Form(
        "dynamic-slice", [(3, 6)],
        "i = s32[] constant(1)\nj = s32[] constant(5)\nr = WHOLE dynamic-slice(x0, i, j), dynamic_slice_sizes={2,3}",
        ["T[2,3]"], lambda x: np.array([list(x[i, 3:]) for i in (1, 2)], object)),
    "dynamic-update-slice": Form(
        "dynamic-update-slice", [(6,), (2,)], "i = s32[] constant(3)\nr = WHOLE dynamic-update-slice(x0, x1, i)",
        ["T[6]"], lambda x, y: np.array([*x[:3], *y, x[5]], object)),
    "select": Form(
        "select", [(4,), (4,)], "p = pred[4] constant({1, 0, 0, 1})\nr = WHOLE select(p, x0, x1)", ["T[4]"],
        lambda x, y: np.array([x[0], y[1], y[2], x[3]], object)),
}  # fmt: skip
"""What moves elements: the bound of each goes along with it."""


def _in_order(x: Numbers, *, count: int | None = None, turned: bool = False) -> tuple[Numbers, Numbers]:
    """Lines in order, and where each element was."""
    order = [sorted(range(len(line)), key=(-line if turned else line).__getitem__)[:count] for line in x]
    return np.array([[line[k] for k in at] for line, at in zip(x, order, strict=True)], object), np.array(order, object)


ORDERED: Mapping[str, Form] = {
    "sort": Form(
        "sort", [(3, 6)],
        "i = s32[3,6] iota(), iota_dimension=1\nr = WHOLE sort(x0, i), dimensions={1}, to_apply=less",
        ["T[3,6]", "s32[3,6]"], _in_order, called=_LESS_OF_TWO,
    ),
    "topk": Form(
        "topk", [(3, 6)], f"r = WHOLE topk(x0), k={_TOP}, largest=true", [f"T[3,{_TOP}]", f"s32[3,{_TOP}]"],
        lambda x: _in_order(x, count=_TOP, turned=True),
    ),
    "maximum": Form(
        "reduce", [(3, 5)], "z = T[] constant(-inf)\nr = WHOLE reduce(x0, z), dimensions={1}, to_apply=of", ["T[3]"],
        _lines(max), (-6.0, 6.0), called=_combiner("maximum"),
    ),
}  # fmt: skip
"""What puts elements in order, or chooses among them."""
_SAME_DIMS = "{ ROOT a = T[4] parameter(0) }\n"
_DECIDED = (
    "f = T[1] slice(x0), slice={[1:2]}\na = T[] reshape(f)\ng = T[1] slice(x1), slice={[1:2]}\nb = T[] reshape(g)\n"
    "p = pred[] compare(a, b), direction=LT\nr = WHOLE conditional(p, x2, x3), true_computation=yes,"
    " false_computation=no"
)
_COUNTED = (
    "more { s = (s32[], T[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(2)"
    " ROOT c = pred[] compare(i, n), direction=LT }\n"
    "next { s = (s32[], T[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(1)"
    " j = s32[] add(i, one) a = T[4] get-tuple-element(s), index=1 b = T[4] negate(a)"
    " ROOT t = (s32[], T[4]) tuple(j, b) }\n"
    "no { a = T[4] parameter(0) i = s32[] constant(0) s = (s32[], T[4]) tuple(i, a)"
    " w = (s32[], T[4]) while(s), condition=more, body=next ROOT b = T[4] get-tuple-element(w), index=1 }\n"
)


def _chosen(left: Numbers, right: Numbers, x: Numbers, y: Numbers) -> Numbers:
    return x if left[1] < right[1] else y


CHOSEN: Mapping[str, Form] = {
    name: Form(
        "conditional", [(2,), (2,), (4,), (4,)], _DECIDED, ["T[4]"], _chosen, (1.0, 1.02), kinds=("f32", "bf16"),
        called=f"yes {_SAME_DIMS}{no}",
    )
    for name, no in (("branches", f"no {_SAME_DIMS}"), ("a loop in a branch", _COUNTED))
}  # fmt: skip
"""What is chosen by numbers that are too close to call."""
FORMS: Mapping[str, Form] = {**SUMMED, **_SOLVED, **MOVED, **ORDERED, **CHOSEN}
"""All forms by name."""

__all__ = ["CHOSEN", "FORMS", "MOVED", "ORDERED", "SUMMED", "Form", "Numbers"]
