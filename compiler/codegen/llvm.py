"""The one door to LLVM: parse IR text, optimise it, and turn it into assembly, an object file or running code.

Nothing else imports `llvmlite.binding`.  `Target` is a machine to compile for; `Target.host()` is this one.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from types import MappingProxyType

import llvmlite
import llvmlite.binding as llvm
from llvmlite.binding import ffi
from llvmlite.binding.newpassmanagers import NewPassManager

from compiler.cache import Cache
from compiler.codegen import elf, fast_selection, libcalls, routines
from compiler.codegen.sharing_out import share_out

NVPTX_TRIPLE = "nvptx64-nvidia-cuda"


@dataclass(frozen=True, slots=True)
class Target:
    """A machine as LLVM names it: triple, CPU and comma-separated features; `jit` for code that is loaded here."""

    triple: str
    cpu: str
    features: str
    jit: bool = True

    @staticmethod
    @functools.cache
    def host() -> Target:
        """The CPU that this runs on, with every feature that it has."""
        features = llvm.get_host_cpu_features().flatten()
        return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), f"{features},-prefer-256-bit")

    @staticmethod
    def nvptx(arch: str = "sm_90", ptx: str = "+ptx80") -> Target:
        """An NVIDIA GPU of that architecture."""
        return Target(NVPTX_TRIPLE, arch, ptx, jit=False)

    def has(self, feature: str) -> bool:
        """Whether the target has a feature by LLVM's name, e.g. `avx512f`."""
        return feature in self.present

    @property
    def present(self) -> frozenset[str]:
        """The features that the target has."""
        return _present(self.features)


@functools.cache
def _present(features: str) -> frozenset[str]:
    return frozenset(feature[1:] for feature in features.split(",") if feature.startswith("+"))


@functools.cache
def _initialise(triple: str) -> None:
    """Make a target known to LLVM: this machine's alone, else all, whose passes each code generation goes through."""
    if triple.partition("-")[0] == llvm.get_process_triple().partition("-")[0]:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # A GPU's shared memory has addresses of 32 bits; to compute with more takes two instructions for one.
    llvm.set_option("compiler", "-nvptx-short-ptr=true")


@functools.cache
def target_machine(target: Target, opt: int) -> llvm.TargetMachine:
    """The code generator for a target at an optimisation level 0 to 3."""
    return _new_machine(target, opt)


def _new_machine(target: Target, opt: int, *, cold: bool = False) -> llvm.TargetMachine:
    """A code generator; of cold code calls go by near addresses, without which fast selection gives up on each."""
    _initialise(target.triple)
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=opt,
        jit=target.jit,
        reloc="default" if target.triple == NVPTX_TRIPLE else "pic",
        codemodel=("small" if cold else "jitdefault") if target.jit else "default",
    )


def version() -> str:
    """LLVM's version, for records."""
    return ".".join(map(str, llvm.llvm_version_info))


def package_version() -> str:
    """The version of what brings LLVM, LLVM's own included: other code may come of another."""
    return f"llvmlite {llvmlite.__version__}, LLVM {version()}"


def limit_passes(limit: int) -> None:
    """From now on LLVM skips every pass after that many, where it may, and says on standard error what it did.

    The count runs through the life of the process and is never reset, so what comes of a text is kept for listings.
    """
    _LIMITS.append(limit)
    llvm.set_option("compiler", f"-opt-bisect-limit={limit}")


def parse(text: str, target: Target, opt: int) -> llvm.ModuleRef:
    """Parse and verify the `text` of IR, for a `target` at a level `opt` from 0 to 3.

    A failure here is a bug in emission and shows as LLVM's own message.
    """
    machine = target_machine(target, opt)
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    return module


def optimise(module: llvm.ModuleRef, target: Target, opt: int) -> None:
    """Run LLVM's default pipeline for the level, in place; loops are vectorised from level 2 on.

    Args:
        module: LLVM's; changed.
        target: the machine.
        opt: the level, 0 to 3.
    """
    machine = target_machine(target, opt)
    options = llvm.create_pipeline_tuning_options(speed_level=opt)
    vectorise = opt >= 2 and target.triple != NVPTX_TRIPLE
    options.loop_vectorization = vectorise
    options.slp_vectorization = vectorise
    options.loop_interleaving = vectorise
    builder = llvm.create_pass_builder(machine, options)
    with _disposed(builder.getModulePassManager()) as passes:
        passes.run(module, builder)


