"""Everything that can be asked of a compilation, in one frozen record; and the same spelled as XLA spells it.

`XLA_FLAGS` is what XLA reads: flags `--name=value` separated by white space, quoted where a value holds some, or the
name of a file with such flags.  A bare flag is true.  Flags that mean nothing here are passed over with a note, since
the variable is usually set for other programs too; a value that cannot be read is an error.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from compiler.diagnostics import InputError, did_you_mean
from compiler.xla_flags import XLA_FLAGS

VARIABLE = "XLA_FLAGS"
"""The environment variable that holds options in XLA's spelling."""

XLA_PASSES: Mapping[str, str] = {
    "algsimp": "algebraic-simplification",
    "bitcast-mover": "data-movement-simplification",
    "constant_folding": "constant-folding",
    "cpu_multi_output_fusion": "fusion",
    "flatten-call-graph": "flatten-calls",
    "fusion_merger": "fusion",
    "layout-assignment": "layout-normalization",
    "multi_output_fusion": "fusion",
    "priority-fusion": "fusion",
    "reshape-mover": "data-movement-simplification",
    "simplify-tuple": "tuple-simplification",
    "topk-decomposer": "topk-expander",
    "tuple-simplifier": "tuple-simplification",
    "while_loop_unroller": "loop-unrolling",
}
"""Our name of each pass that XLA knows by another name."""


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """The options of a compilation; equal options on an equal module give the same code.

    Attributes:
        fusion: run the fusion passes; False makes every HLO instruction a kernel with a buffer of its own.
        threads: threads a call may use; 0 means all processors this process may run on.
        opt: LLVM's optimisation level, 0 to 3; for a CPU 1 to 3 run only those of its passes that pay for themselves,
            and loops are vectorised from 2 on.
        device: for the NVPTX back end: "" (a GPU), "sim" (the simulator) or "ptxas" (assemble only).
        arch: for the NVPTX back end: the architecture, e.g. "sm_90"; "" is that of the GPU which runs it ("sm_90a" of
            compute capability 9.0), and sm_90 where none does.
        atomics: for the NVPTX back end: let scattered updates be combined in any order, by atomic operations; sums of
            floats may then differ from run to run.
        share_all: let threads share every kernel that they can, whether that pays or not: so small programs show where
            barriers and the pieces of work belong.  For a GPU: products in tiles of each shape, and sums in parts,
            what is left of elements of a loop put together.
        persistent: for a GPU: put loops, branches and rows of small kernels together, as one launch of one block; False
            launches every kernel by itself.
        backwards: for a CPU: let the thread that calls do all that threads share, the last chunk first: so what chunks
            must not need of one another is missing every time alike.
        without: for a CPU: features of this machine to do without, by names of `backends.cpu.machines.WITHOUT`.
        check_races: for the simulator: report data races in global memory too, which takes time and memory.
        check_memory: for a CPU: let every array, and the scratch memory, of a call stand in poisoned memory of its own
            between pages without access, so that what reads or writes where it must not fails, every time alike.
        check_bounds: for a CPU: compile a comparison with the array that it belongs to before every access, so that one
            of another array, or beyond an end, is told of by its kernel, and so is one of what another chunk of the
            same phase touches, if either writes; calls run as with `check_memory`, chunk by chunk, many times slower.
        fuel: do only that many rewrites; None for all.
        disable_passes: names of passes to skip.
        verify_each: verify the module after every pass that changed it.
        dump_to: folder for dumps under XLA's names; "" for none.
        dump_as: the forms of modules in dumps: text, dot (for Graphviz), html (a page with a drawing), proto (XLA's
            protocol buffers).
        dump_snapshots: dump every run: the module as it was compiled, what it was given and its results.
        dump_unoptimized_snapshots: dump every run before it begins: the module before any pass, and what each device
            was given.
        dump_pass_re: dump around passes whose name, ours or XLA's, matches this regular expression.
        llvm_limit: do only that many of LLVM's passes, the last ones of code generation included; None for all.  LLVM
            counts through the life of a process, so this is for processes that compile one program.
        fill_elided: seed for the values of elided constants; None refuses to compile them.
        cache: folder that keeps compiled programs for the next time, where the back end has something to keep; "" for
            none.  What is dumped or limited is always compiled.
        cache_bytes: how large that folder may grow; the programs that were not used for longest go.
    """

    fusion: bool = True
    threads: int = 0
    opt: int = 3
    device: str = ""
    arch: str = ""
    atomics: bool = False
    share_all: bool = False
    persistent: bool = True
    backwards: bool = False
    without: tuple[str, ...] = ()
    check_races: bool = False
    check_memory: bool = False
    check_bounds: bool = False
    fuel: int | None = None
    disable_passes: tuple[str, ...] = ()
    verify_each: bool = False
    dump_to: str = ""
    dump_as: tuple[str, ...] = ("text",)
    dump_snapshots: bool = False
    dump_unoptimized_snapshots: bool = False
    dump_pass_re: str = ""
    llvm_limit: int | None = None
    fill_elided: int | None = None
    cache: str = ""
    cache_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Environment:
    """The options that an environment asks for, and what it says that is passed over."""

    options: CompileOptions = CompileOptions()
    notes: tuple[str, ...] = ()


