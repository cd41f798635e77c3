"""Periods of loops: where quotients change, and when several divisions have one in common."""

from __future__ import annotations

import itertools

import pytest

from compiler.codegen.period import SHORT_PERIOD, Division, Period, common_period

DIVISIONS = [
    Division(divisor, factor, constant)
    for divisor, factor, constant in itertools.product(
        range(2, 13), (-12, -4, -3, -2, -1, 1, 2, 3, 4, 12), range(-13, 14, 3)
    )
]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_period_holds_one_quotient_or_is_written_out(sign: int) -> None:
    for division in (one for one in DIVISIONS if one.factor * sign > 0):
        at = [divmod(division.factor * n + division.constant, division.divisor) for n in range(60)]
        period, length = division.period, division.length
        assert all(one[1] == other[1] for one, other in zip(at, at[length:], strict=False)), division
        if period is None:
            assert length > SHORT_PERIOD
            assert any(at[n][0] != at[n + 1][0] for n in range(50) if (n + 1 - division.phase) % length), (
                f"{division} has a period"
            )
            continue
        assert (period.length, period.phase) == (length, division.phase)
        if division.divisor % division.factor == 0:
            changes = [n + 1 for n in range(59) if at[n][0] != at[n + 1][0]]
            assert all((n - period.phase) % length == 0 for n in changes), division


@pytest.mark.parametrize(
    ("divisions", "period"),
    [
        ((), None),
        ((Division(64, 1, -3),), Period(64, 3)),
        ((Division(64, 1, -3), Division(64, 1, 61)), Period(64, 3)),
        ((Division(64, 1, -3), Division(64, 1, 0)), None),
        ((Division(2, 1, 0), Division(2, 1, -1)), Period(2, 0)),
        ((Division(2, 1, -1), Division(4, 1, -1), Division(2, -1, 7)), Period(4, 0)),
        ((Division(2, 1, 0), Division(3, 1, 0)), None),
        ((Division(6, 4, 0),), Period(3, 0)),
        ((Division(64, 5, 0),), None),
        ((Division(64, 5, 0), Division(2, 1, 0)), None),
    ],
    ids=str,
)
def test_divisions_have_a_period_in_common_or_none(divisions: tuple[Division, ...], period: Period | None) -> None:
    assert common_period(divisions) == period


@pytest.mark.parametrize("period", [Period(4, 0), Period(4, 3), Period(1, 0), Period(7, 2)], ids=str)
@pytest.mark.parametrize("piece", [(0, 16), (3, 5), (0, 1), (5, 30), (2, 9)], ids=str)
def test_pieces_make_up_what_they_were_cut_from(period, piece):
    pieces = period.pieces(*piece)
    assert [one for first, stop in pieces for one in range(first, stop)] == list(range(*piece))
    assert all(first < stop for first, stop in pieces)
    assert len(pieces) <= 3
    whole = [
        (first, stop)
        for first, stop in pieces
        if (first - period.phase) % period.length == 0 == (stop - first) % period.length
    ]
    starts = [one for one in range(*piece) if (one - period.phase) % period.length == 0]
    fitting = [one for one in starts if one + period.length <= piece[1]]
    assert sum(stop - first for first, stop in whole) == len(fitting) * period.length


def test_whole_periods_are_more_than_one():
    assert Period(4, 1).fits(1, 9)
    assert not Period(4, 1).fits(1, 5)
    assert not Period(4, 1).fits(0, 8)


def test_what_holds_no_whole_period_is_cut_where_one_begins() -> None:
    assert Period(64, 63).pieces(0, 126) == [(0, 63), (63, 126)]
    assert Period(64, 63).pieces(0, 63) == [(0, 63)]
    assert Period(64, 0).pieces(0, 63) == [(0, 63)]
