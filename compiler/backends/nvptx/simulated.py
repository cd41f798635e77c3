"""The simulator as a device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from compiler.backends.nvptx.device import Array
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.simulator import LaunchOptions, Machine, PtxModule, parse_ptx

_WORD_BYTES = 16  # the widest load of one thread


class SimulatedModule:
    """A parsed PTX module."""

    def __init__(self, device: SimulatedDevice, module: PtxModule) -> None:
        self._device = device
        self._module = module

    def launch(self, launch: Launch, arguments: Sequence[int], stream: int = 0) -> None:
        """Run a function to its end, whatever stream it is on.

        Args:
            launch: the function, and its grid.
            arguments: 64 bits each: addresses, or numbers.
            stream: of no importance here.
        """
        del stream
        statistics = self._device.machine.launch(
            self._module,
            launch.function,
            (launch.blocks, 1, 1),
            (launch.threads, 1, 1),
            list(arguments),
            shared_bytes=launch.shared_bytes,
            options=self._device.options,
        )
        self._device.lane_instructions += statistics.lane_instructions
        self._device.simulated_s += statistics.duration_s


class SimulatedDevice:
    """A GPU in NumPy that finds what hardware hides; counts what it executed; `options` hold for every launch."""

    separate_buffers = True
    replays = False

    def __init__(self, *, check_global_races: bool = False) -> None:
        self.options = LaunchOptions(check_global_races=check_global_races)
        self.machine = Machine()
        self.lane_instructions = 0
        self.simulated_s = 0.0

    def load(self, ptx: str) -> SimulatedModule:
        """Parse a module."""
        return SimulatedModule(self, parse_ptx(ptx))

    def allocate(self, size_bytes: int) -> int:
        """Allocate memory that must be written before it is read.

        As on a GPU, memory comes in whole words: LLVM reads the rest of an aligned word along with what it needs.
        """
        padding = -size_bytes % _WORD_BYTES
        address = self.machine.allocate(size_bytes + padding)
        if padding:
            self.machine.write(address + size_bytes, np.zeros(padding, np.uint8))
        return address

    def free(self, address: int) -> None:
        """Give memory back."""
        self.machine.free(address)

    def upload(self, address: int, data: Array) -> None:
        """Copy an array to the device."""
        if data.nbytes:
            self.machine.write(address, data)

    def download(self, address: int, data: Array) -> None:
        """Fill an array from the device; memory that no kernel has written is a bug of the kernels.

        Raises:
            RuntimeError: some of the memory was never written.
        """
        if data.nbytes:
            if not self.machine.is_initialised(address, data.nbytes):
                raise RuntimeError(
                    f"{data.nbytes} bytes at {address:#x} are read back, some of which were never written"
                )
            flat = data.reshape(-1).view(np.uint8)
            flat[...] = np.frombuffer(self.machine.read(address, data.nbytes), np.uint8)

    def finish(self) -> None:
        """Nothing: work is done by the time that it has been put on a stream."""

    def copy(self, source: int, target: int, size_bytes: int, stream: int = 0) -> None:
        """Copy on the device.

        Args:
            source: a device address.
            target: the one that it goes to.
            size_bytes: how much.
            stream: without meaning here: one is done when it is asked for.
        """
        del stream
        self.machine.write(target, self.machine.read(source, size_bytes))

    def record(self, event: int, stream: int) -> None:
        """Nothing: work is done by the time that it has been put on a stream."""

    def wait(self, event: int, stream: int) -> None:
        """Nothing: work is done in the order of the program, which has every wait behind its event."""

    def pinned(self, like: Array) -> Array:
        """Any array will do."""
        return np.empty_like(like)

    def capture(self, action: Callable[[], None]) -> Callable[[], None]:
        """The action itself."""
        return action

    def account(self) -> str:
        """Lane-instructions, and how many a second."""
        rate = self.lane_instructions / self.simulated_s if self.simulated_s else 0.0
        return f"simulated {self.lane_instructions:,} lane-instructions, {rate / 1e6:.1f} million a second"

    def timed(self, action: Callable[[], None]) -> float:
        """Wall time, which says how fast the simulator is and nothing about a GPU."""
        start = time.perf_counter_ns()
        action()
        return float(time.perf_counter_ns() - start)