def names_of(pass_name: str) -> tuple[str, ...]:
    """A pass's name and XLA's names for it."""
    return (pass_name, *(name for name, ours in XLA_PASSES.items() if ours == pass_name))


def from_environment(environment: Mapping[str, str], *, passes: Collection[str]) -> Environment:
    """The options that `XLA_FLAGS` asks for; `passes` are the names of those that exist.

    Raises:
        InputError: a value cannot be read, or a file of flags.
    """
    options, notes = CompileOptions(), []
    forms: dict[str, bool] = {}
    for flag in _flags(environment.get(VARIABLE, "")):
        name, has_value, value = flag.partition("=")
        read = _FLAGS.get(name)
        if read is None:
            notes.append(f"{VARIABLE}: {_absent(name)}")
            continue
        try:
            changes, note = read(value if has_value else "true", passes)
        except ValueError as error:
            raise InputError(f"{VARIABLE}: {name} cannot be {value!r}: {error}") from error
        if "disable_passes" in changes:
            changes["disable_passes"] = tuple(dict.fromkeys((*options.disable_passes, *changes["disable_passes"])))
        forms |= changes.pop("forms", {})
        options = replace(options, **changes)
        notes += [f"{VARIABLE}: {note}"] if note else []
    asked = tuple(form for form, is_wanted in forms.items() if is_wanted)
    if asked:
        options = replace(options, dump_as=asked)
        if not options.dump_to and asked != ("text",):
            notes.append(f"{VARIABLE}: nothing is dumped as {', '.join(asked)} without --xla_dump_to=FOLDER")
    elif "text" in forms:
        notes.append(f"{VARIABLE}: dumps are text, since no other form is asked for")
    if (options.dump_snapshots or options.dump_unoptimized_snapshots) and not options.dump_to:
        notes.append(f"{VARIABLE}: no snapshots are dumped without --xla_dump_to=FOLDER")
    return Environment(options, tuple(notes))


def _absent(name: str) -> str:
    """What is said of a flag that means nothing here."""
    instead = _INSTEAD.get(name)
    if instead is not None:
        return f"{name} is not available here and is passed over: {instead}"
    if name in XLA_FLAGS:
        return f"{name} of XLA's is not available here and is passed over"
    hint = did_you_mean(name, sorted({*_FLAGS, *XLA_FLAGS}), _LIKENESS)
    return (
        f"{name} is no flag that XLA is known to have{hint}; it is passed over here, XLA itself would end with an error"
    )


