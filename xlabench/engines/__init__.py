"""What runs HLO: one adapter per engine, named by a spec (`xlabench.engines.spec`).

An adapter's file is loaded when its engine is asked for, since each brings packages of its own that may not be there.
`build` and `execute` say on which side of the line between the program and the engine a failure falls.  Whatever runs
a program does so by `call`: what an engine does to its inputs is a finding, and must not reach anybody else.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from compiler import CompilerError, ExecutableInfo, InputError, UnsupportedError
from xlabench.cases.inputs import aligned
from xlabench.cases.layouts import Layout
from xlabench.engines.spec import Array, Engine, EngineModule, Program, arrays_of, normal_form, read_options, split_spec
from xlabench.errors import BenchError, CompileFailure, RunFailure, Undecidable, did_you_mean
from xlabench.judging.liberties import LIBERTIES

__all__ = [
    "ENGINES",
    "OF_GRAPHS",
    "Array",
    "Called",
    "Engine",
    "Program",
    "apart",
    "build",
    "call",
    "compiled_by",
    "engine",
    "execute",
    "files_of",
    "info_of",
    "is_complete",
    "is_foreign",
    "is_simulated",
    "launch_models_of",
    "liberties",
    "may_overlap",
    "nested",
]

ENGINES: Mapping[str, str] = {
    "reference": "xlabench.engines.reference",
    "cpu": "xlabench.engines.cpu",
    "nvptx": "xlabench.engines.nvptx",
    "xla": "xlabench.engines.xla",
    "ops": "xlabench.graphs.ops",
    "clusters": "xlabench.graphs.clusters",
}
"""The file of each engine, by the name that starts its spec."""

OF_GRAPHS = frozenset({"ops", "clusters"})
"""Engines that run the graph that a program was lowered from, by what another engine compiles of it (`on`)."""

_REFERENCE = "reference"
_FOREIGN = frozenset({"xla"})
_SIMULATED = frozenset({("nvptx", "sim")})
_ONE_AT_A_TIME = frozenset({_REFERENCE, "nvptx"})
_COMPLETE = frozenset({_REFERENCE, "cpu"})
_CALLING = _COMPLETE
_LIBERTIES = {"xla": frozenset(LIBERTIES)}
_EXTRAS = {"jax": "peers", "jaxlib": "peers"}


def engine(spec: str, *, dump_to: str = "") -> Engine:
    """The engine that a spec names; it leaves its intermediate forms in `dump_to` if that is given.

    Raises:
        BenchError: the spec names no engine, or options that it has not.
    """
    name, written = split_spec(spec)
    if name not in ENGINES:
        hint = did_you_mean(name, ENGINES)
        raise BenchError(f"engine {spec!r}: unknown engine {name!r}{hint}; known are: {', '.join(ENGINES)}")
    module = _load(name)
    options = read_options(spec, written, module)
    return module.create(normal_form(name, written, module), options, dump_to=dump_to)


def compiled_by(spec: str) -> str:
    """The spec of the engine that compiles for that of a spec: its own, or of an engine of graphs what it runs `on`.

    Within that spec `/` stands for the signs that spec is made of: `clusters:on=cpu/fusion=off/opt=0`.
    """
    name, options = split_spec(spec)
    if name not in OF_GRAPHS:
        return spec
    inner, *others = options.get("on", _REFERENCE).split("/")
    return f"{inner}:{','.join(others)}" if others else inner


def files_of(specs: Sequence[str]) -> tuple[str, ...]:
    """The files of engines, to be loaded beforehand; none for what is no engine's name here."""
    names = dict.fromkeys(split_spec(one)[0] for spec in specs for one in (spec, compiled_by(spec)))
    return tuple(ENGINES[name] for name in names if name in ENGINES)


def nested(spec: str) -> str:
    """A spec within another: what `on` says."""
    return spec.replace(":", "/", 1).replace(",", "/")


def is_foreign(spec: str) -> bool:
    """Whether an engine is others' code, whose threads may end a process long after a call."""
    return split_spec(compiled_by(spec))[0] in _FOREIGN


