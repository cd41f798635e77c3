"""What a worker leaves whole is read back; what it was writing when it ended is not."""

import json

import numpy as np

from xlabench.fuzzing.case_failure import left_in
from xlabench.jobs import write_arrays


def test_only_what_is_whole_is_read(tmp_path):
    entry = {"number": 3, "engine": "cpu", "verdict": "wrong", "message": "", "key": "layout", "layout": "strided"}
    for name in ("3-cpu", "4-cpu"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "module.hlo").write_text("HloModule m")
        for arrays in ("inputs", "expected", "actual"):
            write_arrays(tmp_path / name / arrays, [np.ones(2)])
    (tmp_path / "3-cpu" / "finding.json").write_text(json.dumps(entry))
    (found,) = left_in(tmp_path)
    assert (found.number, found.layout, found.module_text) == (3, "strided", "HloModule m")
