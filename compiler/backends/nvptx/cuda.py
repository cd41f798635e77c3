"""A real GPU through the CUDA driver API (extra `cuda`).

The only importer of `cuda.bindings`.  Without the package or a driver, `CudaDevice` raises UnsupportedError with what
to install, so that a command ends with 125 and not with a traceback.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.backends.nvptx.device import Array
from compiler.diagnostics import UnsupportedError

try:
    from cuda.bindings import driver
except ImportError:
    driver = None


def _check(answer: tuple[Any, ...]) -> Any:
    """The value of a driver call, or an error that names what CUDA said."""
    status, *values = answer
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"CUDA: {driver.CUresult(status).name}")
    return values[0] if values else None


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
        raise UnsupportedError("a GPU", "this machine", f"the CUDA driver says {driver.CUresult(status).name}")
    return _check(driver.cuDevicePrimaryCtxRetain(_check(driver.cuDeviceGet(0))))


class CudaModule:
    """A PTX module that the driver has compiled for the GPU."""

    def __init__(self, device: CudaDevice, ptx: str) -> None:
        self._device = device
        self._image = ptx.encode() + b"\0"
        self._module = _check(driver.cuModuleLoadData(self._image))
        self._functions: dict[str, Any] = {}

    def launch(self, function: str, blocks: int, threads: int, arguments: Sequence[int]) -> None:
        """Launch a function on the device's stream."""
        if function not in self._functions:
            self._functions[function] = _check(driver.cuModuleGetFunction(self._module, function.encode()))
        values = np.asarray(arguments, np.uint64)
        pointers = np.arange(len(values), dtype=np.uint64) * np.uint64(8) + np.uint64(values.ctypes.data)
        grid = (blocks, 1, 1, threads, 1, 1, 0)
        handle = self._functions[function]
        _check(driver.cuLaunchKernel(handle, *grid, self._device.stream, pointers.ctypes.data, 0))


class CudaDevice:
    """The first GPU of this machine."""

    separate_buffers = False

    def __init__(self) -> None:
        _check(driver.cuCtxSetCurrent(_context()))
        self.stream = _check(driver.cuStreamCreate(0))

    def load(self, ptx: str) -> CudaModule:
        """Hand a module to the driver."""
        return CudaModule(self, ptx)

    def allocate(self, size_bytes: int) -> int:
        """Allocate device memory."""
        return int(_check(driver.cuMemAlloc(max(1, size_bytes))))

    def free(self, address: int) -> None:
        """Give device memory back, after everything launched so far."""
        _check(driver.cuStreamSynchronize(self.stream))
        _check(driver.cuMemFree(address))

    def upload(self, address: int, data: Array) -> None:
        """Copy an array to the device, in order with the launches."""
        if data.nbytes:
            _check(driver.cuMemcpyHtoDAsync(address, data.ctypes.data, data.nbytes, self.stream))

    def download(self, address: int, data: Array) -> None:
        """Fill an array from the device."""
        if data.nbytes:
            _check(driver.cuMemcpyDtoHAsync(data.ctypes.data, address, data.nbytes, self.stream))
        _check(driver.cuStreamSynchronize(self.stream))

    def copy(self, source: int, target: int, size_bytes: int) -> None:
        """Copy on the device, in order with the launches."""
        _check(driver.cuMemcpyDtoDAsync(target, source, size_bytes, self.stream))

    def timed(self, action: Callable[[], None]) -> float:
        """Nanoseconds between two events around what `action` launches."""
        start, stop = (_check(driver.cuEventCreate(0)) for _ in range(2))
        _check(driver.cuEventRecord(start, self.stream))
        action()
        _check(driver.cuEventRecord(stop, self.stream))
        _check(driver.cuEventSynchronize(stop))
        return float(_check(driver.cuEventElapsedTime(start, stop))) * 1e6
