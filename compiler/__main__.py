"""`python -m compiler`: a program by hand, step by step: print, verify, opt, run, emit.

An error that the input is to blame for is a message on standard error and exit code 2, or 125 where this compiler
cannot handle a valid program; output that cannot be written ends it with 2 too, and one that nobody reads with 141, as
with `xlabench`.  Any other exception is a bug of ours, with exit code 70 (`compiler.crash`).
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.core import ParameterSource
from numpy.typing import NDArray

import compiler
from compiler import inputs
from compiler.backends import BACKENDS
from compiler.cache import VARIABLE
from compiler.crash import INTERNAL, said_of
from compiler.diagnostics import CompilerError, InputError, UnsupportedError
from compiler.drawing import PICTURES
from compiler.inputs import Array
from compiler.ir.literal import Literal
from compiler.ir.module import Module
from compiler.ir.shape import without_layout
from compiler.options import CompileOptions
from compiler.pipeline import PASSES, PIPELINES, Step, ignore, run, stages_of
from compiler.plan import result_shapes
from compiler.text.constants import write_literal
from compiler.verifier import findings

BAD_INPUT, UNDECIDABLE, INTERRUPTED, CLOSED_OUTPUT = 2, 125, 130, 141
REFERENCE = "reference"
_LONGEST_RESULT = 256
_OUTPUT_ERRORS = (errno.ENOSPC, errno.EIO, errno.EPIPE)

FORMS = {
    "hlo": "after_optimizations.txt",
    "buffers": "buffer-assignment.txt",
    "llvm": "ir-no-opt.ll",
    "llvm-opt": "ir-with-opt.ll",
    "asm": "s",
    "object": "o",
    "ptx": "ptx",
    "steps": "thunk_sequence.txt",
}
"""What can be emitted: the end of the artifact's name by the word for it."""

MADE_BY = {"asm": ("cpu",), "object": ("cpu",), "ptx": ("nvptx",), "steps": ("nvptx",)}
"""The back ends that make a form which not all make."""


class _OutputLost(Exception):
    """What is printed cannot be written; not the error itself, with which click would end the process."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error)
        self.error = error


@contextmanager
def _watched_output() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _OUTPUT_ERRORS:
            raise
        raise _OutputLost(error) from error


def _without_output(error: OSError) -> int:
    """End quietly where nobody reads on, and say why nothing can be written otherwise."""
    with suppress(OSError):  # Python would say once more what is left to write
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return CLOSED_OUTPUT
    click.echo(f"compiler: output cannot be written: {error.strerror}", err=True)
    return BAD_INPUT


class _Group(click.Group):
    """Turns errors of the input, and of the output, into messages and exit codes."""

    def main(self, *args: Any, **extra: Any) -> Any:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # from `compiler.startup`
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return super().main(*args, **extra)
        except _OutputLost as lost:
            sys.exit(_without_output(lost.error))
        except Exception as error:  # noqa: BLE001 - every other error is a bug of ours
            click.echo(said_of(error), err=True)
            sys.exit(INTERNAL)

    def make_context(self, *given: Any, **extra: Any) -> click.Context:
        with _watched_output():
            return super().make_context(*given, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _watched_output():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("compiler: interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except CompilerError as error:
            click.echo(f"compiler: {error}", err=True)
            ctx.exit(UNDECIDABLE if isinstance(error, UnsupportedError) else BAD_INPUT)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Look at a program by hand: FILE is HLO text, `-` reads standard input.

    With jaxlib it may also be StableHLO or MHLO, as text or bytecode, a file of jax.export, or a protocol buffer of
    XLA's; each may be compressed by gzip.

    \b
    python -m compiler print FILE                      read it and write it back
    python -m compiler verify FILE                     every violation of the language's rules
    python -m compiler opt FILE --passes dce,cse       the program after passes, or after a pipeline
    python -m compiler run FILE --backend cpu          its results
    python -m compiler emit ptx FILE --backend nvptx   LLVM IR, assembly, PTX, buffers, ...
    """  # noqa: D301 - click wants the backspace itself, which keeps the lines as they are


_file = click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
_output = click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write here, not to standard output, which is `-`."
)


