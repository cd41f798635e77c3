"""`xlabench tf`: a script written for TensorFlow's sessions, run as it is, with ours in TensorFlow's place.

The script sees what it would see under `python SCRIPT ARGS`: its own folder first among the places of modules, its
arguments, `__main__` as its name.  What it raises is its own: Python's traceback, without frames of ours above it, nor
below where what it asks for is refused, and exit code 1, as Python has it.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import sys
import traceback
from pathlib import Path

import click

import compiler
import xlabench
from compiler.tf import flags_of
from xlabench.commands.examples import examples
from xlabench.engines import engine
from xlabench.errors import BenchError, exit_code_of
from xlabench.tensorflow import importing
from xlabench.tensorflow.runtime.clustering import say_what_is_passed_over
from xlabench.tensorflow.runtime.settings import VARIABLE, devices

_EXAMPLES = """
xlabench tf mnist_softmax_xla.py --data_dir=mnist
    a tutorial as it stands
xlabench tf --gpu nvptx:sim jit_scope.py
    with a GPU that is simulated
"""
_FAILED = 1
_OURS = ("<frozen importlib", *(str(Path(one.__file__ or "").parent) for one in (compiler, xlabench)))
"""Where the files lie whose frames tell a user nothing."""


@click.command(
    "tf",
    short_help="Run a script written for TensorFlow's sessions.",
    epilog=examples(_EXAMPLES),
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("script", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--cpu", metavar="SPEC", help="The engine that runs ops on CPU:0, one by one.  [default: cpu]")
@click.option("--gpu", metavar="SPEC", help="Have a GPU:0, whose ops and clusters this engine runs.")
@click.option("--xla-cpu", metavar="SPEC", help="The engine of XLA_CPU:0, and of clusters on CPU:0.  [default: cpu]")
@click.option("--xla-gpu", metavar="SPEC", help="The engine of XLA_GPU:0.  [default: nvptx:sim]")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object; what SCRIPT prints goes to standard error."
)
def command(script: Path, arguments: tuple[str, ...], *, as_json: bool, **specs: str | None) -> None:
    """Run SCRIPT with ARGUMENTS; in it `import tensorflow` means xlabench.tensorflow.

    Clusters are made as TF_XLA_FLAGS and the script's options say; on a CPU the session's global_jit_level alone makes
    none, as in TensorFlow: TF_XLA_FLAGS=--tf_xla_cpu_global_jit does.  With a GPU clusters are made on it.
    """
    if not script.is_file():
        what = "is no file" if script.exists() else "no such file"
        raise BenchError(f"{script}: {what}; give a script of Python's")
    for kind, spec in specs.items():
        if spec is not None:
            os.environ[f"{VARIABLE}{kind.upper()}"] = engine(spec).spec
    flags_of(os.environ)  # a flag that nobody knows is said before anything runs
    say_what_is_passed_over(os.environ.get("XLA_FLAGS", ""))
    for one in devices().values():  # what lies beside the script may hide what an engine would load later
        engine(one.spec)
    importing.install()
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        code = _run(script)
    if as_json:
        specs = {name: one.spec for name, one in devices().items()}
        print(json.dumps({"script": str(script), "exit_code": code, "devices": specs}))
    click.get_current_context().exit(code)


def _run(script: Path) -> int:
    """Run a script; its exit code."""
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as stop:
        return _code_of(stop)
    except Exception as error:
        if exit_code_of(error) is not None and not _is_in(script, error):
            raise
        _show(script, error)
        return _FAILED
    return 0


def _code_of(stop: SystemExit) -> int:
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return _FAILED


def _is_in(script: Path, error: BaseException) -> bool:
    """Whether the script was running when it happened."""
    return any(frame.filename == str(script) for frame in traceback.extract_tb(error.__traceback__))


def _show(script: Path, error: BaseException) -> None:
    """The traceback from the script on; of a script that is no Python what Python says of it, without ours.

    What is raised on purpose is a message about the script, and ends with the last line that is not ours.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != str(script):
        trace = trace.tb_next
    shown = trace if trace is not None or isinstance(error, SyntaxError) else error.__traceback__
    frames = traceback.extract_tb(shown)
    count = max((n for n, one in enumerate(frames, 1) if not _is_ours(one, script)), default=len(frames))
    is_said = count < len(frames) and (frames[-1].line or "").startswith("raise ")
    limit = count if is_said else None
    traceback.print_exception(type(error), error, shown, limit, sys.stderr, chain=not is_said)


def _is_ours(frame: traceback.FrameSummary, script: Path) -> bool:
    """Whether a frame is of what stands in TensorFlow's place, or of how that is loaded."""
    return frame.filename != str(script) and frame.filename.startswith(_OURS)
