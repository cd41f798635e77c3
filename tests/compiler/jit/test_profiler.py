"""A cluster is compiled the first time, a later signature the second time it is asked for, and a fickle one no more."""

from compiler.jit.profiler import LEAST_EXECUTIONS, MOST_COMPILATIONS, Statistics


def test_the_first_run_compiles_at_once_and_later_signatures_when_they_come_again():
    statistics = Statistics()
    statistics.executed()
    assert statistics.pays(1)
    statistics.executed()
    assert not statistics.pays(1)
    assert statistics.pays(2)


def shapes_change(count, runs):
    statistics = Statistics()
    for _ in range(count):
        statistics.compiled(10)
        for _ in range(runs):
            statistics.executed()
    return statistics


def test_what_changes_all_the_time_is_given_up_for_ever():
    fickle = shapes_change(MOST_COMPILATIONS + 1, 1)
    assert fickle.is_megamorphic
    assert not fickle.pays(100)
    for _ in range(LEAST_EXECUTIONS * 100):
        fickle.executed()
    assert not fickle.pays(100)


def test_what_runs_often_enough_is_not():
    assert not shapes_change(MOST_COMPILATIONS, 1).is_megamorphic
    steady = shapes_change(MOST_COMPILATIONS + 5, LEAST_EXECUTIONS + 10)
    assert not steady.is_megamorphic
    assert steady.compile_ns == 10 * (MOST_COMPILATIONS + 5)