def _compile_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that all commands which run passes take; they are named as the fields of `CompileOptions`."""
    fuel = click.option("--fuel", type=click.IntRange(0), metavar="N", help="Do only the first N rewrites.")
    disable = click.option("--disable-passes", default="", metavar="A,B", help="Skip these passes.")
    return fuel(disable(command))


def _backend_options(command: Callable[..., None]) -> Callable[..., None]:
    threads = click.option("--threads", type=click.IntRange(0), default=0, help="Threads of a call; 0: all processors.")
    opt = click.option("--opt", type=click.IntRange(0, 3), default=3, show_default=True, help="LLVM's level.")
    device = click.option(
        "--device",
        type=click.Choice(["sim", "ptxas", "gpu"]),
        default="sim",
        show_default=True,
        help="nvptx: the simulator, NVIDIA's assembler alone, or a GPU.",
    )
    arch = click.option("--arch", default="", help="nvptx: the architecture; by default the GPU's, or sm_90.")
    fill = click.option("--fill-elided", type=click.IntRange(0), metavar="SEED", help="Make up constants left out.")
    cache = click.option(
        "--cache", default="", metavar="DIR", help=f"Keep compiled programs there for the next time; also {VARIABLE}."
    )
    clock = click.option("--time", "timed", is_flag=True, help="Say how long compiling took, on standard error.")
    return threads(opt(device(arch(fill(cache(clock(_compile_options(command))))))))


def _say_times(executable: compiler.Executable) -> None:
    """Each step of a compilation with its share of the whole; LLVM's are `llvm...` and `link`, the others Python's."""
    spent: dict[str, float] = {}
    for phase in executable.phases:
        spent[phase.name] = spent.get(phase.name, 0.0) + phase.duration_ns / 1e6
    total = sum(spent.values())
    native = sum(ms for name, ms in spent.items() if name.startswith(("llvm", "link")))
    rows = [*spent.items(), ("Python", total - native), ("LLVM", native), ("total", total)]
    for name, ms in rows:
        click.echo(f"compiler: {name:12} {ms:9.2f} ms {100 * ms / max(total, 1e-9):5.1f}%", err=True)


@cli.command("print")
@_file
@_output
def print_(file: Path, output: Path | None) -> None:
    """Read FILE and write it back in XLA's form.

    Constants are written in full, names and attributes are kept.
    """
    _write(output, compiler.to_text(_parse(file)))


@cli.command()
@_file
@click.pass_context
def verify(ctx: click.Context, file: Path) -> None:
    """List every violation of the language's rules.

    The exit code is 2 if there is one.
    """
    found = findings(_parse(file))
    for finding in found:
        click.echo(finding.render())
    if found:
        ctx.exit(BAD_INPUT)
    click.echo(f"{file}: valid")


@cli.command(epilog=f"Passes: {', '.join(PASSES)}.\n\nPipelines: {', '.join(PIPELINES)}.")
@_file
@_output
@_compile_options
@click.option(
    "--passes", default="optimize", show_default=True, metavar="A,B", help="Passes in order, or one pipeline's name."
)
@click.option("--print-after-all", is_flag=True, help="Show the program after every pass, on standard error.")
@click.option("--print-rewrites", is_flag=True, help="List the rewrites by number, on standard error.")
def opt(file: Path, output: Path | None, **options: Any) -> None:
    """Print FILE after a list of passes, or after a named pipeline.

    The program is verified before and after each pass.  Every rewrite has a number: to find the one that breaks a
    program, bisect --fuel.
    """
    show, listing, passes = (options.pop(name) for name in ("print_after_all", "print_rewrites", "passes"))
    module = _parse(file)
    compiler.verify(module)
    stages = stages_of(_names(passes))
    done = run(module, stages, _options(options, verify_each=True), observe=_show if show else ignore)
    if listing:
        for rewrite in done.rewrites:
            click.echo(f"{rewrite.number}: {rewrite.pass_name}: {rewrite.rule} at {rewrite.where}", err=True)
    _write(output, compiler.to_text(module))


@cli.command("run")
@_file
@_backend_options
@click.option(
    "--backend",
    type=click.Choice([REFERENCE, *BACKENDS]),
    default=REFERENCE,
    show_default=True,
    help="What computes the results; `reference` is the interpreter.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the inputs.")
@click.option("--inputs", "given", type=click.Path(path_type=Path), help="Take the inputs from an .npz file.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Keep the results in this .npz file.")
@click.option(
    "--custom-call",
    "custom_calls",
    multiple=True,
    metavar="NAME=MODULE:FUNCTION",
    help="What custom calls to NAME mean: a Python function, NumPy arrays in and out; MODULE may be a .py file.",
)
def run_(file: Path, output: Path | None, **options: Any) -> None:
    """Run FILE and print its results as HLO literals.

    Without --inputs, floats are drawn from a normal distribution, integers are small, and the seed decides.
    """
    backend, seed, given = (options.pop(name) for name in ("backend", "seed", "given"))
    compiler.load_custom_calls(options.pop("custom_calls"))
    named = None if given is None else inputs.read_npz(given)
    module = _parse(file, None if named is None else list(named.values()))
    compiler.verify(module)
    arrays = inputs.draw(module, seed) if named is None or given is None else inputs.assigned(named, module, given)
    filled = inputs.settle_elided(module, options["fill_elided"])
    if filled:
        click.echo(f"compiler: {filled} elided constants filled from seed {options['fill_elided']}", err=True)
    if backend == REFERENCE:
        results = compiler.interpret(module, *arrays)
    else:
        timed = options.pop("timed")
        executable = compiler.compile(module, backend=backend, options=_options(options))
        if timed:
            _say_times(executable)
        results = executable(*arrays)
    if output is not None:
        _save(output, results)
    for line in _result_lines(module, results):
        click.echo(line)


@cli.command(epilog=f"Forms: {', '.join([*FORMS, *PICTURES])}.")
@click.argument("form", type=click.Choice([*FORMS, *PICTURES]))
@_file
@_output
@_backend_options
@click.option("--backend", type=click.Choice(list(BACKENDS)), default="cpu", show_default=True, help="The back end.")
def emit(form: str, file: Path, output: Path | None, **options: Any) -> None:
    """Print what a back end makes of FILE, in one FORM.

    hlo is the program that the back end was given, buffers its memory, llvm and llvm-opt the LLVM IR before and after
    LLVM's passes, asm and object the CPU's code, ptx and steps the GPU's code and what the host does.

    dot and html are drawings of FILE as it is read, before any pass: for Graphviz, and a page for a browser.
    """
    if form in PICTURES:
        _write(output, PICTURES[form](_parse(file)))
        return
    backend, timed = options.pop("backend"), options.pop("timed")
    executable = compiler.compile(_parse(file), backend=backend, options=_options(options))
    if timed:
        _say_times(executable)
    artifacts = executable.artifacts
    named = {word: n for word, end in FORMS.items() for n in artifacts if n == end or n.endswith(f"_{end}")}
    if form not in named:
        others = "".join(f"; --backend {other} makes {form}" for other in MADE_BY.get(form, ()) if other != backend)
        raise InputError(f"back end {backend!r} makes no {form}{others}; it makes: {', '.join(named)}")
    _write(output, artifacts[named[form]])


def _options(options: dict[str, Any], **more: Any) -> CompileOptions:
    """What the command line says, else XLA_FLAGS, else the default; in `CompileOptions` no device means a GPU."""
    asked = compiler.environment_options(os.environ)
    for note in asked.notes:
        click.echo(f"compiler: {note}", err=True)
    disabled = (*asked.options.disable_passes, *_names(options.pop("disable_passes")))
    if "device" in options and options["device"] == "gpu":
        options["device"] = ""
    source = click.get_current_context().get_parameter_source
    for name in ("opt", "threads", "cache"):
        if name in options and source(name) is ParameterSource.DEFAULT:
            options[name] = getattr(asked.options, name)
    return replace(asked.options, **options, **more, disable_passes=tuple(dict.fromkeys(disabled)))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _parse(file: Path, arrays: Sequence[Array] | None = None) -> Module:
    """The program of a file, or of standard input, in any form; `arrays` are what it is run on, if that is known."""
    is_input = str(file) == "-"
    raw = sys.stdin.buffer.read() if is_input else compiler.frontends.read_program(file)
    shapes = None if arrays is None else [array.shape for array in arrays]
    return compiler.parse(raw, filename="<stdin>" if is_input else str(file), shapes=shapes)


def _show(step: Step) -> None:
    state = "" if step.changed else " (nothing changed)"
    click.echo(f"// {step.number}: after {step.after}{state}", err=True)
    if step.changed:
        click.echo(compiler.to_text(step.module), err=True)


def _write(output: Path | None, content: str | bytes) -> None:
    raw = content.encode() if isinstance(content, str) else content
    if output is None or str(output) == "-":
        click.echo(raw, nl=False)
        return
    try:
        output.write_bytes(raw)
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror or error}; give another file") from error


def _save(output: Path, results: list[NDArray[Any]]) -> None:
    named: dict[str, Any] = {f"result{number}": array for number, array in enumerate(results)}
    try:
        with output.open("wb") as file:
            np.savez(file, **named)
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror or error}; give another file") from error


def _result_lines(module: Module, results: list[NDArray[Any]]) -> list[str]:
    """Each result with its shape; of a long one only the first elements."""
    lines = []
    for shape, array in zip(result_shapes(module), results, strict=True):
        bare = without_layout(shape)
        if array.size <= _LONGEST_RESULT:
            lines.append(f"{bare} {write_literal(Literal(bare, array))}")
        else:
            first = ", ".join(map(str, array.reshape(-1)[:8].tolist()))
            lines.append(f"{bare} {{{first}, ...}} ({array.size} elements: --output keeps them)")
    return lines


if __name__ == "__main__":
    cli.main(prog_name="python -m compiler")