def assembly(module: llvm.ModuleRef, target: Target, opt: int) -> str:
    """The assembly text of a `module`, or PTX for an NVPTX `target`, at a level `opt` from 0 to 3."""
    with _PREPARING_ONCE:
        return str(target_machine(target, opt).emit_assembly(module))


@dataclass(frozen=True, slots=True)
class Source:
    """IR text to be compiled: whether there are loops for LLVM to vectorise, whether its speed matters at all.

    A routine is compiled once, as the runtime is: other programs have the same.
    """

    text: str
    has_loops: bool
    cold: bool = False
    is_routine: bool = False

    def level(self, opt: int) -> int:
        """The level that code is generated at where `opt` is asked for."""
        return 0 if self.cold else opt


def compile_all(
    sources: Sequence[Source], target: Target, opt: int, *, threads: int, cache: Cache | None = None
) -> list[bytes]:
    """The object files of `sources` for a CPU, the `target`, at level `opt`, up to `threads` made at a time.

    Routines are looked for in the `cache`, and kept there.
    Of LLVM's own pipelines this is the shortest with the loop vectoriser in it, and nothing where there are no loops
    for it; code generation goes without strength reduction.  What is left out (value numbering, jump threading,
    unswitching, vectors from straight code, ...) was measured to gain nothing on such code and to cost half the time.
    Cold code is translated at level 0.
    """

    def emit(source: Source) -> bytes:
        with _machine(source, target, opt) as machine, _optimised(source, target, opt, machine) as module:
            return _emit(machine, module)

    def compile_one(source: Source) -> bytes:
        if not source.is_routine or _LIMITS:
            return translated(source)
        depends_on = source.text, f"{source.has_loops} {source.cold} {target} {opt} {package_version()}"
        return routines.compiled(depends_on, lambda: translated(source), None if source.cold else cache)

    def translated(source: Source) -> bytes:
        code = emit(source)
        needed = libcalls.definitions(elf.names(code).undefined)
        return emit(replace(source, text=source.text + needed)) if needed else code

    # At level 0 there is none, and to switch it takes a tenth of what a small program does.
    with _WITHOUT_STRENGTH_REDUCTION if any(source.level(opt) for source in sources) else nullcontext():
        return share_out(compile_one, sources, threads=threads)


_LIMITS: list[int] = []
_OF_LIMITED: dict[Source, str] = {}
"""What those passes made of a text that were within the limit."""


def optimised_text(source: Source, target: Target, opt: int) -> str:
    """The IR of a `source` from which code is generated for a `target`, at a level `opt` from 0 to 3."""
    if source in _OF_LIMITED:
        return _OF_LIMITED[source]
    with _machine(source, target, opt) as machine, _optimised(source, target, opt, machine) as module:
        return str(module)


def assembly_text(source: Source, target: Target, opt: int) -> str:
    """The assembly of what `compile_all` makes of a `source` for a `target`, at a level `opt` from 0 to 3."""
    with (
        _WITHOUT_STRENGTH_REDUCTION,
        _machine(source, target, opt) as machine,
        _optimised(source, target, opt, machine) as module,
    ):
        return str(machine.emit_assembly(module))


@contextmanager
def _optimised(source: Source, target: Target, opt: int, machine: llvm.TargetMachine) -> Iterator[llvm.ModuleRef]:
    # A context of its own, since threads must not share one; it must outlive the module.
    context = llvm.create_context()
    text = source.text if source.level(opt) else fast_selection.prepared(source.text, target.triple, target.has)
    module = llvm.parse_assembly(text, context)
    try:
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        level = opt if source.has_loops else 0
        if level or "alwaysinline" in text:  # level 0 has no other pass
            _run_passes(module, machine, level)
        if _LIMITS:
            _OF_LIMITED.setdefault(source, str(module))
        yield module
    finally:
        module.close()
        context.close()


def _run_passes(module: llvm.ModuleRef, machine: llvm.TargetMachine, level: int) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=min(level, 1))
    options.loop_vectorization = options.loop_interleaving = level >= 2
    options.slp_vectorization = False
    # What should be unrolled says so itself.
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    with _disposed(builder.getModulePassManager() if level else llvm.create_new_module_pass_manager()) as passes:
        if not level:
            passes.add_always_inliner_pass()
        _native().LLVMPY_RunNewModulePassManager(passes, module, builder)


@contextmanager
def _disposed(passes: llvm.ModulePassManager) -> Iterator[llvm.ModulePassManager]:
    """Give a pipeline back to LLVM at the end, which llvmlite does not."""
    try:
        yield passes
    finally:
        NewPassManager._dispose(passes)  # noqa: SLF001 - it has another before it that does nothing
        passes.detach()


