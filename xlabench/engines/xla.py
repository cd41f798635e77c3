"""XLA itself through jaxlib, on the CPU or (`xla:gpu`) on a GPU; the only file that imports jax.

jaxlib's client takes StableHLO, so HLO text goes through its converter first and XLA turns it back into HLO, as for any
JAX program.  `fusion=off` disables the passes that XLA:CPU's own fusion consists of, `opt` is the level at which LLVM
optimises what they leave.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NoReturn

import jax
import numpy as np
from jax import core
from jax.errors import JaxRuntimeError
from jaxlib import _hlo, _jax, cpu_sparse, lapack, xla_client

import compiler
from compiler.edit import named_for_xla, routines_for_xla
from xlabench.engines.spec import LEVEL, SWITCH, Array, Option, Program, arrays_of
from xlabench.errors import CompileFailure, RunFailure, Undecidable

OPTIONS: Mapping[str, Option] = {"fusion": SWITCH, "opt": LEVEL}
DEVICES: tuple[str, ...] = ("cpu", "gpu")

_UNKNOWN = (
    "UNIMPLEMENTED",
    "'stablehlo.",
    "'mhlo.",
    "failed to legalize operation",
    "to be floating for",
    "No registered implementation",
    "Unsupported conversion between element types of operands",  # of sparse factors, which its parser takes
    "error: invalid tensor element type: 'tuple<",  # of sparse predicates
    "is not supported in StableHLO",  # of several arrays that are exchanged at once and asynchronously
    "*-start requires *-done as input",  # of one that is waited for where something else has handed its start on
    "expect a single async op as their operand",  # the same of computations, said by the parser of its text
    "UNKNOWN: <unknown>:0: error:",  # StableHLO's verifier has stricter types than HLO's
)
_NAME = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)
_REFUSALS = (JaxRuntimeError, ValueError)
_FUSION_PASSES = "fusion,cpu_multi_output_fusion"


@dataclass(frozen=True)
class XlaProgram:
    """A program that XLA has loaded; a call moves its inputs to the device and its results back.

    Attributes:
        spec: the engine's.
        executable: jaxlib's.
        device: jaxlib's.
        taken: what the parameters take, None where XLA cannot say.
        tokens: the numbers of results that are no arrays.
    """

    spec: str
    executable: Any
    device: Any
    taken: list[tuple[tuple[int, ...], Any]] | None = field(repr=False)
    tokens: frozenset[int]

    def __call__(self, *inputs: Array) -> list[Array]:
        """The results."""
        try:
            return arrays_of(self.execute(self.placed(inputs)))
        except JaxRuntimeError as error:
            raise RunFailure(f"{self.spec} failed while running: {error}") from error

    def placed(self, inputs: Sequence[Array]) -> list[Any]:
        """The inputs on the device."""
        sharding = _jax.SingleDeviceSharding(self.device)
        return [_on_device(array, sharding, self.device) for array in _fitting(inputs, self.taken)]

    def execute(self, placed: Sequence[Any]) -> list[Any]:
        """The results on the device, which may still be at work on them."""
        results = self.executable.execute_sharded(list(placed)).disassemble_into_single_device_arrays()
        return [result[0] for number, result in enumerate(results) if number not in self.tokens]


@dataclass(frozen=True, slots=True)
class XlaEngine:
    """One of XLA's clients with a set of options."""

    spec: str
    fusion: bool
    opt: int | None
    dump_to: str
    device: str = "cpu"

    def compile(self, module_or_text: Any) -> Program:
        """Convert, compile and load."""
        return self._compile(module_or_text, self._options())

    def dump_passes(self, module_or_text: Any, folder: str) -> None:
        """Compile a program, leaving the module after each pass of XLA's in a folder (see `pass_dumps`)."""
        options = self._options()
        debug = options.executable_build_options.debug_options
        debug.xla_dump_to, debug.xla_dump_hlo_pass_re, debug.xla_dump_hlo_as_text = folder, ".*", True
        debug.xla_dump_hlo_as_long_text = True  # the short one leaves constants out
        self._compile(module_or_text, options)

    def _compile(self, module_or_text: Any, options: Any) -> Program:
        is_written = isinstance(module_or_text, str | bytes)
        text = compiler.frontends.hlo_text(module_or_text) if is_written else compiler.to_text(module_or_text)
        if "f6e" in text:  # a result of such a type ends the process, an argument is refused
            raise Undecidable(f"{self.spec}: this client knows no arrays whose elements have six bits")
        self._check_devices(text)
        if "lapack_" in text:
            _load_lapack()
            text = compiler.to_text(routines_for_xla(compiler.parse(text)))
        if "_csr_sparse_dense_ffi" in text:
            _load_sparse()
        device = _CLIENTS[self.device]().local_devices()[0]
        executable, proto = self._loaded(text, options, device)
        shape = xla_client.XlaComputation(proto).program_shape()
        given = list(_leaves(shape.result_shape()))
        if any(leaf.is_array() and not leaf.is_static() for leaf in given):
            raise Undecidable(f"{self.spec}: sizes of results are known at run time only, and this client gives bounds")
        tokens = frozenset(n for n, leaf in enumerate(given) if not leaf.is_array())
        return XlaProgram(self.spec, executable, device, _taken(shape.parameter_shapes()), tokens)

    def _loaded(self, text: str, options: Any, device: Any) -> tuple[Any, bytes]:
        """The executable and the program that it was made of; what XLA refuses is tried in another spelling."""
        try:
            return _load(text, options, device)
        except _REFUSALS as error:
            again, names = _respelled(text)
            if not again:
                self._refuse(error, names)
        try:
            return _load(again, options, device)
        except _REFUSALS as error:
            self._refuse(error, names)

    def _check_devices(self, text: str) -> None:
        # Reading the text only to count devices would take as long as much of XLA's own work on it.
        if "replica_count" not in text and "num_partitions" not in text:
            return
        devices = compiler.device_count(compiler.parse(text))
        if devices > 1:
            raise Undecidable(f"{self.spec}: the program is for {devices} devices, and this client has one")

    def _options(self) -> Any:
        options = _jax.CompileOptions()
        debug = options.executable_build_options.debug_options
        if self.opt is not None:
            debug.xla_backend_optimization_level = self.opt
        if not self.fusion:
            debug.xla_disable_hlo_passes = _FUSION_PASSES
        if self.dump_to:
            debug.xla_dump_to = self.dump_to
        return options

    def _refuse(self, error: Exception, names: Mapping[str, str]) -> NoReturn:
        """What XLA does not implement, or what its way in (StableHLO) cannot say, is no failure of the program."""
        said = _NAME.sub(lambda found: names.get(found[0], found[0]), str(error))
        if any(sign in said for sign in _UNKNOWN):
            raise Undecidable(f"{self.spec}: {said}") from error
        raise CompileFailure(f"{self.spec} failed to compile: {said}") from error


