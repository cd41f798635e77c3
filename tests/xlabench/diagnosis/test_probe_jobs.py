"""A process records every value of a program."""

import numpy as np

from xlabench import jobs
from xlabench.diagnosis.probe_jobs import record_values


def test_every_value_of_a_program_is_recorded(tmp_path):
    files = {name: str(tmp_path / name) for name in ("program", "inputs", "results")}
    jobs.write_program(tmp_path / "program", "ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] negate(x) }")
    jobs.write_arrays(tmp_path / "inputs", [np.ones(3, np.float32)])
    assert record_values(files, lambda _: None) == {"places": [("e", "x"), ("e", "r")], "again": []}
    np.testing.assert_array_equal(jobs.read_arrays(tmp_path / "results")[1], -np.ones(3))
