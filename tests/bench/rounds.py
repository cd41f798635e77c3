"""Timing by turns: what is compared takes turns within one process, and each is judged by its best.

A round is long enough that the clock does not matter.  On a machine that is not ours alone the best round is what a
call costs, and not what its neighbours do.
"""

import math
import time

ROUND_S = 0.02
ROUNDS = 40
REST_S = 0.2
"""Longer than the threads of NumPy's products wait for more of them."""


def seconds(call, count):
    """The seconds of a call, on average over as many."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def calls_per_round(call, round_s=ROUND_S):
    """How many calls fill a round; calls once before, so that what is made once is made."""
    call()
    return max(1, int(round_s / max(seconds(call, 1), 1e-7)))


def best(*calls, rounds=ROUNDS, round_s=ROUND_S, restless=None):
    """The seconds of one call in the best round of each.

    Everybody is the first in turn.  Whose threads keep cores busy when there is nothing more for them to do comes last,
    as `restless`, and is waited for.
    """
    everybody = [*calls, *([restless] if restless else [])]
    counts = [calls_per_round(call, round_s) for call in everybody]
    least = [math.inf] * len(everybody)
    for number in range(rounds):
        first = number % len(calls)
        order = [*range(first, len(calls)), *range(first)]
        for who in (*order, *range(len(calls), len(everybody))):
            least[who] = min(least[who], seconds(everybody[who], counts[who]))
        if restless:
            time.sleep(REST_S)
    return least


def record(benchmark, call, **facts):
    """Have the JSON file say what was measured."""
    benchmark.extra_info.update(facts)
    benchmark.pedantic(call, rounds=10, iterations=calls_per_round(call), warmup_rounds=1)


def geometric_mean(values):
    """The geometric mean of positive numbers."""
    return math.exp(sum(map(math.log, values)) / len(values))