def is_simulated(spec: str) -> bool:
    """Whether calls are run by a simulator, many times slower than on the machine."""
    name, options = split_spec(compiled_by(spec))
    return any((name, device) in _SIMULATED for device in options)


def may_overlap(spec: str) -> bool:
    """Whether calls of one program by several threads run at the same time on processors, in code of ours."""
    return not is_foreign(spec) and split_spec(compiled_by(spec))[0] not in _ONE_AT_A_TIME


def is_complete(spec: str) -> bool:
    """Whether an engine is ours and takes every opcode on every type that is generated, on any machine."""
    return split_spec(spec)[0] in _COMPLETE or (is_simulated(spec) and split_spec(spec)[0] not in OF_GRAPHS)


def calls_functions(spec: str) -> bool:
    """Whether an engine calls Python functions, where those are what a program's custom calls mean."""
    return split_spec(spec)[0] in _CALLING


def apart(specs: Sequence[str]) -> list[tuple[str, ...]]:
    """Specs by who may share a process: what others' code does to its memory must not be blamed on ours."""
    ours = tuple(spec for spec in specs if not is_foreign(spec))
    return [group for group in (ours, tuple(spec for spec in specs if spec not in ours)) if group]


def liberties(spec: str) -> frozenset[str]:
    """The liberties that the engine of a spec takes, on purpose and whatever the program says."""
    return _LIBERTIES.get(split_spec(compiled_by(spec))[0], frozenset())


def build(engine: Engine, module_or_text: Any) -> Program:
    """Compile a program that is known to be valid, so that a refusal is the engine's failure.

    Raises:
        CompileFailure: the engine does not compile it.
    """
    try:
        return engine.compile(module_or_text)
    except (UnsupportedError, InputError):
        raise
    except CompilerError as error:
        raise CompileFailure(f"{engine.spec} failed to compile: {error}") from error


@dataclass(frozen=True, slots=True)
class Called:
    """What a program gave and the seconds it took, and the numbers of the inputs that it changed, as none may."""

    results: list[Array]
    changed: tuple[int, ...]
    seconds: float


def call(program: Program, inputs: Sequence[Array], laid_out: Layout = aligned) -> Called:
    """Run a program on copies of inputs, which stay what they are whatever it does; `laid_out` makes the copies."""
    given = [laid_out(array) for array in inputs]
    before = [array.tobytes() for array in given]
    begin = time.perf_counter()
    results = arrays_of(program(*given))
    seconds = time.perf_counter() - begin
    pairs = enumerate(zip(before, given, strict=True))
    return Called(results, tuple(n for n, (old, new) in pairs if old != new.tobytes()), seconds)


def execute(engine: Engine, program: Program, inputs: Sequence[Array], laid_out: Layout = aligned) -> Called:
    """Run a program on inputs that are known to fit.

    Args:
        engine: what runs it.
        program: what the engine has compiled.
        inputs: an array for each parameter.
        laid_out: makes what it is given of each.

    Raises:
        RunFailure: the engine does not run it.
    """
    try:
        return call(program, inputs, laid_out)
    except UnsupportedError:
        raise
    except CompilerError as error:
        raise RunFailure(f"{engine.spec} failed while running: {error}") from error


def info_of(program: Program) -> ExecutableInfo:
    """What is known of a program besides its results; of engines that are not ours that is nothing."""
    facts: ExecutableInfo = getattr(program, "facts", ExecutableInfo())
    return facts


def decisions_of(program: Program) -> str:
    """A digest of what was decided about a program; of engines that are not ours nothing is known."""
    digest: str = getattr(program, "decisions_digest", "")
    return digest


def launch_models_of(program: Program) -> Sequence[Any]:
    """What a GPU is expected to take for each launch of a program, as records; of engines without a GPU nothing."""
    models: Sequence[Any] = getattr(program, "launch_models", ())
    return models


def _load(name: str) -> EngineModule:
    try:
        return cast("EngineModule", import_module(ENGINES[name]))
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        extra = _EXTRAS[package]
        raise Undecidable(
            f"engine {name!r} needs the package {package}, which is not installed; "
            f"in a clone of xlabench: pip install '.[{extra}]'"
        ) from error
