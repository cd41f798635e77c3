"""A real GPU through the CUDA driver API (extra `cuda`).

The only importer of `cuda.bindings`.  Without the package or a driver, `CudaDevice` raises UnsupportedError with what
to install, so that a command ends with 125 and not with a traceback.

A device is some streams in the GPU's primary context.  Transfers are on the first, and work on others starts behind
and ends before something on it, so memory that is given back can be handed out again at once: the launches that still
use it come before those that will.  Memory goes back to the driver when the device is no longer used, or when the
driver has none left.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.backends.nvptx.device import Array
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.diagnostics import UnsupportedError

try:
    from cuda.bindings import driver
except ImportError:
    driver = None

_LOG_BYTES = 16 * 1024
"""Bytes for what the driver says about PTX that it rejects."""
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
        raise UnsupportedError(
            "a GPU", "this installation", "install the extra, in a clone of xlabench: pip install '.[cuda]'"
        )
    try:
        status = driver.cuInit(0)[0]
    except Exception as error:
        # The bindings' own error when the driver's library is not there; its class is not part of their interface.
        if type(error).__name__ != "DynamicLibNotFoundError":
            raise
        raise UnsupportedError(
            "a GPU", "this machine", "no CUDA driver is installed; the devices sim and ptxas need none"
        ) from error
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


def capability() -> int:
    """The GPU's compute capability, e.g. 90 for sm_90; UnsupportedError where there is no GPU."""
    _context()
    names = driver.CUdevice_attribute
    major, minor = (
        int(_check(driver.cuDeviceGetAttribute(attribute, _gpu())))
        for attribute in (
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    return 10 * major + minor


class _Streams:
    """Streams and events by their numbers, made when first asked for."""

    def __init__(self) -> None:
        self.streams: dict[int, Any] = {}
        self.events: dict[int, Any] = {}
        self._lock = threading.Lock()

    def stream(self, number: int) -> Any:
        """A stream."""
        with self._lock:
            if number not in self.streams:
                flags = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
                self.streams[number] = _check(driver.cuStreamCreate(flags))
            return self.streams[number]

    def event(self, number: int) -> Any:
        """An event."""
        with self._lock:
            if number not in self.events:
                flags = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
                self.events[number] = _check(driver.cuEventCreate(flags))
            return self.events[number]


class _Owned:
    """What has to go back to the driver: memory, modules, graphs, events and the streams of one device.

    What is captured has streams and events of its own: another thread may use the device meanwhile, and what it put
    on a stream that is captured would become part of the graph.  It knows nothing of the device, so that it can clean
    up after it.
    """

    def __init__(self) -> None:
        self.working, self.captured = _Streams(), _Streams()
        self.modules: list[Any] = []
        self.graphs: list[Any] = []
        self.pinned: list[Any] = []
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
        _check(driver.cuStreamSynchronize(self.working.stream(0)))
        for addresses in self.idle.values():
            for address in addresses:
                _check(driver.cuMemFree(address))
                del self.sizes[address]
        self.idle.clear()

    def release(self) -> None:
        """Give everything back.  At the end of the process the driver may be gone already: nothing is checked."""
        driver.cuCtxPushCurrent(_context())
        streams = [stream for some in (self.working, self.captured) for stream in some.streams.values()]
        for stream in streams:
            driver.cuStreamSynchronize(stream)
        for destroy, things in (
            (driver.cuGraphExecDestroy, self.graphs),
            (driver.cuMemFree, self.sizes),
            (driver.cuMemFreeHost, self.pinned),
            (driver.cuModuleUnload, self.modules),
            (driver.cuEventDestroy, (*self.working.events.values(), *self.captured.events.values())),
            (driver.cuStreamDestroy, streams),
        ):
            for thing in things:
                destroy(thing)
        driver.cuCtxPopCurrent()


class CudaModule:
    """A PTX module that the driver has compiled for the GPU."""

    def __init__(self, device: CudaDevice, module: Any) -> None:
        self._device = device
        self._module = module
        self._functions: dict[str, Any] = {}

    def launch(self, launch: Launch, arguments: Sequence[int], stream: int = 0) -> None:
        """Launch a function on a stream of the device's.

        Args:
            launch: the function, and its grid.
            arguments: 64 bits each: addresses, or numbers.
            stream: the stream's number.
        """
        _enter()
        if launch.function not in self._functions:
            self._functions[launch.function] = self._function(launch)
        # The driver reads the arguments during the call; both arrays live until it is over.
        values = np.array(arguments, np.uint64)
        pointers = np.arange(len(values), dtype=np.uint64) * np.uint64(8) + np.uint64(values.ctypes.data)
        grid = (launch.blocks, 1, 1, launch.threads, 1, 1, launch.shared_bytes)
        handle = self._functions[launch.function]
        _check(driver.cuLaunchKernel(handle, *grid, self._device.stream_of(stream), pointers.ctypes.data, 0))

    def _function(self, launch: Launch) -> Any:
        """The function, allowed as much shared memory as its launches ask for."""
        function = _check(driver.cuModuleGetFunction(self._module, launch.function.encode()))
        if launch.shared_bytes:
            most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            _check(driver.cuFuncSetAttribute(function, most, launch.shared_bytes))
        return function


class CudaDevice:
    """The first GPU of this machine."""

    separate_buffers = False
    replays = True

    def __init__(self) -> None:
        _context()
        _enter()
        self._owned = _Owned()
        self._owned.working.stream(0)
        self._capturing: int | None = None
        weakref.finalize(self, self._owned.release)

    def _streams(self) -> _Streams:
        """Those that this thread puts work on."""
        return self._owned.captured if self._capturing == threading.get_ident() else self._owned.working

    def stream_of(self, number: int) -> Any:
        """A stream by its number."""
        return self._streams().stream(number)

    def record(self, event: int, stream: int) -> None:
        """Let an event stand for what has been put on a stream so far."""
        _enter()
        streams = self._streams()
        _check(driver.cuEventRecord(streams.event(event), streams.stream(stream)))

    def wait(self, event: int, stream: int) -> None:
        """Put what follows on a stream behind an event."""
        _enter()
        streams = self._streams()
        _check(driver.cuStreamWaitEvent(streams.stream(stream), streams.event(event), 0))

    def pinned(self, like: Array) -> Array:
        """An array of the same form in page-locked memory, which goes back with the device."""
        _enter()
        address = int(_check(driver.cuMemHostAlloc(max(1, like.nbytes), 0)))
        self._owned.pinned.append(address)
        memory: Array = np.ctypeslib.as_array((ctypes.c_uint8 * like.nbytes).from_address(address))
        return memory.view(like.dtype).reshape(like.shape)

    def capture(self, action: Callable[[], None]) -> Callable[[], None]:
        """A graph of what `action` puts on streams, as one thing to launch; by one thread at a time."""
        _enter()
        self._capturing = threading.get_ident()
        try:
            graph = self._recorded(action)
        finally:
            self._capturing = None
        try:
            executable = _check(driver.cuGraphInstantiate(graph, 0))
        finally:
            driver.cuGraphDestroy(graph)
        self._owned.graphs.append(executable)

        def launch() -> None:
            _enter()
            _check(driver.cuGraphLaunch(executable, self.stream_of(0)))

        return launch

    def _recorded(self, action: Callable[[], None]) -> Any:
        """A graph that cannot run yet."""
        # Relaxed: nothing is forbidden meanwhile, such as loading a function when it is first launched.
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        first = self.stream_of(0)
        _check(driver.cuStreamBeginCapture(first, mode))
        try:
            action()
        except BaseException:
            # A capture that something went wrong in ends with an error of its own, which would hide the first.
            driver.cuStreamEndCapture(first)
            raise
        return _check(driver.cuStreamEndCapture(first))

    def load(self, ptx: str) -> CudaModule:
        """Hand a module to the driver, which compiles it; what it refuses shows with the compiler's own words."""
        _enter()
        names, log = driver.CUjit_option, bytearray(_LOG_BYTES)
        options = [names.CU_JIT_ERROR_LOG_BUFFER, names.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        status, module = driver.cuModuleLoadDataEx(ptx.encode() + b"\0", len(options), options, [log, len(log)])
        if status != driver.CUresult.CUDA_SUCCESS:
            words = bytes(log).split(b"\0", 1)[0].decode(errors="replace").strip()
            target = next((line for line in ptx.splitlines() if line.startswith(".target")), "no .target")
            raise RuntimeError(f"CUDA: {_what(status)}; PTX for {target!r}, the GPU is sm_{capability()}: {words}")
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
        """Copy an array to the device, in order with the launches; one that is not pinned may change right away."""
        _enter()
        if data.nbytes:
            # From pageable memory the driver copies before it returns.
            _check(driver.cuMemcpyHtoDAsync(address, data.ctypes.data, data.nbytes, self.stream_of(0)))

    def download(self, address: int, data: Array) -> None:
        """Fill an array from the device by the time that it has finished."""
        _enter()
        if data.nbytes:
            _check(driver.cuMemcpyDtoHAsync(data.ctypes.data, address, data.nbytes, self.stream_of(0)))

    def finish(self) -> None:
        """Wait for all that comes before the end of the first stream."""
        _enter()
        _check(driver.cuStreamSynchronize(self.stream_of(0)))

    def copy(self, source: int, target: int, size_bytes: int, stream: int = 0) -> None:
        """Copy on the device, in order with the launches on the same stream.

        Args:
            source: an address on the device.
            target: an address on the device.
            size_bytes: how much.
            stream: the stream's number.
        """
        _enter()
        if size_bytes:
            _check(driver.cuMemcpyDtoDAsync(target, source, size_bytes, self.stream_of(stream)))

    def account(self) -> str:
        """Nothing: a GPU does not count."""
        return ""

    def timed(self, action: Callable[[], None]) -> float:
        """Nanoseconds between two events around what `action` launches."""
        _enter()
        start, stop = (_check(driver.cuEventCreate(0)) for _ in range(2))
        try:
            _check(driver.cuEventRecord(start, self.stream_of(0)))
            action()
            _check(driver.cuEventRecord(stop, self.stream_of(0)))
            _check(driver.cuEventSynchronize(stop))
            milliseconds = _check(driver.cuEventElapsedTime(start, stop))
        finally:
            for event in (start, stop):
                driver.cuEventDestroy(event)
        return float(milliseconds) * 1e6
