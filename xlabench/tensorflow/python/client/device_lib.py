"""`device_lib`: which devices this process has, as scripts ask before they place anything."""

from __future__ import annotations

from typing import Any

from xlabench.tensorflow.framework.messages import Message
from xlabench.tensorflow.runtime.settings import devices


class DeviceLocality(Message):
    """What lies near a device: nobody knows here."""

    FIELDS = {"bus_id": 0, "numa_node": 0}  # noqa: RUF012 - a table of fields


class DeviceAttributes(Message):
    """A device; what `physical_device_desc` says is the engine that runs its kernels."""

    FIELDS = {  # noqa: RUF012 - a table of fields
        "name": "",
        "device_type": "",
        "memory_limit": 0,
        "locality": DeviceLocality,
        "incarnation": 0,
        "physical_device_desc": "",
    }


def list_local_devices(session_config: Any = None) -> list[DeviceAttributes]:
    """The devices of this process, the host first.

    A memory limit is none (0): values are NumPy arrays.

    Raises:
        InputError: TF_XLA_FLAGS holds an unknown flag.
    """
    counts = {} if session_config is None else session_config.device_count
    return [
        DeviceAttributes(
            name=f"/device:{one.device_type}:{one.device_name.index}",
            device_type=one.device_type,
            incarnation=number,
            physical_device_desc=one.spec,
        )
        for number, one in enumerate(devices().values(), 1)
        if one.is_host or counts.get(one.device_type, 1) > 0
    ]


__all__ = ["DeviceAttributes", "DeviceLocality", "list_local_devices"]
