"""A real GPU through the CUDA driver API (extra `cuda`).

The only importer of `cuda.bindings`.  Without the package or a driver, `CudaDevice` raises UnsupportedError with what
to install, so that a command ends with 125 and not with a traceback.

A device is a stream in the GPU's primary context.  Everything is ordered by the stream, so memory that is given back
can be handed out again at once: the launches that still use it come before those that will.  Memory goes back to the
driver when the device is no longer used, or when the driver has none left.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.backends.nvptx.device import Array
from compiler.diagnostics import UnsupportedError

try:
    from cuda.bindings import driver
except ImportError:
    driver = None

_LOG_BYTES = 16 * 1024
_GRANULE = 512
"""Sizes of allocations are rounded up to a multiple of this many bytes, which makes equal ones of nearly equal ones."""
_THREAD = threading.local()


def _check(answer: tuple[Any, ...]) -> Any:
    """The value of a driver call, or an error that says what CUDA said."""
    status, *values = answer
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"CUDA: {_what(status)}")
    return values[0] if values else None


def _what(status: Any) -> str:
    """The name of a status and the driver's sentence on it."""
    known, sentence = driver.cuGetErrorString(status)
    name = driver.CUresult(status).name
    return f"{name}: {sentence.decode()}" if known == driver.CUresult.CUDA_SUCCESS else str(name)


@functools.cache
def _context() -> Any:
    """The primary context of the first GPU."""
    if driver is None:
        raise UnsupportedError("a GPU", "this installation", "install the extra: pip install 'xlabench[cuda]'")
    try:
        status = driver.cuInit(0)[0]
    except Exception as error:
        # The bindings' own error when the driver's library is not there; its class is not part of their interface.
        if type(error).__name__ != "DynamicLibNotFoundError":
            raise
        raise UnsupportedError("a GPU", "this machine", "no CUDA driver is installed") from error
    if status != driver.CUresult.CUDA_SUCCESS:
        raise UnsupportedError("a GPU", "this machine", f"the CUDA driver says {_what(status)}")
    return _check(driver.cuDevicePrimaryCtxRetain(_gpu()))


def _gpu() -> Any:
    return _check(driver.cuDeviceGet(0))


def _enter() -> None:
    """Make the context this thread's own; every thread that calls the driver needs that once."""
    if not getattr(_THREAD, "has_context", False):
        _check(driver.cuCtxSetCurrent(_context()))
        _THREAD.has_context = True


