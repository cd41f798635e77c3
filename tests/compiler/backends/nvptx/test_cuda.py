"""The GPU path against a driver written down here, which keeps memory in NumPy and a list of what it was asked.

It proves the order and the arguments of driver calls, not that a GPU computes; the test marked `gpu` does that.
"""

from __future__ import annotations

import ctypes
import enum
import gc
import importlib.util
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import CompileOptions, UnsupportedError
from compiler.backends.nvptx import cuda, streams
from compiler.backends.nvptx.cuda import CudaDevice
from compiler.backends.nvptx.kernels.grid import Launch

pytestmark = pytest.mark.usefixtures("small_launches")


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_LAUNCH_FAILED = 719


class FakeDriver:
    """The part of `cuda.bindings.driver` that is used; `answers` overrides what a call returns, once each."""

    CUresult = CUresult
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=1)
    CUevent_flags = SimpleNamespace(CU_EVENT_DISABLE_TIMING=2)
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED="relaxed")
    CUjit_option = SimpleNamespace(CU_JIT_ERROR_LOG_BUFFER="log", CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES="size")
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="most shared")
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=8, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=0
    )

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.answers: dict[str, list[tuple[Any, ...]]] = {}
        self.memory: dict[int, np.ndarray[Any, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, *arguments))
            if self.answers.get(name):
                return self.answers[name].pop(0)
            does = vars(FakeDriver).get(f"_{name}", lambda *_: ("handle",))
            return (CUresult.CUDA_SUCCESS, *does(self, *arguments))

        return call

    def names(self) -> list[str]:
        return [name for name, *_ in self.calls]

    def _cuMemAlloc(self, size: int) -> tuple[int]:
        block = np.zeros(size, np.uint8)
        self.memory[block.ctypes.data] = block
        return (block.ctypes.data,)

    def _cuMemHostAlloc(self, size: int, flags: int) -> tuple[int]:
        return self._cuMemAlloc(size)

    def _cuMemFreeHost(self, address: int) -> tuple[()]:
        return self._cuMemFree(address)

    def _cuStreamCreate(self, flags: int) -> tuple[str]:
        return (f"stream {self.names().count('cuStreamCreate')}",)

    def _cuEventCreate(self, flags: int) -> tuple[str]:
        return (f"event {self.names().count('cuEventCreate')}",)

    def _cuMemFree(self, address: int) -> tuple[()]:
        del self.memory[address]
        return ()

    def _cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: Any) -> tuple[()]:
        ctypes.memmove(target, source, size)
        return ()

    _cuMemcpyDtoHAsync = _cuMemcpyDtoDAsync = _cuMemcpyHtoDAsync

    def _cuGetErrorString(self, status: CUresult) -> tuple[bytes]:
        return (b"what it means",)

    def _cuDeviceGetAttribute(self, attribute: int, device: Any) -> tuple[int]:
        return (attribute,)

    def _cuEventElapsedTime(self, start: Any, stop: Any) -> tuple[float]:
        return (0.25,)

    def _cuLaunchKernel(self, handle: Any, *arguments: Any) -> tuple[()]:
        self.launched = (ctypes.c_uint64 * 3).from_address(arguments[8])
        self.values = [ctypes.c_uint64.from_address(pointer).value for pointer in self.launched]
        return ()


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()
    monkeypatch.setattr(cuda, "driver", fake)
    monkeypatch.setattr(cuda, "_THREAD", threading.local())
    cuda._context.cache_clear()
    yield fake
    gc.collect()
    cuda._context.cache_clear()


@pytest.mark.slow
def test_a_device_is_a_stream_in_the_primary_context(driver: FakeDriver) -> None:
    CudaDevice()
    names = driver.names()
    order = ["cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamCreate"]
    assert [name for name in names if name in order] == order


@pytest.mark.slow
def test_every_thread_makes_the_context_its_own_once(driver: FakeDriver) -> None:
    device = CudaDevice()
    work = threading.Thread(target=lambda: [device.allocate(8), device.allocate(8)])
    work.start()
    work.join()
    assert driver.names().count("cuCtxSetCurrent") == 2
    assert driver.names().count("cuDevicePrimaryCtxRetain") == 1


