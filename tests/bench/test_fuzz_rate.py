"""How many generated programs a worker runs in a second, and that its own work stays small beside the engines'.

The goal is 25 a second and core for programs of 10 to 20 instructions on the reference and two forms of the CPU engine;
the machine decides what comes out, so the rate is kept in `benchmarks.json` and the shares are what is held to.
"""

import pytest

from xlabench.fuzzing import case_records, fuzz_jobs
from xlabench.fuzzing.generate import PROFILES, draw_case

pytestmark = pytest.mark.bench

ENGINES = ("cpu:opt=0", "cpu:fusion=off,opt=0")
PROGRAMS = 40
MOST_OVERHEAD = 0.25


def numbers(seed):
    """The numbers of programs that have 10 to 20 instructions."""
    found, number = [], 0
    while len(found) < PROGRAMS:
        module = draw_case(PROFILES["ratchet"], seed, number).module
        if 10 <= sum(1 for _ in module.instructions()) <= 20:
            found.append(number)
        number += 1
    return found


def test_generated_programs_per_second_of_a_worker(benchmark, tmp_path):
    drawing = {"drawer": "xlabench.fuzzing.generate:drawer", "profile": "ratchet", "seed": 3, "banned": []}
    arguments = {
        "factory": "xlabench.engines:engine",
        "engines": ENGINES,
        "drawing": drawing,
        "folder": str(tmp_path),
        "numbers": numbers(3),
    }
    benchmark.pedantic(fuzz_jobs.batch, args=(arguments, lambda _: None), rounds=3, warmup_rounds=1)
    records = case_records.records_in(tmp_path)
    spent = {key: sum(record["seconds"][key] for record in records) for key in records[0]["seconds"]}
    benchmark.extra_info.update(programs_per_s=PROGRAMS / benchmark.stats["min"], seconds=spent)
    assert spent["drawing"] + spent["reference"] < MOST_OVERHEAD * sum(spent.values())
