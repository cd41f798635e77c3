"""Programs that once went wrong: each file is run on all engines and judged by the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler
from xlabench.engines import build, engine, execute
from xlabench.generate import make_inputs
from xlabench.judge import judge

FILES = sorted((Path(__file__).resolve().parents[2] / "suites" / "regressions").glob("*.hlo"))
ENGINES = ("cpu", "cpu:fusion=off", "nvptx:sim")


@pytest.mark.parametrize("spec", ENGINES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("special", [False, True], ids=["tame", "special"])
def test_what_once_went_wrong_is_right(path: Path, spec: str, *, special: bool) -> None:
    module = compiler.parse(path.read_text(encoding="utf-8"))
    inputs = make_inputs(module, np.random.default_rng(0), special=special)
    subject = engine(spec)
    try:
        program = build(subject, module)
    except compiler.UnsupportedError as error:
        pytest.skip(str(error))
    expected, actual = compiler.interpret(module, *inputs), execute(subject, program, inputs)
    assert judge(module, inputs, expected, actual).verdict in ("bitwise", "within", "undecided")