@pytest.mark.slow
def test_memory_is_used_again_without_waiting(driver: FakeDriver) -> None:
    device = CudaDevice()
    first = device.allocate(1000)
    device.free(first)
    assert device.allocate(900) == first
    assert device.allocate(900) != first
    assert "cuMemFree" not in driver.names()
    assert "cuStreamSynchronize" not in driver.names()
    assert {arguments[0] for name, *arguments in driver.calls if name == "cuMemAlloc"} == {1024}


@pytest.mark.slow
def test_without_memory_left_the_idle_goes_back_first(driver: FakeDriver) -> None:
    device = CudaDevice()
    idle = device.allocate(1000)
    device.free(idle)
    driver.answers["cuMemAlloc"] = [(CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0)]
    device.allocate(5000)
    assert driver.names()[-4:] == ["cuMemAlloc", "cuStreamSynchronize", "cuMemFree", "cuMemAlloc"]


@pytest.mark.slow
def test_no_memory_at_all_is_said(driver: FakeDriver) -> None:
    device = CudaDevice()
    driver.answers["cuMemAlloc"] = [(CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0)] * 2
    with pytest.raises(RuntimeError, match="CUDA_ERROR_OUT_OF_MEMORY: what it means"):
        device.allocate(5000)


@pytest.mark.slow
def test_everything_goes_back_with_the_device(driver: FakeDriver) -> None:
    device = CudaDevice()
    device.load(".target sm_80")
    device.free(device.allocate(10))
    device.allocate(10_000)
    del device
    gc.collect()
    assert not driver.memory
    assert {"cuModuleUnload", "cuStreamDestroy", "cuCtxPopCurrent"} <= set(driver.names())


@pytest.mark.slow
def test_data_go_there_and_back(driver: FakeDriver) -> None:
    device = CudaDevice()
    data, back = np.arange(7, dtype=np.float32), np.zeros(7, np.float32)
    one, other = device.allocate(data.nbytes), device.allocate(data.nbytes)
    device.upload(one, data)
    device.copy(one, other, data.nbytes)
    device.download(other, back)
    device.finish()
    assert np.array_equal(back, data)
    assert driver.names()[-1] == "cuStreamSynchronize"


@pytest.mark.slow
def test_nothing_is_copied_for_empty_arrays(driver: FakeDriver) -> None:
    device = CudaDevice()
    address = device.allocate(0)
    device.upload(address, np.zeros(0))
    device.copy(address, address, 0)
    device.download(address, np.zeros(0))
    assert not any("Memcpy" in name for name in driver.names())


@pytest.mark.slow
def test_arguments_are_packed_behind_pointers(driver: FakeDriver) -> None:
    module = CudaDevice().load(".target sm_80")
    module.launch(Launch("f", 3, 128), [1, 2**63, 7])
    module.launch(Launch("f", 1, 32), [4, 5, 6])
    assert driver.values == [4, 5, 6]
    assert "cuFuncSetAttribute" not in driver.names()
    launches = [arguments for name, *arguments in driver.calls if name == "cuLaunchKernel"]
    assert [launch[1:8] for launch in launches] == [[3, 1, 1, 128, 1, 1, 0], [1, 1, 1, 32, 1, 1, 0]]
    assert driver.names().count("cuModuleGetFunction") == 1


@pytest.mark.slow
def test_a_function_is_allowed_the_shared_memory_that_its_launches_ask_for(driver: FakeDriver) -> None:
    module = CudaDevice().load(".target sm_80")
    for _ in range(2):
        module.launch(Launch("f", 1, 32, shared_bytes=80_000), [4, 5, 6])
    assert [call for call in driver.calls if call[0] == "cuFuncSetAttribute"] == [
        ("cuFuncSetAttribute", "handle", "most shared", 80_000)
    ]
    assert [call[8] for call in driver.calls if call[0] == "cuLaunchKernel"] == [80_000, 80_000]


@pytest.mark.slow
def test_a_module_that_is_refused_shows_the_log_and_both_architectures(driver: FakeDriver) -> None:
    device = CudaDevice()

    def refuse(image: bytes, count: int, options: list[str], values: list[Any]) -> tuple[Any, ...]:
        assert (image[-1:], options, count) == (b"\0", ["log", "size"], 2)
        values[0][:11] = b"line 3: no\0"
        return (CUresult.CUDA_ERROR_INVALID_PTX, None)

    driver.cuModuleLoadDataEx = refuse  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match=r"INVALID_PTX.*'.target sm_90', the GPU is sm_80: line 3: no$"):
        device.load(".version 8.0\n.target sm_90\n")


