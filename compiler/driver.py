"""What is asked of the compiler: a program's results on the reference, or code for a machine.

The steps and their order are here, and what may cut them short (a cache) or watches them (dumps, the clock); each step
is somebody else's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, overload

from compiler import collector
from compiler.backends import BACKENDS, Backend
from compiler.backends.cpu.machines import target_for
from compiler.backends.decisions import Decisions
from compiler.backends.executable import Executable, Phases
from compiler.backends.padded import PaddedExecutable
from compiler.backends.recorded import RecordedExecutable
from compiler.cache import Cache, folder_of, key_of
from compiler.codegen.llvm import limit_passes
from compiler.devices import interpret_flat
from compiler.diagnostics import InputError
from compiler.dump import Dump, Snapshots
from compiler.frontends import hlo_text
from compiler.inputs import settle_elided
from compiler.interpreter import Around, Array, Observe
from compiler.interpreter import interpret as _interpret
from compiler.interpreter import prepare as _prepare
from compiler.ir.meanings import is_called
from compiler.ir.module import Module
from compiler.ir.rewrite import Fuel
from compiler.options import CompileOptions, Environment, from_environment
from compiler.pipeline import (
    PASSES,
    PIPELINES,
    Observer,
    ignore,
    on_one_device,
    on_one_device_in_any_order,
    run,
    without_library_calls,
)
from compiler.plan import check_addressable, device_count, input_shapes, result_shapes
from compiler.text.parser import parse
from compiler.text.printer import to_text
from compiler.text.separate import parse_separated, separate_constants
from compiler.verifier import verify
from compiler.wide import WideResult, prepare_wide

DEFAULT_OPTIONS = CompileOptions()
_OPTIMIZED = "after_optimizations.txt"


@overload
def interpret(
    module_or_text: Module | str | bytes,
    *inputs: Any,
    trace: Observe | None = None,
    around: Around | None = None,
    wide: Literal[False] = False,
) -> list[Array]: ...


@overload
def interpret(module_or_text: Module | str | bytes, *inputs: Any, wide: Literal[True]) -> list[WideResult]: ...


def interpret(
    module_or_text: Module | str | bytes,
    *inputs: Any,
    trace: Observe | None = None,
    around: Around | None = None,
    wide: bool = False,
) -> list[Array] | list[WideResult]:
    """Run a module, or its text, on the reference; the results are the leaves of the root, in order.

    A program for several devices takes the inputs of device 0, then those of device 1 and so on, and gives results in
    that order; it runs in lock-step, with `trace`, `around` and `wide` as the one program that back ends make of it.

    Args:
        module_or_text: a module, or its text or bytes in any form that `parse` reads.
        inputs: arrays, or what NumPy makes arrays of, one for each parameter.
        trace: called with every instruction that ran and its value.
        around: stands in for the meanings: it gets an instruction, its operands' values and the meaning as a function
            of such values, and returns the value.
        wide: compute every float in f64 and every complex number in c128, and give with each result bounds of what a
            legal implementation in the program's own types may make of it.

    Raises:
        InputError: the arguments do not go together, or the inputs do not fit.
    """
    module = module_or_text if isinstance(module_or_text, Module) else _read(module_or_text, DEFAULT_OPTIONS, Phases())
    module = without_library_calls(module)
    observed = trace is not None or around is not None
    if wide and observed:
        raise InputError("wide=True goes with neither trace nor around: leave them out")
    if wide:
        return prepare(module, wide=True)(*inputs)
    devices = device_count(module)
    if devices > 1 and not observed:
        return interpret_flat(module, inputs)
    single = module if devices == 1 else on_one_device(module)
    return _interpret(single, *inputs, trace=trace, around=around)


@overload
def prepare(module: Module, *, wide: Literal[False] = False) -> Callable[..., list[Array]]: ...


@overload
def prepare(module: Module, *, wide: Literal[True]) -> Callable[..., list[WideResult]]: ...


def prepare(module: Module, *, wide: bool = False) -> Callable[..., list[Array]] | Callable[..., list[WideResult]]:
    """What `interpret` does with a module, for many calls: what it looks at before each is looked at here, once.

    The module must stay as it is.  Each call may have an `around` of its own, if it is not `wide`.
    """
    module = without_library_calls(module)
    devices = device_count(module)
    if wide:
        return prepare_wide(module if devices == 1 else on_one_device_in_any_order(module))
    return partial(interpret, module) if devices > 1 else _prepare(module)


def optimize(module: Module, options: CompileOptions = DEFAULT_OPTIONS) -> Module:
    """A copy of the module after the target-independent passes; the module itself stays as it is."""
    verify(module)
    result = module.clone()
    run(result, PIPELINES["optimize"], options)
    return result


def environment_options(environment: Mapping[str, str]) -> Environment:
    """The options that an environment asks for, with notes on what is passed over.

    XLA_FLAGS holds options in XLA's spelling, XLABENCH_CACHE names a folder that keeps compiled programs.
    """
    asked = from_environment(environment, passes=PASSES)
    return replace(asked, options=replace(asked.options, cache=folder_of(environment)))


def load(backend: str) -> None:
    """Load a back end, which the first compilation for it would do otherwise; raises InputError if there is none."""
    _backend(backend).load()


def _backend(name: str) -> Backend:
    if name not in BACKENDS:
        raise InputError(f"unknown back end {name!r}; back ends are: {', '.join(BACKENDS)}")
    return BACKENDS[name]


@collector.paused()
def compile(  # noqa: A001  # the name that users of compilers expect
    module_or_text: Module | str | bytes, backend: str = "cpu", options: CompileOptions = DEFAULT_OPTIONS
) -> Executable:
    """Compile a module, or its text, for a back end.

    The result is called with the entry parameters in order and returns the leaves of the root in order, as fresh
    arrays; for a program for several devices those of device 0 come first, then those of device 1, and so on.
    Raises ParseError, VerifyError, UnsupportedError or InputError.

    Args:
        module_or_text: the program; a module stays as it is.
        backend: a name of `BACKENDS`.
        options: levels, threads, passes and the like.
    """
    if isinstance(module_or_text, str | bytes):
        module_or_text = hlo_text(module_or_text)
    phases = Phases()
    serializer = _backend(backend).serializer
    if serializer is None or not options.cache or options.dump_to or options.llvm_limit is not None:
        return _compile(module_or_text, backend, options, phases)
    with phases.phase("cache"):
        cache = Cache.open(options.cache, options.cache_bytes)
        text, arrays = (module_or_text, {}) if isinstance(module_or_text, str) else separate_constants(module_or_text)
        relevant = replace(options, cache="", cache_bytes=0, verify_each=False, dump_pass_re="")
        constants = (one for number, array in arrays.items() for one in (str(number), array.data))
        key = key_of(backend, repr(relevant), serializer.depends_on(options), text, *constants)
        kept = cache.get(key)
    if kept is not None:
        return serializer.restore(
            kept, lambda: _prepared(parse_separated(text, arrays), backend, options), options, phases
        )
    executable = _compile(module_or_text, backend, options, phases)
    if isinstance(executable, PaddedExecutable) or is_called(executable.module):
        # An image knows nothing of sizes that its callers give, nor of functions in this process.
        return executable
    with phases.phase("cache"):
        cache.put(key, serializer.to_bytes(executable))
    return executable


def decide(
    module_or_text: Module | str | bytes,
    backend: str = "cpu",
    options: CompileOptions = DEFAULT_OPTIONS,
    *,
    machine: str = "",
    cpu: str = "",
    explained: bool = True,
) -> Decisions:
    """What would be decided about a module, or its text, by a back end: which kernels it makes, how, and why so.

    `machine` and `cpu` are those of `compile_ahead`, for what would be decided on another CPU than this one; a GPU is
    named by the options.  Raises what `compile` does.

    Args:
        module_or_text: the program; a module stays as it is.
        backend: a name of `BACKENDS`.
        options: levels, threads, passes and the like.
        machine: x86_64 or aarch64, empty for this machine.
        cpu: one of LLVM's names, empty for what runs on every such machine.
        explained: with reasons, and with what a GPU's code is expected to take, for which it is optimised and sampled.
    """
    if machine and backend != "cpu":
        raise InputError(f"back end {backend!r} has no CPU to be told of; give an architecture")
    target = target_for(machine, cpu) if machine else None
    if isinstance(module_or_text, str | bytes):
        module_or_text = hlo_text(module_or_text)
    module, fuel = _read(module_or_text, options, Phases()), Fuel(options.fuel)
    run(module, PIPELINES[_backend(backend).pipeline], options, fuel=fuel)
    return BACKENDS[backend].decide(module, options, fuel.refusals if explained else None, target)


@collector.paused()
def compile_ahead(
    module_or_text: Module | str | bytes,
    machine: str = "x86_64",
    cpu: str = "",
    options: CompileOptions = DEFAULT_OPTIONS,
    *,
    name: str = "",
) -> Mapping[str, bytes]:
    """Compile a module, or its text, to files for a machine without a compiler: object, C header, `main`, JSON.

    `machine` is x86_64 or aarch64, `cpu` one of LLVM's names, by default what runs on every such machine; `name`, by
    default the module's, becomes that of the function.  The function takes and gives what a compiled program does, on
    one thread; arrays of sizes known at run time only have their bounds, and the sizes are s32 parameters and results
    behind the others, of which the header says which is which.  Raises what `compile` does.

    Args:
        module_or_text: the program; a module stays as it is.
        machine: x86_64 or aarch64.
        cpu: one of LLVM's names, empty for what runs on every such machine.
        options: levels, passes and the like.
        name: what the function is called, by default as the module.
    """
    target, phases = target_for(machine, cpu), Phases()
    module = _read(module_or_text, options, phases)
    takes, gives = input_shapes(module), result_shapes(module)
    _lower(module, "cpu", options, phases)
    files = BACKENDS["cpu"].compile_ahead
    return files(module, target, options.opt, name=name or module.name, takes=takes, gives=gives)


def _compile(module_or_text: Module | str, backend: str, options: CompileOptions, phases: Phases) -> Executable:
    if options.llvm_limit is not None:
        limit_passes(options.llvm_limit)
    module = _read(module_or_text, options, phases)
    takes, gives = input_shapes(module), result_shapes(module)
    dump = Dump.start(options.dump_to, module, options.dump_pass_re, options.dump_as) if options.dump_to else None
    source = module.clone() if options.dump_unoptimized_snapshots and dump else None
    if dump:
        dump.write_module("before_optimizations", module)
    _lower(module, backend, options, phases, dump.observe if dump else ignore)
    phases.optimised_text = lambda: to_text(module)
    executable = BACKENDS[backend].compile(module, options, phases)
    if dump and options.dump_snapshots:
        executable = RecordedExecutable(executable, after=Snapshots(dump, module, backend).after)
    if any(shape.is_dynamic for shape in (*takes, *gives)):
        executable = PaddedExecutable(executable, takes, gives)
    if dump and source is not None:
        executable = RecordedExecutable(executable, before=Snapshots(dump, source, backend).before)
    if dump:
        for name, content in executable.artifacts.items():
            if name.endswith(_OPTIMIZED):
                dump.write_module(name.removesuffix(".txt"), module)
            else:
                dump.write(name, content)
        dump.finish()
    return executable


def _read(module_or_text: Module | str | bytes, options: CompileOptions, phases: Phases) -> Module:
    if isinstance(module_or_text, str | bytes):
        with phases.phase("parse"):
            module = parse(module_or_text)
    else:
        module = module_or_text.clone()
    with phases.phase("verify"):
        verify(module)
        check_addressable(module)
        settle_elided(module, options.fill_elided)
    return module


def _lower(module: Module, backend: str, options: CompileOptions, phases: Phases, observe: Observer = ignore) -> Module:
    """Bring a module, in place, into the form that a back end takes."""
    with phases.phase("optimise"):
        run(module, PIPELINES[BACKENDS[backend].pipeline], options, observe=observe)
    return module


def _prepared(module: Module, backend: str, options: CompileOptions) -> Module:
    """What the passes make of a program that a cache has kept, when somebody asks."""
    unseen = Phases()
    return _lower(_read(module, options, unseen), backend, options, unseen)
