"""What the machine can do: counted by hand, and measured of loops that do nothing else."""

import pytest

from compiler.backends.cpu import limits


@pytest.fixture
def asked(monkeypatch):
    """What would be timed; a copy past the caches is half as fast."""
    seen = []

    def best(kind, array_bytes, steps, threads):
        seen.append((kind, array_bytes, steps, threads))
        return 2.0 if kind == "stream" else 1.0

    monkeypatch.setattr(limits, "_best", best)
    return seen


@pytest.mark.parametrize("threads", [1, 3])
def test_reading_moves_every_byte_once(asked, threads):
    rate = limits.bandwidth("read", 1 << 20, threads=threads)
    ((kind, size, steps, used),) = asked
    assert (kind, used, steps % threads) == ("read", threads, 0)
    assert rate == size <= 1 << 20


def test_copying_moves_it_twice_and_the_better_loop_counts(asked):
    rate = limits.bandwidth("copy", 1 << 20, threads=1)
    assert [kind for kind, *_ in asked] == ["copy", "stream"]
    assert rate == 2 * asked[0][1] <= 1 << 20


def test_less_memory_than_a_step_of_every_thread_is_a_step_of_every_thread(asked):
    limits.bandwidth("read", 1, threads=3)
    assert asked[0][2] == 3


def test_a_multiply_add_counts_as_two(asked):
    lanes = limits._vector_bytes() // 4
    assert limits.peak_flops(threads=2) == 2 * limits._CHAINS * lanes * asked[0][2]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["read", "copy"])
def test_the_loops_run_and_take_time(monkeypatch, kind):
    monkeypatch.setattr(limits, "_RUN_S", 1e-4)
    assert 1e6 < limits.bandwidth(kind, 1 << 14, threads=2) < 1e14
    assert 1e6 < limits.peak_flops(threads=2) < 1e14
