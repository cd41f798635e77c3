"""The chart of speed-ups: a bar for each program from 1, its interval, the mean, and who is missing by name."""

from collections import Counter

import pytest
from matplotlib.colors import to_rgba

from reports.speedup import _COLOURS, _draw, charts
from reports.summary import Program, Summary, Timed
from xlabench.timing.change import Measured
from xlabench.timing.stats import Ratio


def program(name, *numbers):
    timed = {engine: Timed(engine, 1.0, 0.0, 30, 3) for engine in ("old", "new")}
    speedup = Ratio(*numbers) if numbers else None
    return Program(name, "", {}, {}, timed, (), speedup, Measured({}, {}), (), {}, {})


def drawn(*programs, mean=None):
    environment = {"cpu": "Some Processor", "machine": "x86_64", "usable_cores": 2}
    run = {"id": 1, "suite": "smoke", "environment": environment}
    return Summary(run, ("old", "new"), "old", "new", (), programs, Counter(), mean)


MEAN = Ratio(1.5, 1.2, 1.9)


@pytest.fixture(scope="module")
def figure():
    programs = (program("late", 2.0, 1.8, 2.2), program("early", 0.5, 0.4, 0.6), program("none"))
    return _draw(drawn(*programs, mean=MEAN))


def bars(figure):
    (axes,) = figure.axes
    return [patch for patch in axes.patches if patch.get_height() < 1]


def test_bars_begin_at_1_and_end_at_the_estimate_the_slowest_below(figure):
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["early", "late"]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars(figure)]
    assert ends == [(1, 0.5), (1, 2.0)]
    assert axes.get_xscale() == "log"


def test_all_of_every_interval_is_within_the_axes(figure):
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    assert low < 0.4
    assert high > 2.2


def test_colours_say_what_is_claimed_and_the_legend_in_words(figure):
    (axes,) = figure.axes
    assert [bar.get_facecolor() for bar in bars(figure)] == [to_rgba(_COLOURS[one]) for one in ("slower", "faster")]
    said = {text.get_text() for text in axes.get_legend().get_texts()}
    assert said == {"slower by more than 1%", "faster by more than 1%"}


def test_the_mean_is_a_line(figure):
    (axes,) = figure.axes
    assert any(list(line.get_xdata()) == [1.5, 1.5] for line in axes.get_lines())
    assert any("geometric mean 1.50" in text.get_text() for text in axes.texts)


def test_who_has_no_speed_up_is_named(figure):
    note = figure.get_supxlabel()
    assert "without a speed-up: none" in note
    assert "Some Processor, 2 cores" in note
    assert "at least 30 samples per side" in note


def test_a_run_in_which_nothing_was_timed_says_so():
    (axes,) = _draw(drawn(program("a"), program("b"))).axes
    assert [text.get_text() for text in axes.texts] == ["no program of this run was timed"]


@pytest.mark.slow
def test_it_is_an_svg_and_a_png():
    assert charts(drawn(program("a", 1.0, 0.9, 1.1), mean=MEAN)).keys() == {"svg", "png"}