def _capability() -> str:
    """The GPU's architecture, e.g. sm_90."""
    names = driver.CUdevice_attribute
    major, minor = (
        _check(driver.cuDeviceGetAttribute(attribute, _gpu()))
        for attribute in (
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    return f"sm_{major}{minor}"


class _Owned:
    """What has to go back to the driver: memory, modules and the stream of one device.

    It knows nothing of the device, so that it can clean up after it.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.modules: list[Any] = []
        self.sizes: dict[int, int] = {}
        self.idle: dict[int, list[int]] = {}
        self.lock = threading.Lock()

    def allocate(self, size_bytes: int) -> int:
        """Memory that is idle, or new."""
        size = max(1, -(-size_bytes // _GRANULE)) * _GRANULE
        with self.lock:
            addresses = self.idle.get(size)
            if addresses:
                return addresses.pop()
            status, address = driver.cuMemAlloc(size)
            if status == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                self._return_idle()
                status, address = driver.cuMemAlloc(size)
            number = int(_check((status, address)))
            self.sizes[number] = size
            return number

    def free(self, address: int) -> None:
        """Keep memory for the next who asks for as much."""
        with self.lock:
            self.idle.setdefault(self.sizes[address], []).append(address)

    def _return_idle(self) -> None:
        """Give all idle memory back to the driver, which first waits for what was launched."""
        _check(driver.cuStreamSynchronize(self.stream))
        for addresses in self.idle.values():
            for address in addresses:
                _check(driver.cuMemFree(address))
                del self.sizes[address]
        self.idle.clear()

    def release(self) -> None:
        """Give everything back.  At the end of the process the driver may be gone already: nothing is checked."""
        driver.cuCtxPushCurrent(_context())
        driver.cuStreamSynchronize(self.stream)
        for address in self.sizes:
            driver.cuMemFree(address)
        for module in self.modules:
            driver.cuModuleUnload(module)
        driver.cuStreamDestroy(self.stream)
        driver.cuCtxPopCurrent()


class CudaModule:
    """A PTX module that the driver has compiled for the GPU."""

    def __init__(self, device: CudaDevice, module: Any) -> None:
        self._device = device
        self._module = module
        self._functions: dict[str, Any] = {}

    def launch(self, function: str, blocks: int, threads: int, arguments: Sequence[int]) -> None:
        """Launch a function on the device's stream."""
        _enter()
        if function not in self._functions:
            self._functions[function] = _check(driver.cuModuleGetFunction(self._module, function.encode()))
        # The driver reads the arguments during the call; both arrays live until it is over.
        values = np.array(arguments, np.uint64)
        pointers = np.arange(len(values), dtype=np.uint64) * np.uint64(8) + np.uint64(values.ctypes.data)
        grid = (blocks, 1, 1, threads, 1, 1, 0)
        handle = self._functions[function]
        _check(driver.cuLaunchKernel(handle, *grid, self._device.stream, pointers.ctypes.data, 0))


class CudaDevice:
    """The first GPU of this machine."""

    separate_buffers = False

    def __init__(self) -> None:
        _context()
        _enter()
        self.stream = _check(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
        self._owned = _Owned(self.stream)
        weakref.finalize(self, self._owned.release)

    def load(self, ptx: str) -> CudaModule:
        """Hand a module to the driver, which compiles it; what it refuses shows with the compiler's own words."""
        _enter()
        names, log = driver.CUjit_option, bytearray(_LOG_BYTES)
        options = [names.CU_JIT_ERROR_LOG_BUFFER, names.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        status, module = driver.cuModuleLoadDataEx(ptx.encode() + b"\0", len(options), options, [log, len(log)])
        if status != driver.CUresult.CUDA_SUCCESS:
            words = bytes(log).split(b"\0", 1)[0].decode(errors="replace").strip()
            target = next((line for line in ptx.splitlines() if line.startswith(".target")), "no .target")
            raise RuntimeError(f"CUDA: {_what(status)}; PTX for {target!r}, the GPU is {_capability()}: {words}")
        self._owned.modules.append(module)
        return CudaModule(self, module)

    def allocate(self, size_bytes: int) -> int:
        """Allocate device memory; its contents are undefined."""
        _enter()
        return self._owned.allocate(size_bytes)

    def free(self, address: int) -> None:
        """Give device memory back, for use behind everything launched so far."""
        self._owned.free(address)

    def upload(self, address: int, data: Array) -> None:
        """Copy an array to the device, in order with the launches; the array may change once this returns."""
        _enter()
        if data.nbytes:
            # From pageable memory the driver copies before it returns.
            _check(driver.cuMemcpyHtoDAsync(address, data.ctypes.data, data.nbytes, self.stream))

    def download(self, address: int, data: Array) -> None:
        """Fill an array from the device."""
        _enter()
        if data.nbytes:
            _check(driver.cuMemcpyDtoHAsync(data.ctypes.data, address, data.nbytes, self.stream))
        _check(driver.cuStreamSynchronize(self.stream))

    def copy(self, source: int, target: int, size_bytes: int) -> None:
        """Copy on the device, in order with the launches."""
        _enter()
        if size_bytes:
            _check(driver.cuMemcpyDtoDAsync(target, source, size_bytes, self.stream))

    def timed(self, action: Callable[[], None]) -> float:
        """Nanoseconds between two events around what `action` launches."""
        _enter()
        start, stop = (_check(driver.cuEventCreate(0)) for _ in range(2))
        try:
            _check(driver.cuEventRecord(start, self.stream))
            action()
            _check(driver.cuEventRecord(stop, self.stream))
            _check(driver.cuEventSynchronize(stop))
            milliseconds = _check(driver.cuEventElapsedTime(start, stop))
        finally:
            for event in (start, stop):
                driver.cuEventDestroy(event)
        return float(milliseconds) * 1e6
