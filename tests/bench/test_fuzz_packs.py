"""What campaigns gain by compiling small programs together, in CPU time for the same programs alone and in packs.

Programs of about ten instructions on arrays of 64 elements, on three engines: the goal is 150 a second and core.
"""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from xlabench.fuzzing import blocks, fuzz_jobs, generate, worker_pool

pytestmark = pytest.mark.bench

ENGINES = ("cpu:opt=0", "nvptx:sim,opt=0", "reference")
PROGRAMS = 160
SEED = 3
DRAWING = {
    "drawer": "xlabench.fuzzing.generate:drawer",
    "profile": "small",
    "seed": SEED,
    "banned": [],
    "varied": False,
}


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    ratchet = generate.PROFILES["ratchet"]
    small = replace(ratchet, space=replace(ratchet.space, most_instructions=10, most_elements=64))
    monkeypatch.setattr(generate, "PROFILES", {**generate.PROFILES, "small": small})


def numbers():
    """The numbers of programs that have about ten instructions."""
    draw, found, number = fuzz_jobs.drawer_of(DRAWING), [], 0
    while len(found) < PROGRAMS:
        if 8 <= sum(1 for _ in draw(number).module.instructions()) <= 12:
            found.append(number)
        number += 1
    return found


def _in_packs(chosen):
    """As campaigns do it, of which few numbers in a row have programs of that size."""
    alone, others = chosen[:: blocks.ALONE_EVERY], [n for at, n in enumerate(chosen) if at % blocks.ALONE_EVERY]
    size = blocks.BLOCK - blocks.BLOCK // blocks.ALONE_EVERY
    return {"numbers": alone + others, "packs": [others[at : at + size] for at in range(0, len(others), size)]}


@pytest.mark.parametrize("is_packed", [False, True], ids=["alone", "in packs"])
def test_small_programs_per_second_and_core(benchmark, tmp_path, is_packed):
    chosen = numbers()
    arguments = {"factory": "xlabench.engines:engine", "engines": ENGINES, "drawing": DRAWING, "folder": str(tmp_path)}
    arguments |= _in_packs(chosen) if is_packed else {"numbers": chosen}
    fuzz_jobs.batch({**arguments, "numbers": chosen[:1], "packs": []}, lambda _: None)
    begin = time.process_time()
    benchmark.pedantic(fuzz_jobs.batch, args=(arguments, lambda _: None), rounds=1)
    spent_s = time.process_time() - begin
    records = worker_pool._records(tmp_path)
    stages = {key: sum(record["seconds"].get(key, 0) for record in records) for key in records[0]["seconds"]}
    benchmark.extra_info.update(programs_per_cpu_s=PROGRAMS / spent_s, cpu_seconds=stages)
    assert {record["number"] for record in records} == set(chosen)
