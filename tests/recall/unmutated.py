"""The compiler without the mutant, asked by the process that has it: who else could judge a wrong reference?"""

import os
import tempfile
from pathlib import Path

from recall.planting import VARIABLE

import compiler
from xlabench import jobs
from xlabench.diagnosis.probe import FAILURES
from xlabench.engines import build, engine, execute
from xlabench.fuzzing import fuzz_jobs
from xlabench.fuzzing.worker_pool import PRELOAD
from xlabench.jobs import read_arrays, write_arrays
from xlabench.judging.judge import judge
from xlabench.judging.tolerance import TolerancePolicy
from xlabench.survival import ERROR
from xlabench.worker import Worker

_TIMEOUT_S = 60.0


class _Clean(Worker):
    """A worker in whose environment nothing is planted."""

    def start(self):
        site = os.environ.pop(VARIABLE, None)
        try:
            return super().start()
        finally:
            if site is not None:
                os.environ[VARIABLE] = site


class Unmutated:
    """A process with the compiler as it is; a context manager."""

    def __init__(self, folder):
        self._folder, self.worker = Path(folder), _Clean(preload=PRELOAD)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.worker.stop()

    def verdict(self, text, inputs, spec, actual=None):
        """What it says of a program on an engine; or of an engine's results, where these are given."""
        files = {name: str(self._folder / f"{name}.arrays") for name in ("inputs", "actual")}
        write_arrays(Path(files["inputs"]), inputs)
        if actual is not None:
            write_arrays(Path(files["actual"]), actual)
        arguments = {**files, "text": text, "engine": spec, "is_given": actual is not None}
        outcome = self.worker.run("recall.unmutated:judged", arguments, timeout_s=_TIMEOUT_S)
        return outcome.value["verdict"] if outcome.ending == "answered" else jobs.without_results(outcome)

    def is_right(self, failure, drawing):
        """Whether a case that goes wrong with the mutant is right without it."""
        if failure.verdict != ERROR:
            return self.verdict(failure.module_text, failure.inputs, failure.engine) not in FAILURES
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            arguments = {"factory": jobs.ENGINES, "engines": [], "drawing": drawing}
            arguments |= {"folder": folder, "numbers": [failure.number]}
            return self.worker.run("recall.unmutated:drawn", arguments, timeout_s=_TIMEOUT_S).ending == "answered"


def judged(arguments, say):
    """A job: the verdict on an engine's results, or on those that are given for them."""
    say("load")
    module, inputs = compiler.parse(arguments["text"]), read_arrays(Path(arguments["inputs"]))
    expected = compiler.interpret(module, *inputs)
    say("compile")
    if arguments["is_given"]:
        actual = read_arrays(Path(arguments["actual"]))
    else:
        subject = engine(arguments["engine"])
        program = build(subject, module)
        say("run")
        actual = execute(subject, program, inputs).results
    standard = jobs.standard_of(arguments["engine"], "reference", TolerancePolicy())
    return {"verdict": judge(module, inputs, expected, actual, standard).verdict}


def drawn(arguments, say):
    """A job: draw a case and ask the reference, which raises where that is not possible."""
    return fuzz_jobs.batch(arguments, say)
