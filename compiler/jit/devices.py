"""Devices by their names, and what may be clustered on each type of them.

A graph names devices as far as its author cared to (`/gpu:0`, `/device:XLA_CPU:0`, `/job:worker/...`); what is left out
is taken of the default device, so that two names are one device exactly if they are equal afterwards.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from compiler.diagnostics import InputError
from compiler.jit.flags import Flags

DEFAULT_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"

_FIELD = re.compile(
    r"/(?:job:(?P<job>[A-Za-z][A-Za-z0-9_]*)|replica:(?P<replica>[0-9]+|\*)|task:(?P<task>[0-9]+|\*)"
    r"|device:(?P<type>[A-Za-z][A-Za-z0-9_]*)(?::(?P<index>[0-9]+|\*))?"
    r"|(?P<old>cpu|gpu|CPU|GPU):(?P<old_index>[0-9]+|\*))(?=/|\Z)",
    re.ASCII,
)


class Policy(enum.Enum):
    """When nodes on a device are clustered that do not ask for it themselves."""

    ALWAYS = "always"
    IF_ENABLED_GLOBALLY = "if enabled globally"
    IF_EXPLICITLY_REQUESTED = "if explicitly requested"


@dataclass(frozen=True, slots=True)
class Registration:
    """What may be clustered on a type of device.

    Attributes:
        policy: when.
        allows_everything: whether what is left out of clusters elsewhere, because it would be slower, less exact or
            another thing than the kernel (random numbers, checks, variables inside functions), is clustered here,
            where there are no kernels.
    """

    policy: Policy
    allows_everything: bool = False


@dataclass(frozen=True, slots=True)
class Device:
    """A device's full name."""

    job: str
    replica: str
    task: str
    type: str
    index: str

    def __str__(self) -> str:
        return f"/job:{self.job}/replica:{self.replica}/task:{self.task}/device:{self.type}:{self.index}"


@functools.lru_cache(1 << 12)
def device_of(name: str, default: Device | None = None) -> Device:
    """The device of a name, what is left out (or `*`) taken of the default.

    Raises:
        InputError: it is no name of a device.
    """
    base = default or Device("localhost", "0", "0", "CPU", "0")
    found: dict[str, str] = {}
    at = 0
    while (match := _FIELD.match(name, at)) is not None:
        found |= {key: value for key, value in match.groupdict().items() if value is not None}
        at = match.end()
    if at != len(name):
        raise InputError(f"{name!r} is no name of a device: it has the form {DEFAULT_DEVICE}, or a part of that")
    if "old" in found:
        found |= {"type": found["old"].upper(), "index": found["old_index"]}
    if "type" in found and found["type"] != base.type:
        base = replace(base, index="0")
    return replace(base, **{key: found[key] for key in _FIELDS if found.get(key, "*") != "*"})


_FIELDS = ("job", "replica", "task", "type", "index")


def registration_of(device: Device, flags: Flags) -> Registration | None:
    """What may be clustered on a device; None where nothing can be."""
    if device.type == "CPU" and flags.cpu_global_jit:
        return Registration(Policy.IF_ENABLED_GLOBALLY)
    if device.type.startswith("XLA_") and not flags.enable_xla_devices:
        return None
    return _REGISTRATIONS.get(device.type)


def pick_device(devices: Collection[Device], *, allow_mixing: bool = False) -> Device | None:
    """The device that a cluster with nodes on these runs on; None if they cannot be in one cluster.

    What stands on a CPU may join what stands on one GPU.  Other devices stand alone, unless a CPU may be mixed in.
    """
    if len(devices) == 1:
        return next(iter(devices))
    by_kind: dict[str, list[Device]] = {}
    for device in devices:
        kind = device.type if device.type in ("CPU", "GPU") else "other"
        by_kind.setdefault(kind, []).append(device)
    if any(len(found) > 1 for found in by_kind.values()):
        return None
    if "other" in by_kind and ("GPU" in by_kind or ("CPU" in by_kind and not allow_mixing)):
        return None
    return next((by_kind[kind][0] for kind in ("GPU", "other", "CPU") if kind in by_kind), None)


_REGISTRATIONS: Mapping[str, Registration] = {
    "CPU": Registration(Policy.IF_EXPLICITLY_REQUESTED),
    "GPU": Registration(Policy.IF_ENABLED_GLOBALLY),
    "XLA_CPU": Registration(Policy.ALWAYS, allows_everything=True),
    "XLA_GPU": Registration(Policy.ALWAYS, allows_everything=True),
}