def _emit(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
    message = ctypes.c_char_p()
    buffer = _native().LLVMPY_TargetMachineEmitToMemory(machine, module, 1, ctypes.byref(message))
    if not buffer:
        raise RuntimeError(f"LLVM: {(message.value or b'').decode()}")
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


@functools.cache
def _native() -> ctypes.CDLL:
    """The library beneath llvmlite, without the lock that llvmlite takes around every call.

    Modules of different contexts, with target machines of their own, may be worked on at the same time.
    """
    native = ctypes.CDLL("llvmlite", handle=ffi.lib._handle)  # noqa: SLF001 - `lib` is made to be taken for a CDLL
    native.LLVMPY_RunNewModulePassManager.argtypes = [ctypes.c_void_p] * 3
    native.LLVMPY_RunNewModulePassManager.restype = None
    emit = native.LLVMPY_TargetMachineEmitToMemory
    emit.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    emit.restype = ffi.lib.LLVMPY_TargetMachineEmitToMemory.restype
    return native


_MACHINES: dict[tuple[Target, int, bool], list[llvm.TargetMachine]] = {}


@contextmanager
def _machine(source: Source, target: Target, opt: int) -> Iterator[llvm.TargetMachine]:
    """A target machine for a source that nobody else uses at the time."""
    level = source.level(opt)
    idle = _MACHINES.setdefault((target, level, source.cold), [])
    try:
        machine = idle.pop()
    except IndexError:
        machine = _new_machine(target, level, cold=source.cold)
    try:
        yield machine
    finally:
        idle.append(machine)


class _Switch:
    """An option of LLVM's, which are global to the process: it is on while anybody here is within it."""

    def __init__(self, option: str, on: str, off: str) -> None:
        self._option, self._on, self._off = option, on, off
        self._lock = threading.Lock()
        self._users = 0

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                llvm.set_option("compiler", f"-{self._option}={self._on}")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                llvm.set_option("compiler", f"-{self._option}={self._off}")


_WITHOUT_STRENGTH_REDUCTION = _Switch("disable-lsr", "true", "false")
_PREPARING_ONCE = _Switch("cgpp-huge-func", "1", "10000")
"""Where anything has changed, preparing a function for selection begins anew with all of its blocks, but in functions
of more blocks than this only with those that are new.  On GPUs that spares a third of code generation; the code has
been the same."""


_PROCESS = ctypes.CDLL(None)


class Library:
    """Native code linked into this process; lives as long as this object."""

    _numbers = itertools.count(1)

    def __init__(
        self,
        module: llvm.ModuleRef | Sequence[bytes],
        exports: Sequence[str],
        target: Target,
        opt: int,
        *,
        imports: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Link a module, or object files that may call one another; `imports` are addresses of what they lack."""
        machine = target_machine(target, opt)
        builder = llvm.JITLibraryBuilder()
        if isinstance(module, Sequence):
            # LLVM would say so on standard error, and of the library only that it cannot be made.
            elf.check_symbols(module, lambda symbol: symbol in imports or hasattr(_PROCESS, symbol))
            for code in module:
                builder.add_object_img(code)
        else:
            builder.add_ir(module)
        builder.add_current_process()
        for symbol, address in imports.items():
            builder.import_symbol(symbol, address)
        for symbol in exports:
            builder.export_symbol(symbol)
        self._jit = _lljit(machine)
        self._tracker = builder.link(self._jit, f"library{next(Library._numbers)}")

    def address(self, symbol: str) -> int:
        """The address of an exported function or global."""
        return int(self._tracker[symbol])

    def function(self, symbol: str, result: type | None, *arguments: type) -> Callable[..., int]:
        """A ctypes function of a `symbol`, from types of `arguments` to that of its `result`, without the GIL."""
        return ctypes.CFUNCTYPE(result, *arguments)(self.address(symbol))


_LINKED = 32
"""Libraries that share a JIT: it keeps a little of each for as long as it lives."""
_JITS: dict[int, tuple[llvm.LLJIT, int]] = {}


def _lljit(machine: llvm.TargetMachine) -> llvm.LLJIT:
    """A JIT for a target machine, and a few libraries: creating one costs more than linking a small library.

    Its linker gives an object file one piece of memory and reaches others by stubs, so near addresses are near.
    """
    jit, linked = _JITS.get(id(machine), (None, _LINKED))
    if linked >= _LINKED:
        jit, linked = llvm.create_lljit_compiler(machine, use_jit_link=True), 0
    _JITS[id(machine)] = jit, linked + 1
    return jit
