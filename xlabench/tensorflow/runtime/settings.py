"""What is said outside of a program: which engine each device is, and the flags of clustering.

`xlabench tf` sets these, and where a program is run by Python itself the environment does: XLABENCH_TF_CPU,
XLABENCH_TF_GPU, XLABENCH_TF_XLA_CPU and XLABENCH_TF_XLA_GPU hold specs of engines.  As in TensorFlow,
`TF_XLA_FLAGS=--tf_xla_enable_xla_devices=false` takes those away that compile all that runs on them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from compiler.tf import flags_of
from xlabench.tensorflow.framework.device_names import LOCAL, DeviceName

VARIABLE = "XLABENCH_TF_"
DEFAULTS: Mapping[str, str] = {"CPU": "cpu", "GPU": "", "XLA_CPU": "cpu", "XLA_GPU": "nvptx:sim"}
"""The engine of each kind of device; there is none of a kind whose spec is empty."""
CLUSTERS: Mapping[str, str] = {"CPU": "XLA_CPU", "XLA_CPU": "XLA_CPU", "XLA_GPU": "XLA_GPU"}
"""Whose engine compiles the clusters of a device; those of others are compiled by their own."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device of this process.

    Attributes:
        device_name: its name.
        spec: the engine that runs its kernels, one op at a time.
        cluster_spec: the engine that clusters on it are compiled by.
    """

    device_name: DeviceName
    spec: str
    cluster_spec: str

    @property
    def name(self) -> str:
        """The whole name."""
        return str(self.device_name)

    @property
    def device_type(self) -> str:
        """Its kind."""
        return self.device_name.type

    @property
    def is_host(self) -> bool:
        """Whether its values lie in the host's memory."""
        return self.device_name.type == "CPU"

    @property
    def compiles(self) -> bool:
        """Whether all that runs on it is compiled."""
        return self.device_name.type.startswith("XLA_")


def devices() -> dict[str, Device]:
    """The devices of this process by name, the host first.

    Raises:
        InputError: TF_XLA_FLAGS holds an unknown flag.
    """
    specs = {kind: os.environ.get(f"{VARIABLE}{kind}", spec) for kind, spec in DEFAULTS.items()}
    found = {}
    for kind, spec in specs.items():
        if spec:
            device_name = DeviceName(LOCAL.job, LOCAL.replica, LOCAL.task, kind, "0")
            found[str(device_name)] = Device(device_name, spec, specs[CLUSTERS.get(kind, kind)])
    if not flags_of(os.environ).enable_xla_devices:
        return {name: one for name, one in found.items() if not one.compiles}
    return found
