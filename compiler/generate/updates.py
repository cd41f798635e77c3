"""Recipes of look-ups in tables, and of updates of rows: many to one, in a grid, or one to each, as is promised then.

Who knows that no two updates go to one element needs no order and no atomic operation; what is promised is kept here by
how the indices are made, and each element meets an update once, so that even what minds the order may combine them.
"""

from __future__ import annotations

import math

from compiler.generate import regimes
from compiler.generate.around import read
from compiler.generate.choices import chance, permutation, pick
from compiler.generate.combining import combiner, combiners, of_updates
from compiler.generate.elementwise import spread
from compiler.generate.regimes import sizes
from compiler.generate.scope import Scope
from compiler.ir.module import Instruction
from compiler.ir.numbers import integer_bounds
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32, TYPES, ElementType
from compiler.ops.build import build

_LINE_PERCENT, _ACROSS_PERCENT, _GRID_PERCENT, _MOST_OF_GRID = 30, 30, 35, 5
"""How often rows lie in one line, where they may begin anywhere and overlap; how often windows lie across rows; how
often two numbers say which row it is, of a grid, and how many rows that has at most along its shorter side."""
_FEW_UPDATES = 1000
"""Of more that two numbers place a simulator takes too long where passes do not put them in order (measured)."""
_UNIQUE_PERCENT, _SORTED_PERCENT, _MOST_BEYOND = 20, 35, 3
"""How often no two updates go to one row, which is promised; how often these are in order; and from which row on at
most the first goes, so that the last may go beyond."""
_INDICES = (S32, S32, TYPES["u8"], TYPES["s64"], TYPES["u16"], TYPES["s16"])


def looked_up(scope: Scope, element_type: ElementType) -> Instruction:
    """Single numbers of a short table, by many indices.

    Args:
        scope: where instructions are put, and the source of decisions.
        element_type: of the numbers.
    """
    entries, *dims = sizes(scope.choices, regimes.LOOKED_UP)
    indices = scope.parameter(ArrayShape(pick(scope.choices, _INDICES), tuple(dims)))
    return scope.build(
        "gather",
        [scope.parameter(ArrayShape(element_type, (entries,))), indices],
        offset_dims=(),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=len(dims),
        slice_sizes=(1,),
    )


def updated(scope: Scope, element_type: ElementType) -> Instruction:
    """Rows, or columns, to which many updates go, several to one of them; now and then no two, as is promised.

    Args:
        scope: where instructions are put, and the source of decisions.
        element_type: of the rows.
    """
    rows, width, count = sizes(scope.choices, regimes.UPDATED)
    if chance(scope.choices, _UNIQUE_PERCENT):
        return _updated_once(scope, element_type, max(rows, count), width, min(rows, count))
    if count <= _FEW_UPDATES and chance(scope.choices, _GRID_PERCENT):
        return _updated_in_grid(scope, element_type, rows, width, count)
    is_flat, is_line = width == 1, width > 1 and chance(scope.choices, _LINE_PERCENT)
    is_across = not is_flat and not is_line and chance(scope.choices, _ACROSS_PERCENT)
    dims, updated = ((rows,), (count,)) if is_flat else ((rows, width), (count, width))
    dims, updated = (dims[::-1], updated[::-1]) if is_across else (dims, updated)
    opcode = pick(scope.choices, combiners(element_type))
    return scope.build(
        "scatter",
        [
            read(scope, element_type, (rows + width,) if is_line else dims),
            scope.parameter(ArrayShape(pick(scope.choices, _INDICES), (count, 1))),
            read(scope, element_type, updated),
        ],
        update_window_dims=() if is_flat else (int(not is_across),),
        inserted_window_dims=() if is_line else (int(is_across),),
        scatter_dims_to_operand_dims=(int(is_across),),
        index_vector_dim=1,
        to_apply=combiner(scope, opcode, element_type),
    )


def _updated_in_grid(scope: Scope, element_type: ElementType, rows: int, width: int, count: int) -> Instruction:
    """About as many rows in a grid, each named by two numbers, of which one may lie outside alone.

    The dimensions of the grid, of rows, of indices and of updates lie in any order.
    """
    side = scope.choices.integer(2, _MOST_OF_GRID)
    extents = [side, max(1, rows // side), *([] if width == 1 else [width])]
    order = permutation(scope.choices, len(extents))
    named = [order.index(0), order.index(1)]
    vector, is_across = scope.choices.integer(0, 1), width > 1 and chance(scope.choices, _ACROSS_PERCENT)
    updated = (width, count) if is_across else (count, *extents[2:])
    opcode = pick(scope.choices, combiners(element_type))
    return scope.build(
        "scatter",
        [
            read(scope, element_type, tuple(extents[k] for k in order)),
            scope.parameter(ArrayShape(pick(scope.choices, _INDICES), (count, 2) if vector else (2, count))),
            read(scope, element_type, updated),
        ],
        update_window_dims=() if width == 1 else (int(not is_across),),
        inserted_window_dims=tuple(sorted(named)),
        scatter_dims_to_operand_dims=tuple(named[k] for k in permutation(scope.choices, 2)),
        index_vector_dim=vector,
        to_apply=combiner(scope, opcode, element_type),
    )


def _updated_once(scope: Scope, element_type: ElementType, rows: int, width: int, count: int) -> Instruction:
    """Some of the rows, or columns, each of which one update goes to, the last of them perhaps beyond."""
    is_sorted = chance(scope.choices, _SORTED_PERCENT)
    is_across = width > 1 and chance(scope.choices, _ACROSS_PERCENT)
    dims, updates = ((rows,), (count,)) if width == 1 else ((rows, width), (count, width))
    dims, updates = (dims[::-1], updates[::-1]) if is_across else (dims, updates)
    return scope.build(
        "scatter",
        [
            read(scope, element_type, dims),
            _different(scope, rows, count, is_sorted=is_sorted),
            read(scope, element_type, updates),
        ],
        update_window_dims=() if width == 1 else (int(not is_across),),
        inserted_window_dims=(int(is_across),),
        scatter_dims_to_operand_dims=(int(is_across),),
        index_vector_dim=1,
        unique_indices=True,
        to_apply=of_updates(scope, element_type, is_single=True),
        **({"indices_are_sorted": True} if is_sorted else {}),
    )


def _different(scope: Scope, rows: int, count: int, *, is_sorted: bool) -> Instruction:
    """So many numbers of rows that all differ, from one on that is known at run time only."""
    made, shape = scope.computation, ArrayShape(S32, (count, 1))
    numbers = build(made, "iota", shape=shape, iota_dimension=0)
    if not is_sorted:
        steps = [n for n in range(2, rows) if math.gcd(n, rows) == 1][: 1 << 5] or [1]
        pairs = [spread(scope, scope.constant(n, S32), shape) for n in (pick(scope.choices, steps), rows)]
        numbers = build(made, "remainder", [build(made, "multiply", [numbers, pairs[0]]), pairs[1]])
    limits = [scope.constant(n, S32) for n in (0, _MOST_BEYOND)]
    first = build(made, "clamp", [limits[0], scope.parameter(ArrayShape(S32, ())), limits[1]])
    numbers = build(made, "add", [numbers, spread(scope, first, shape)])
    able = [kind for kind in _INDICES if integer_bounds(kind)[1] >= rows + _MOST_BEYOND]
    return build(made, "convert", [numbers], shape=shape.with_type(pick(scope.choices, able)))