@pytest.mark.slow
def test_events_are_destroyed_even_where_a_launch_fails(driver: FakeDriver) -> None:
    device = CudaDevice()
    assert device.timed(lambda: None) == 0.25e6
    with pytest.raises(ZeroDivisionError):
        device.timed(lambda: 1 // 0 and None)
    names = driver.names()
    assert names.count("cuEventCreate") == names.count("cuEventDestroy") == 4


@pytest.mark.slow
def test_an_error_of_the_driver_is_said_in_its_words(driver: FakeDriver) -> None:
    module = CudaDevice().load(".target sm_80")
    driver.answers["cuLaunchKernel"] = [(CUresult.CUDA_ERROR_LAUNCH_FAILED,)]
    with pytest.raises(RuntimeError, match="CUDA_ERROR_LAUNCH_FAILED: what it means"):
        module.launch(Launch("f", 1, 1), [])


@pytest.mark.slow
def test_a_machine_without_a_gpu_is_unsupported(driver: FakeDriver) -> None:
    driver.answers["cuInit"] = [(CUresult.CUDA_ERROR_NO_DEVICE,)]
    with pytest.raises(UnsupportedError, match="CUDA_ERROR_NO_DEVICE"):
        CudaDevice()


def test_an_installation_without_the_bindings_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "driver", None)
    cuda._context.cache_clear()
    with pytest.raises(UnsupportedError, match=r"\.\[cuda\]"):
        CudaDevice()


def used(driver: FakeDriver, *prefixes: str) -> list[str]:
    return [name for name in driver.names() if name.startswith(prefixes)]


@pytest.mark.slow
def test_a_whole_module_is_loaded_fed_launched_and_read(driver: FakeDriver) -> None:
    text = "ENTRY e { x = f32[4] parameter(0)  c = f32[4] constant({1, 2, 3, 4})  ROOT r = f32[4] add(x, c) }"
    executable = compiler.compile(text, "nvptx", CompileOptions(arch="sm_80"))
    x = np.ones(4, np.float32)
    assert executable(x)[0].shape == (4,)
    run = ["cuMemcpyHtoDAsync", "cuLaunchKernel", "cuMemcpyDtoHAsync", "cuStreamSynchronize"]
    assert used(driver, "cuMemcpy", "cuLaunch", "cuStreamSync") == ["cuMemcpyHtoDAsync", *run]
    assert ".target sm_80" in executable.ptx  # type: ignore[attr-defined]
    assert np.array_equal(driver.memory[driver.values[0]][:16].view(np.float32), x)


@pytest.mark.slow
def test_what_is_called_again_is_captured_once_and_replayed(driver: FakeDriver) -> None:
    text = "ENTRY e { x = f32[4] parameter(0)  ROOT r = f32[4] exponential(x) }"
    executable = compiler.compile(text, "nvptx", CompileOptions(arch="sm_80"))
    executable(np.zeros(4, np.float32))
    start = len(driver.calls)
    for _ in range(3):
        executable(np.zeros(4, np.float32))
    names = [name for name, *_ in driver.calls[start:]]
    work = ["cuMemcpyHtoDAsync", "cuLaunchKernel", "cuMemcpyDtoHAsync"]
    capture = ["cuStreamBeginCapture", *work, "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphDestroy"]
    first = names.index("cuStreamBeginCapture")
    assert names[first : first + 7] == capture
    assert names[first + 7 :] == 3 * ["cuGraphLaunch", "cuStreamSynchronize"]
    # What is captured and what is worked on meanwhile are on streams of their own.
    streams = {name: rest for name, *rest in driver.calls if name in ("cuStreamBeginCapture", "cuGraphLaunch")}
    assert streams["cuStreamBeginCapture"][0] != streams["cuGraphLaunch"][1]
    # What the graph works on is its own as long as it is there.
    replayed = driver.values
    executable.profile(np.zeros(4, np.float32))
    assert not {*replayed[:2]} & {*driver.values[:2]}
    # In and out go through page-locked memory of the device's own.
    locked = {address for name, *(address, *_) in driver.calls if name == "cuMemcpyDtoHAsync"}
    assert names.count("cuMemHostAlloc") == 2
    assert len(locked) == 2
    del executable
    gc.collect()
    assert not driver.memory
    assert driver.names().count("cuGraphExecDestroy") == 1


