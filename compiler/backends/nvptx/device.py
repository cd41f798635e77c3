"""What runs PTX: the interface that the simulator and a real GPU share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from compiler.backends.nvptx.kernels.grid import Launch

Array = NDArray[Any]


class LoadedModule(Protocol):
    """A PTX module on a device."""

    def launch(self, launch: Launch, arguments: Sequence[int], stream: int = 0) -> None:
        """Launch a function on addresses; what is put on one stream runs in order.

        Args:
            launch: the function, and its grid.
            arguments: 64 bits each: addresses, or numbers.
            stream: the stream's number.
        """


class Device(Protocol):
    """A GPU, or something that behaves like one."""

    separate_buffers: bool
    """Whether every buffer should be an allocation of its own, so that a stray access shows, and streams be watched."""

    replays: bool
    """Whether work can be captured once and done again."""

    def load(self, ptx: str) -> LoadedModule:
        """Load a module."""

    def allocate(self, size_bytes: int) -> int:
        """Allocate memory; its address."""

    def free(self, address: int) -> None:
        """Give memory back."""

    def upload(self, address: int, data: Array) -> None:
        """Copy an array to the device."""

    def download(self, address: int, data: Array) -> None:
        """Fill an array from the device, behind what is on the first stream; it is full when that has finished."""

    def finish(self) -> None:
        """Wait for everything that comes before the end of the first stream."""

    def copy(self, source: int, target: int, size_bytes: int, stream: int = 0) -> None:
        """Copy on the device.

        Args:
            source: a device address.
            target: the one that it goes to.
            size_bytes: how much.
            stream: the number of the stream that does it.
        """

    def record(self, event: int, stream: int) -> None:
        """Let an event stand for what has been put on a stream so far."""

    def wait(self, event: int, stream: int) -> None:
        """Put what follows on a stream behind an event."""

    def pinned(self, like: Array) -> Array:
        """An array of the same form in memory of the host that the device reaches by itself."""

    def capture(self, action: Callable[[], None]) -> Callable[[], None]:
        """What `action` puts on streams, to be done as a whole whenever the returned function is called."""

    def account(self) -> str:
        """How much was executed so far, and how fast, in a sentence; nothing where nobody counts."""

    def timed(self, action: Callable[[], None]) -> float:
        """Nanoseconds that what `action` launches takes on the device."""
