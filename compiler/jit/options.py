"""What a session, or whoever else wants clusters, says besides `TF_XLA_FLAGS`."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.jit.devices import DEFAULT_DEVICE, Device, device_of
from compiler.jit.flags import UNLIMITED

DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
"""TensorFlow's `OptimizerOptions.GlobalJitLevel`."""


@dataclass(slots=True)
class Progress:
    """What one graph after another uses up: one for a process, or for a session that is to behave as in a new one.

    Attributes:
        fuel: nodes that may still become candidates; None before the first graph.
        numbers: the number of the next cluster, by the fingerprint of graphs.
        dumps: how many files of each name were written.
    """

    fuel: int | None = None
    numbers: dict[str, int] = field(default_factory=dict)
    dumps: dict[str, int] = field(default_factory=dict)

    def take_fuel(self, limit: int) -> bool:
        """Whether there is fuel for one node more."""
        if limit >= UNLIMITED:
            return True
        self.fuel = limit if self.fuel is None else self.fuel
        if self.fuel <= 0:
            return False
        self.fuel -= 1
        return True

    def next_number(self, fingerprint: str) -> int:
        """The number of a new cluster."""
        number = self.numbers.get(fingerprint, 0)
        self.numbers[fingerprint] = number + 1
        return number


@dataclass(frozen=True, slots=True)
class Options:
    """How to cluster a graph.

    Attributes:
        global_jit_level: of the session's configuration; flags go before it.
        cpu_global_jit: whether that level holds for CPUs too, as the flag of that name says.
        device: where nodes run that name none.
        name: what names of clusters begin with, instead of `cluster`.
        dump_to: the folder for dumps (`TF_DUMP_GRAPH_PREFIX`); empty for none.
        progress: what is used up.
    """

    global_jit_level: int = DEFAULT
    cpu_global_jit: bool = False
    device: str = DEFAULT_DEVICE
    name: str = ""
    dump_to: str = ""
    progress: Progress = field(default_factory=Progress)

    @property
    def default_device(self) -> Device:
        """The device of nodes that name none."""
        return device_of(self.device)