def _flags(text: str) -> list[str]:
    """The flags of the variable, or of the file that it names."""
    if text.strip() and not text.lstrip().startswith("-"):
        try:
            text = Path(text.strip()).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InputError(
                f"{VARIABLE}: {text.strip()!r} is neither a flag, which starts with --, nor a file to read: {error}"
            ) from error
    try:
        flags = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{VARIABLE}: {text!r}: {error}; close the quotation") from error
    for flag in flags:
        if not flag.startswith("--"):
            raise InputError(f"{VARIABLE}: {flag!r} is no flag: write --name=value")
    return flags


_LIKENESS = 0.9  # of names that all begin alike
_Read = tuple[dict[str, Any], str]
"""What a flag changes, and a note."""


def _truth(text: str) -> bool:
    try:
        return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
    except KeyError as error:
        raise ValueError("give true or false") from error


def _read_dump_to(text: str, _: Collection[str]) -> _Read:
    if text in ("", "-", "true"):
        raise ValueError("give the name of a folder")
    return {"dump_to": text}, ""


def _read_pass_re(text: str, _: Collection[str]) -> _Read:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return {"dump_pass_re": text}, ""


def _read_disabled(text: str, passes: Collection[str]) -> _Read:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in XLA_PASSES and name not in passes]
    ours = (XLA_PASSES.get(name, name) for name in names if name not in unknown)
    note = f"there is no pass {', '.join(unknown)} here to disable" if unknown else ""
    return {"disable_passes": tuple(dict.fromkeys(ours))}, note


def _read_level(text: str, _: Collection[str]) -> _Read:
    if text not in ("0", "1", "2", "3"):
        raise ValueError("give a level from 0 to 3")
    return {"opt": int(text)}, ""


def _read_deterministic(text: str, _: Collection[str]) -> _Read:
    return {"atomics": not _truth(text)}, ""


def _read_threaded(text: str, _: Collection[str]) -> _Read:
    return {"threads": 0 if _truth(text) else 1}, ""


def _form(name: str) -> Callable[[str, Collection[str]], _Read]:
    return lambda text, _: ({"forms": {name: _truth(text)}}, "")


def _option(name: str) -> Callable[[str, Collection[str]], _Read]:
    return lambda text, _: ({name: _truth(text)}, "")


def _read_large_constants(text: str, _: Collection[str]) -> _Read:
    return {}, "" if _truth(text) else "constants are dumped in full here, whatever --xla_dump_large_constants says"


_FLAGS: Mapping[str, Callable[[str, Collection[str]], _Read]] = {
    "--xla_backend_optimization_level": _read_level,
    "--xla_cpu_multi_thread_eigen": _read_threaded,
    "--xla_disable_hlo_passes": _read_disabled,
    "--xla_dump_hlo_as_dot": _form("dot"),
    "--xla_dump_hlo_as_html": _form("html"),
    "--xla_dump_hlo_as_proto": _form("proto"),
    "--xla_dump_hlo_as_text": _form("text"),
    "--xla_dump_hlo_pass_re": _read_pass_re,
    "--xla_dump_hlo_snapshots": _option("dump_snapshots"),
    "--xla_dump_hlo_unoptimized_snapshots": _option("dump_unoptimized_snapshots"),
    "--xla_dump_large_constants": _read_large_constants,
    "--xla_dump_to": _read_dump_to,
    "--xla_gpu_deterministic_ops": _read_deterministic,
}

_GRAPHS = "--xla_dump_to=FOLDER with --xla_dump_hlo_as_dot or --xla_dump_hlo_as_html draws modules"
_INSTEAD: Mapping[str, str] = {
    "--xla_dump_hlo_as_long_text": "--xla_dump_hlo_as_text gives shapes with layouts and constants in full",
    "--xla_dump_hlo_as_url": _GRAPHS,
    "--xla_generate_hlo_graph": f"older XLA had it; {_GRAPHS}",
    "--xla_generate_hlo_text_to": "older XLA had it; --xla_dump_to=FOLDER writes text",
    "--xla_hlo_graph_path": f"older XLA had it; {_GRAPHS}",
}
"""What does the work of a flag that is not available here."""
