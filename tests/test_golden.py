"""Cases with recorded results are written as they were read."""

from __future__ import annotations

from pathlib import Path

import golden

_CASES = list(golden.cases("xla_cpu"))[:20]


def test_writing_what_was_read_gives_the_same_cases(tmp_path: Path) -> None:
    golden.write(tmp_path / "copy.xz", _CASES)
    copies = list(golden.read(tmp_path / "copy.xz"))
    assert [(copy.name, copy.text) for copy in copies] == [(case.name, case.text) for case in _CASES]
    assert [[v.tobytes() for v in c.results] for c in copies] == [[v.tobytes() for v in c.results] for c in _CASES]
