"""Programs with the results of XLA:CPU, to hold the reference against; see `tests/golden.py`."""

from __future__ import annotations

from pathlib import Path

import golden
import pytest

from compiler.interpreter import interpret
from compiler.text.parser import parse
from compiler.verifier import findings

_CASES = [*golden.cases("xla_cpu"), *golden.cases("jax_cpu")]
_FAMILIES = sorted({golden.family(case) for case in _CASES})


@pytest.mark.parametrize("family", _FAMILIES)
def test_the_reference_agrees_with_xla(family: str) -> None:
    wrong = {}
    for case in _CASES:
        if golden.family(case) == family:
            module = parse(case.text)
            assert findings(module) == []
            wrong[case.name] = golden.difference(case, interpret(module, *case.inputs))
    assert {name: text for name, text in wrong.items() if text} == {}


def test_writing_what_was_read_gives_the_same_cases(tmp_path: Path) -> None:
    golden.write(tmp_path / "copy.xz", _CASES[:20])
    copies = list(golden.read(tmp_path / "copy.xz"))
    assert [(copy.name, copy.text) for copy in copies] == [(case.name, case.text) for case in _CASES[:20]]
    assert [[v.tobytes() for v in c.results] for c in copies] == [[v.tobytes() for v in c.results] for c in _CASES[:20]]