def create(spec: str, options: Mapping[str, Any], *, dump_to: str) -> XlaEngine:
    """XLA with these options.

    Args:
        spec: the engine's, as it is written.
        options: `fusion` and `opt`, as XLA's flags for them, and `device`.
        dump_to: the folder for dumps, "" for none.
    """
    return XlaEngine(spec, options.get("fusion", True), options.get("opt"), dump_to, options.get("device", "cpu"))


def _load(text: str, options: Any, device: Any) -> tuple[Any, bytes]:
    proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    stablehlo = _jax.mlir.hlo_to_stablehlo(proto)
    return device.client.compile_and_load(stablehlo, _jax.DeviceList((device,)), options), proto


def _respelled(text: str) -> tuple[str, Mapping[str, str]]:
    """A text that was refused, spelled for XLA, and what its new names stand for; empty where that changes nothing.

    What only our parser takes is not XLA's to judge: names that are words to XLA, and shorter ways to write.  Only what
    was refused comes here, since to read every text ourselves would take as long as much of XLA's own work on it.
    """
    module, names = named_for_xla(compiler.parse(text))
    return compiler.to_text(module) if names or not _is_read(text) else "", names


def _is_read(text: str) -> bool:
    try:
        _hlo.hlo_module_from_text(text)
    except _REFUSALS:
        return False
    return True


@cache
def _cpu_client() -> Any:
    return xla_client.make_cpu_client(asynchronous=False)


@cache
def _gpu_client() -> Any:
    # XLA takes three quarters of a GPU's memory at once else, and other engines need some too.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        return jax.devices("gpu")[0].client
    except RuntimeError as error:
        install = "install JAX with its plug-in for CUDA: pip install 'jax[cuda13]'"
        raise Undecidable(f"xla:gpu: JAX finds no GPU ({error}); {install}") from error


_CLIENTS: Mapping[str, Callable[[], Any]] = {"cpu": _cpu_client, "gpu": _gpu_client}


def _taken(parameters: Sequence[Any]) -> list[tuple[tuple[int, ...], Any]] | None:
    """The shapes and types of the inputs; None where XLA cannot say them: of tokens, of sizes known at run time."""
    shapes = [shape for parameter in parameters for shape in _leaves(parameter)]
    if not all(shape.is_array() and shape.is_static() for shape in shapes):
        return None
    return [(tuple(shape.dimensions()), shape.numpy_dtype()) for shape in shapes]


def _leaves(shape: Any) -> Iterator[Any]:
    """A shape of XLA's, or those of the elements of a tuple, in order."""
    if shape.is_tuple():
        for element in shape.tuple_shapes():
            yield from _leaves(element)
    else:
        yield shape


def _fitting(inputs: Sequence[Any], taken: list[tuple[tuple[int, ...], Any]] | None) -> list[Array]:
    """The inputs as arrays that fit; XLA counts bytes only, and takes those of another type or order as they are."""
    arrays = [array.astype(array.dtype.newbyteorder("="), copy=False) for array in map(np.asarray, inputs)]
    if taken is None:
        return arrays
    if len(arrays) != len(taken):
        raise compiler.InputError(f"the program takes {len(taken)} inputs, {len(arrays)} given: give one for each")
    for number, (array, (dims, dtype)) in enumerate(zip(arrays, taken, strict=True)):
        if array.shape != dims or array.dtype != dtype:
            given, wanted = f"{array.dtype}{list(array.shape)}", f"{dtype}{list(dims)}"
            raise compiler.InputError(f"parameter {number} takes {wanted}, {given} given: convert the input")
    return arrays


@cache
def _load_sparse() -> None:
    """Tell XLA the products with sparse matrices, as JAX does when it lowers to them."""
    for platform, targets in cpu_sparse.registrations().items():
        for name, target, version in targets:
            xla_client.register_custom_call_target(name, target, platform=platform, api_version=version)


@cache
def _load_lapack() -> None:
    """Load LAPACK, whose functions are null pointers before; JAX does so when it lowers to them."""
    lapack.prepare_lapack_call("potrf_ffi", np.float32)


def _on_device(array: Array, sharding: Any, device: Any) -> Any:
    shape = core.ShapedArray(array.shape, array.dtype)
    return _jax.batched_device_put(shape, sharding, [array], [device], enable_x64=True)
