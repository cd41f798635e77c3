"""What campaigns gain by compiling small programs together, and by asking engines in turns.

Programs of about ten instructions on arrays of 64 elements at most, as `--instructions` and `--elements` ask for them,
on three engines, in CPU time: the goal is 150 a second and core as campaigns run them.  What is loaded and learned
once, half as many programs pay for beforehand.  The machine decides what comes out, and its neighbours: the rates are
kept, and what is held to is that each step gains.
"""

from __future__ import annotations

import time

import pytest

from xlabench.fuzzing import blocks, case_records, fuzz_jobs

pytestmark = pytest.mark.bench

ENGINES = ("cpu:opt=0", "nvptx:sim,opt=0", "reference")
PROGRAMS = 160
SEED = 3
FIRST = 1_000  # seeds have come by then
LEAST, MOST = 8, 12
DRAWING = {
    "drawer": "xlabench.fuzzing.generate:drawer",
    "profile": "ratchet",
    "seed": SEED,
    "banned": [],
    "varied": False,
    "limits": {"instructions": MOST, "elements": 64},
}
WAYS = {"alone": (False, False), "in packs": (True, False), "as campaigns do": (True, True)}
"""Whether programs are packed, and whether not all are run by all engines."""
_LEAST_GAIN = 1.1


def numbers():
    """The numbers of programs that have about ten instructions."""
    draw, found, number = fuzz_jobs.drawer_of(DRAWING), [], FIRST
    while len(found) < PROGRAMS + PROGRAMS // 2:
        if sum(1 for _ in draw(number).module.instructions()) >= LEAST:
            found.append(number)
        number += 1
    return found


def _in_packs(chosen):
    """As campaigns do it, of which few numbers in a row have programs of that size."""
    alone, others = chosen[:: blocks.ALONE_EVERY], [n for at, n in enumerate(chosen) if at % blocks.ALONE_EVERY]
    size = blocks.BLOCK - blocks.BLOCK // blocks.ALONE_EVERY
    return {"numbers": alone + others, "packs": [others[at : at + size] for at in range(0, len(others), size)]}


def _run(chosen, folder, *, is_packed, is_shared):
    """The CPU time of programs, and their records."""
    folder.mkdir()
    arguments = {"factory": "xlabench.engines:engine", "engines": ENGINES, "folder": str(folder)}
    arguments |= {"drawing": {**DRAWING, "packed": is_shared}}
    arguments |= _in_packs(chosen) if is_packed else {"numbers": chosen}
    begin = time.process_time()
    fuzz_jobs.batch(arguments, lambda _: None)
    return time.process_time() - begin, case_records.records_in(folder)


def test_small_programs_per_second_and_core(benchmark, tmp_path):
    before, chosen = (found := numbers())[PROGRAMS:], found[:PROGRAMS]
    _run(before, tmp_path / "before", is_packed=True, is_shared=False)

    def measured():
        return {
            way: _run(chosen, tmp_path / way, is_packed=is_packed, is_shared=is_shared)
            for way, (is_packed, is_shared) in WAYS.items()
        }

    spent_s = {}
    for way, (seconds, records) in benchmark.pedantic(measured, rounds=1).items():
        assert {record["number"] for record in records} == set(chosen)
        stages = {key: sum(record["seconds"].get(key, 0) for record in records) for key in records[0]["seconds"]}
        benchmark.extra_info[way] = {"programs_per_cpu_s": PROGRAMS / seconds, "cpu_seconds": stages}
        spent_s[way] = seconds
    assert spent_s["alone"] > _LEAST_GAIN * spent_s["in packs"] > _LEAST_GAIN**2 * spent_s["as campaigns do"]
