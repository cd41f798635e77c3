"""Products are drawn with transposes before and behind them: those that a product does as well, and others."""

from __future__ import annotations

from collections import Counter

import pytest

import compiler
from compiler.generate import RandomChoices, Space, program
from compiler.generate.choices import exchanged

SPACE = Space(frozenset({"dot"}), frozenset({"f32", "s32"}), most_instructions=4, most_elements=256)


def products():
    for seed in range(400):
        module = program(RandomChoices(seed), SPACE)
        compiler.verify(module)
        yield from (i for i in module.instructions() if i.opcode == "dot")


def sides(dot):
    """Dimensions of a product that are of the batch, rows and columns."""
    batch = len(dot.attributes.get("lhs_batch_dims", ()))
    rows = dot.operands[0].array.rank - batch - len(dot.attributes.get("lhs_contracting_dims", ()))
    return batch, rows, dot.array.rank - batch - rows


def kind(dot, dimensions):
    """What a transpose exchanges of a product: rows and columns, or anything else."""
    batch, rows, _ = sides(dot)
    order = tuple(range(dot.array.rank))
    matrix = (*order[:batch], *order[batch + rows :], *order[batch : batch + rows])
    if dimensions == order:
        return "nothing"
    if dimensions == matrix:
        return "rows and columns"
    runs = any(
        dimensions == (*order[:a], *order[b:c], *order[a:b], *order[c:])
        for a in order
        for b in order[a + 1 :]
        for c in range(b + 1, len(order) + 1)
    )
    return "other runs" if runs else "any order"


def test_products_are_transposed_as_a_whole_and_elsewhere():
    forms, ranks = Counter(), Counter()
    for dot in products():
        ranks[sides(dot)] += 1
        forms.update(f"{operand.opcode} before" for operand in dot.operands)
        forms.update(kind(dot, user.attributes["dimensions"]) for user in dot.users if user.opcode == "transpose")
    moves = [f"{opcode} before" for opcode in ("transpose", "reshape", "slice", "dynamic-slice")]
    assert all(forms[form] > 15 for form in ("rows and columns", "other runs", *moves)), forms
    several = [count for (_, rows, columns), count in ranks.items() if rows != columns and max(rows, columns) > 2]
    assert sum(several) > 15, ranks


def test_transforms_are_of_lengths_with_every_factor_once_and_more_often():
    space = Space(frozenset({"fft"}), frozenset({"f32", "c64"}), most_instructions=3, most_elements=1024)
    powers, several = Counter(), 0
    for seed in range(400):
        for i in program(RandomChoices(seed), space).instructions():
            if i.opcode != "fft":
                continue
            length = i.attributes["fft_length"][-1]
            several += sum(length % prime == 0 for prime in (2, 3, 5, 7, 11, 13, 17)) > 1
            powers.update(power for power in (2, 4, 8, 16, 32, 3, 9, 27, 5, 25, 7, 11, 13, 17) if not length % power)
    assert all(powers[power] > 10 for power in (2, 4, 8, 16, 32, 3, 9, 27, 5, 25, 7, 11, 13, 17)), powers
    assert several > 100


@pytest.mark.parametrize("length", [2, 3, 5])
def test_exchanged_runs_are_beside_each_other_and_every_pair_of_them_comes(length):
    drawn = {tuple(exchanged(RandomChoices(seed), length)) for seed in range(2000)}
    wanted = {
        (*range(a), *range(b, c), *range(a, b), *range(c, length))
        for a in range(length)
        for b in range(a + 1, length)
        for c in range(b + 1, length + 1)
    }
    assert drawn == wanted
