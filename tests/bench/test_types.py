"""Every form of opcode on every type that it takes, beside XLA: what is slow for one type only shows nowhere else."""

from functools import partial

import pytest
from bench.rounds import best, geometric_mean
from bench.type_programs import FAMILIES

import compiler
from xlabench import engine
from xlabench.cases import inputs
from xlabench.errors import Undecidable

pytestmark = pytest.mark.bench

ROUND_S, ROUNDS = 0.005, 9
LEAST = 0.5
"""XLA's time over ours below which something is wrong, not just slow, on any one program."""
LEAST_MEAN = 1.5


def ratio(text):
    """XLA's time over ours, each in its best round; None of what XLA does not take."""
    module = compiler.parse(text)
    arrays = inputs.generate(module, 1)
    try:
        calls = [engine(spec).compile(compiler.to_text(module)) for spec in ("cpu:threads=2", "xla")]
    except Undecidable:
        return None
    ours, theirs = best(*(partial(call, *arrays) for call in calls), rounds=ROUNDS, round_s=ROUND_S)
    return theirs / ours


@pytest.mark.parametrize("family", FAMILIES)
def test_no_type_is_left_behind(family, benchmark):
    pytest.importorskip("jaxlib", reason="jaxlib is not installed")
    ratios = {name: ratio(text) for name, text in FAMILIES[family].items()}
    known = {name: value for name, value in ratios.items() if value is not None}
    mean = geometric_mean(known.values())
    worst = dict(sorted(known.items(), key=lambda item: item[1])[:8])
    benchmark.extra_info.update(mean=mean, worst=worst, refused=len(ratios) - len(known))
    benchmark.pedantic(lambda: None)
    assert mean >= LEAST_MEAN
    assert min(worst.values()) >= LEAST, worst
