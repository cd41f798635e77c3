"""Large arrays go to the device in pieces, every byte once, and come back as arrays of the caller's own."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.backends.nvptx import transfer
from compiler.backends.nvptx.simulated import SimulatedDevice

PIECE = 64
SIZES = [0, 1, PIECE - 1, PIECE, 2 * PIECE - 1, 2 * PIECE, 2 * PIECE + 1, 9 * PIECE, 9 * PIECE + 3]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "PIECE_BYTES", PIECE)
    monkeypatch.setattr(transfer, "LARGE_BYTES", 2 * PIECE)


class Recorder:
    """A device that keeps what it was given, by address."""

    def __init__(self) -> None:
        self.memory: dict[int, bytes] = {}

    def upload(self, address: int, data: np.ndarray[Any, Any]) -> None:
        self.memory[address] = data.tobytes()


@pytest.mark.parametrize("dtype", [np.uint8, np.float64, ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_every_byte_goes_once(size: int, dtype: Any) -> None:
    array = np.arange(size).astype(dtype)
    device, pinned = Recorder(), np.empty_like(array)
    transfer.upload(device, 1000, pinned, array)  # type: ignore[arg-type]
    assert b"".join(device.memory[address] for address in sorted(device.memory)) == array.tobytes()
    starts = [1000 + start for start in range(0, array.nbytes, PIECE)]
    assert sorted(device.memory) == starts


@pytest.mark.parametrize("size", SIZES)
def test_what_comes_back_is_a_copy(size: int) -> None:
    pinned = np.arange(size, dtype=np.uint8)
    array = transfer.copied(pinned)
    assert array.tobytes() == pinned.tobytes()
    assert not np.shares_memory(array, pinned)


def test_calls_with_large_and_small_inputs_are_right_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedDevice, "replays", True)
    text = """ENTRY e { x = f32[50,9] parameter(0)  y = f32[9] parameter(1)
      b = f32[50,9] broadcast(y), dimensions={1}  ROOT r = f32[50,9] add(x, b) }"""
    executable = compiler.compile(text, "nvptx", CompileOptions(device="sim"))
    rng = np.random.default_rng(0)
    for _ in range(4):
        x, y = rng.standard_normal((50, 9), np.float32), rng.standard_normal(9, np.float32)
        assert np.array_equal(executable(x, y)[0], x + y)


def test_what_a_transfer_fails_with_reaches_the_caller() -> None:
    class Broken(Recorder):
        def upload(self, address: int, data: np.ndarray[Any, Any]) -> None:
            raise RuntimeError(f"CUDA: nothing goes to {address}")

    array = np.zeros(4 * PIECE, np.uint8)
    with pytest.raises(RuntimeError, match="nothing goes to 0"):
        transfer.upload(Broken(), 0, np.empty_like(array), array)  # type: ignore[arg-type]
