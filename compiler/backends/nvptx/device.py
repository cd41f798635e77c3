"""What runs PTX: the interface that the simulator and a real GPU share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]


class LoadedModule(Protocol):
    """A PTX module on a device."""

    def launch(self, function: str, blocks: int, threads: int, arguments: Sequence[int]) -> None:
        """Launch a function on addresses; launches run in order."""


class Device(Protocol):
    """A GPU, or something that behaves like one."""

    separate_buffers: bool
    """Whether every buffer should be an allocation of its own, so that a stray access shows."""

    def load(self, ptx: str) -> LoadedModule:
        """Load a module."""

    def allocate(self, size_bytes: int) -> int:
        """Allocate memory; its address."""

    def free(self, address: int) -> None:
        """Give memory back."""

    def upload(self, address: int, data: Array) -> None:
        """Copy an array to the device."""

    def download(self, address: int, data: Array) -> None:
        """Fill an array from the device, after everything launched so far."""

    def copy(self, source: int, target: int, size_bytes: int) -> None:
        """Copy on the device."""

    def timed(self, action: Callable[[], None]) -> float:
        """Nanoseconds that what `action` launches takes on the device."""
