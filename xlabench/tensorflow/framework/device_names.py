"""Names of devices, such as `/job:localhost/replica:0/task:0/device:XLA_GPU:0`, of which a part may be stated."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_FIELD = re.compile(r"(?:/job:(?P<job>[^/]+)|/replica:(?P<replica>\d+|\*)|/task:(?P<task>\d+|\*)|/device:(?P<type>[A-Za-z][A-Za-z0-9_]*):(?P<index>\d+|\*)|/(?P<short>cpu|gpu):(?P<number>\d+|\*))", re.IGNORECASE)  # fmt: skip # noqa: E501


@dataclass(frozen=True, slots=True)
class DeviceName:
    """A device, or what is stated of one."""

    job: str = ""
    replica: str = ""
    task: str = ""
    type: str = ""
    index: str = ""

    def __str__(self) -> str:
        fields = [f"/{name}:{value}" for name in ("job", "replica", "task") if (value := getattr(self, name))]
        return "".join(fields) + (f"/device:{self.type}:{self.index or '*'}" if self.type else "")

    def within(self, outer: DeviceName) -> DeviceName:
        """This, and of what it leaves open what is stated around it."""
        mine = {name: value for name in self.__slots__ if (value := getattr(self, name))}
        if self.type:
            mine["index"] = self.index
        return replace(outer, **mine)

    def allows(self, device: DeviceName) -> bool:
        """Whether a device is one that this states."""
        pairs = ((getattr(self, name), getattr(device, name)) for name in self.__slots__)
        return all(stated in ("", "*", found) for stated, found in pairs)


def device_name_of(text: str) -> DeviceName:
    """Read a device's name.

    Raises:
        ValueError: it is none.
    """
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _FIELD.match(text, at)
        if match is None:
            raise ValueError(f"Unknown attribute '{text[at:].strip('/').split(':')[0]}' is given in '{text}'.")
        found |= {name: value for name, value in match.groupdict().items() if value is not None}
        at = match.end()
    if "short" in found:
        found |= {"type": found.pop("short"), "index": found.pop("number")}
    if "type" in found:
        found["type"] = found["type"].upper()
    return DeviceName(**found)


class DeviceSpec:
    """A device's name in parts, as `tf.device` takes it."""

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        """State parts of a name.

        Args:
            job: which job, None for any.
            replica: which replica of it.
            task: which process.
            device_type: `CPU`, `GPU`, `XLA_CPU` or `XLA_GPU`.
            device_index: which of these.
        """
        self.job = job
        self.replica = replica
        self.task = task
        self.device_type = device_type and device_type.upper()
        self.device_index = device_index

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Read a name.

        Raises:
            ValueError: it is none.
        """
        name = device_name_of(spec)
        replica, task, index = (int(one) if one not in ("", "*") else None
                                for one in (name.replica, name.task, name.index))  # fmt: skip
        return cls(name.job or None, replica, task, name.type or None, index)

    def to_string(self) -> str:
        """The name."""
        replica, task, index = ("" if one is None else str(one)
                                for one in (self.replica, self.task, self.device_index))  # fmt: skip
        return str(DeviceName(self.job or "", replica, task, self.device_type or "", index))

    def __str__(self) -> str:
        return self.to_string()


LOCAL = DeviceName("localhost", "0", "0")
"""What this process is called."""
