"""Collects the seeds of campaigns: the smallest of our programs by which each part of the compiler is reached.

    python tests/searching/seeds.py [--out suites/seeds/programs.hlo]

Asked are the file tests, and the programs of every opcode and form (`op_programs`).  File tests of passes, and of runs,
are kept whatever they reach: each was written for a condition that no count of functions knows.  A seed may be planted
in other programs, and the engines of a campaign agree about it on values of every kind; with values of its own it would
be a test, and is one already.  Beside the programs is written what they come to (`reached.txt`), and by which rules
each is rewritten (`rules.txt`, a line for each).
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import op_programs
from searching.forked import forked, read

import compiler
from xlabench.commands.fuzz import ENGINES
from xlabench.engines import build, engine, execute
from xlabench.fuzzing.fuzz_jobs import FINE
from xlabench.fuzzing.reached import keys_of
from xlabench.fuzzing.values import KINDS, make_inputs
from xlabench.judging.judge import judge

ROOT = Path(compiler.__file__).resolve().parents[1]
FILETESTS = Path(__file__).parents[1] / "filetests"
_MOST_INSTRUCTIONS, _MOST_ELEMENTS, _MOST_S = 48, 1 << 13, 8.0
_ALL_OF = ("passes", "run")
_HUGE = re.compile(r"(?<![\d.])\d{6,}")  # windows and padding at the ends of what integers hold
_KEY = "key "
_RULE = f"{_KEY}rule "
_SEPARATOR = "// -----\n"


def programs():
    """The programs that are asked, the smallest first, and whether they are kept whatever they reach."""
    found = []
    for path in sorted(FILETESTS.rglob("*.hlo")):
        kind = path.relative_to(FILETESTS).parts[0]
        if kind not in ("error", "verify"):
            text, *_ = re.split(r"^// expect:", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            found.append((text, kind in _ALL_OF))
    found += [(op_programs.program(opcode), False) for opcode in op_programs.EVALUATED]
    found += [(text, False) for text in op_programs.FORMS.values()]
    modules = [(module, is_kept) for text, is_kept in found if (module := _read(text)) is not None]
    return sorted(modules, key=lambda one: (_count(one[0]), compiler.to_text(one[0])))


def _read(text):
    """The program of a text without notes, if it may be a seed."""
    try:
        module = compiler.edit.plain(compiler.parse(text)).module
        compiler.verify(module)
    except (compiler.CompilerError, AttributeError):
        return None
    elements = max((leaf.size for i in module.instructions() for leaf in compiler.edit.leaves(i.shape)), default=0)
    if _HUGE.search(compiler.to_text(module)):
        return None
    is_small = _count(module) <= _MOST_INSTRUCTIONS and elements <= _MOST_ELEMENTS
    return module if is_small and compiler.generate.is_fragment(module) else None


def _count(module):
    return sum(len(computation.instructions) for computation in module.computations)


def reached(module, scratch):
    """The functions that a program comes to; none where engines do not agree about it."""

    def work(say):
        calls = set()

        def called(frame, event, _):
            if event == "call" and frame.f_code.co_filename.startswith(f"{ROOT}/compiler/"):
                calls.add(f"{frame.f_code.co_filename[len(str(ROOT)) + 1 :]}:{frame.f_code.co_qualname}")

        say("run")
        rng = np.random.default_rng(1)
        executables = [(subject, build(subject, module)) for subject in map(engine, ENGINES) if _takes(subject, module)]
        for number, kind in enumerate(KINDS):
            made = make_inputs(module, rng, kind)
            sys.setprofile(None if number else called)
            if not number:
                with compiler.generate.watching() as decided:
                    executables = [(subject, build(subject, module)) for subject, _ in executables]
                calls |= {f"{_KEY}{key}" for key in keys_of(decided)}
            expected = compiler.interpret(module, *made)
            for subject, program in executables:
                verdict = judge(module, made, expected, execute(subject, program, made).results).verdict
                if verdict not in FINE:
                    raise ValueError(f"{subject.spec} is {verdict} on {kind} values")
            sys.setprofile(None)
        scratch.with_suffix(".calls").write_text("\n".join(sorted(calls)), encoding="utf-8")

    scratch.with_suffix(".calls").unlink(missing_ok=True)
    ending, _, _ = forked(work, scratch, timeout_s=_MOST_S)
    if ending != "answered":
        said = read(scratch.with_suffix(".log")).splitlines()
        sys.stderr.write(f"left out: {said[-1] if said else ending}\n")
        return set()
    return set(read(scratch.with_suffix(".calls")).split("\n"))


def _takes(subject, module):
    """Whether an engine supports a program, as the first of a campaign has to."""
    try:
        build(subject, module)
    except compiler.UnsupportedError:
        if subject.spec == ENGINES[0]:
            raise
        return False
    return True


def main():
    """Keep each program by which something is reached that no smaller one reaches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "suites" / "seeds" / "programs.hlo")
    asked, known, kept, rules = parser.parse_args(), set(), [], []
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    for spec in ENGINES:
        engine(spec)
    for module, is_kept in programs():
        found = reached(module, asked.out.parent / ".stage")
        if found and (is_kept or not found <= known):
            known |= found
            module.name = f"seed_{len(kept)}"
            kept.append(compiler.to_text(module))
            rules.append("; ".join(sorted(key.removeprefix(_RULE) for key in found if key.startswith(_RULE))))
    for left in asked.out.parent.glob(".stage*"):
        left.unlink()
    asked.out.write_text(_SEPARATOR.join(kept), encoding="utf-8")
    keys = sorted(key.removeprefix(_KEY) for key in known if key.startswith(_KEY))
    asked.out.with_name("reached.txt").write_text("\n".join(keys) + "\n", encoding="utf-8")
    asked.out.with_name("rules.txt").write_text("\n".join(rules) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(kept)} seeds reach {len(known)} functions and ways\n")


if __name__ == "__main__":
    main()
