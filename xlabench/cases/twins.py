"""Integer twins of a suite's programs, as programs beside them: equal to the bit or wrong, whatever rounding does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import compiler
from xlabench import atomic, survival
from xlabench.cases import programs
from xlabench.cases.suite import Suite, SuiteProgram, Variant
from xlabench.errors import BenchError


def with_twins(suite: Suite, folder: Path) -> Suite:
    """A suite, and the twin of each of its programs that has one.

    Args:
        suite: what is to be judged and timed.
        folder: where twins are written; they are judged only, on inputs made up by the seed.
    """
    twins: list[SuiteProgram] = []
    for program in suite.programs:
        bug = survival.caught(partial(_add_twin, twins, program, folder))
        if bug is not None:
            twins.append(SuiteProgram(_name(program), program.path, is_timed=False, unmade=bug.message))
    return replace(suite, programs=(*suite.programs, *twins))


def _name(program: SuiteProgram) -> str:
    return f"{program.name}.twin"


def _add_twin(twins: list[SuiteProgram], program: SuiteProgram, folder: Path) -> None:
    path = _written(program.path, folder)
    if path is None:
        return
    reduced = {}
    for spec, variant in program.reduced.items():
        cut = _written(variant.path, folder)
        if cut is not None:
            reduced[spec] = Variant(cut, variant.reduced)
    twins.append(SuiteProgram(_name(program), path, reduced, is_timed=False))


def _written(path: Path, folder: Path) -> Path | None:
    """The file of a program's twin; None where there is no twin, or no program: that is said when it is judged."""
    try:
        twin = compiler.edit.integer_twin(programs.read(path))
    except (BenchError, compiler.CompilerError):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{path.stem}.twin.hlo"
    atomic.write(target, compiler.to_text(twin).encode())
    return target