@pytest.mark.slow
def test_a_loop_is_captured_whole_or_iteration_by_iteration(driver: FakeDriver) -> None:
    text = """
cond { s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  ROOT p = pred[] compare(i, s32[] constant(5)), direction=LT }
body { s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  j = s32[] add(i, s32[] constant(1))  y = f32[8] add(x, x)  ROOT t = (s32[], f32[8]) tuple(j, y) }
ENTRY e { i = s32[] parameter(0)  x = f32[8] parameter(1)  s = (s32[], f32[8]) tuple(i, x)
  ROOT w = (s32[], f32[8]) while(s), condition=cond, body=body }"""
    executable = compiler.compile(text, "nvptx", CompileOptions(arch="sm_80"))
    for _ in range(3):
        executable(np.int32(9), np.zeros(8, np.float32))
    # What comes before the loop, its condition, an iteration, and the results; no iteration is made here: every
    # predicate is 0.
    assert len(used(driver, "cuGraphInstantiate")) == 4
    assert len(used(driver, "cuGraphLaunch")) == 2 * 3
    driver.calls.clear()
    # Some kernels here have fewer than three arguments.
    driver.cuLaunchKernel = lambda *_: (CUresult.CUDA_SUCCESS,)  # type: ignore[method-assign]
    counted = text.replace(
        "i = s32[] parameter(0)  x = f32[8] parameter(1)", "i = s32[] constant(0)  x = f32[8] parameter(0)"
    )
    executable = compiler.compile(counted, "nvptx", CompileOptions(arch="sm_80", disable_passes=("fusion",)))
    for _ in range(2):
        executable(np.zeros(8, np.float32))
    assert used(driver, "cuGraphLaunch") == ["cuGraphLaunch"]


@pytest.mark.slow
def test_independent_kernels_are_on_streams_joined_by_events(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "LIGHT_BYTES", 0)
    text = """ENTRY e { x = f32[20,30] parameter(0)  y = f32[30,20] parameter(1)
  a = f32[20,20] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[30,30] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[20,20], f32[30,30]) tuple(a, b) }"""
    executable = compiler.compile(text, "nvptx", CompileOptions(arch="sm_80"))
    executable(np.zeros((20, 30), np.float32), np.zeros((30, 20), np.float32))
    orders = [call for call in driver.calls if call[0] in ("cuEventRecord", "cuStreamWaitEvent", "cuLaunchKernel")]
    assert [(name, *((rest[8],) if name == "cuLaunchKernel" else rest[:2])) for name, *rest in orders] == [
        ("cuEventRecord", "event 1", "stream 1"),
        ("cuStreamWaitEvent", "stream 2", "event 1"),
        ("cuLaunchKernel", "stream 1"),
        ("cuLaunchKernel", "stream 2"),
        ("cuEventRecord", "event 2", "stream 2"),
        ("cuStreamWaitEvent", "stream 1", "event 2"),
    ]


@pytest.mark.gpu
def test_a_gpu_computes() -> None:
    text = "ENTRY e { x = f32[1000] parameter(0)  ROOT r = f32[1000] multiply(x, x) }"
    x = np.arange(1000, dtype=np.float32)
    try:
        device = CudaDevice()
    except UnsupportedError as error:
        pytest.skip(str(error))
    del device
    (result,) = compiler.compile(text, "nvptx")(x)
    assert np.array_equal(result, x * x)


HERE = Path(__file__).parent / "bindings"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.skipif(importlib.util.find_spec("cuda") is None, reason="without the extra `cuda`")
def test_the_bindings_take_what_is_said_to_the_driver(tmp_path: Path) -> None:
    library = tmp_path / "libcuda.so.1"
    name = ["-Wl,-soname,libcuda.so.1", "-o", str(library)]
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Werror", *name, str(HERE / "driver.c")], check=True)
    command = [sys.executable, str(HERE / "scenarios.py"), str(library)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
