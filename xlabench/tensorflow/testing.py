"""`tf.test`: what programs ask of the machine and of how they were built."""

from __future__ import annotations

import tempfile
from functools import cache
from typing import Any

from xlabench.tensorflow.runtime.settings import devices

__all__ = [
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_gpu_available",
]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"tf.test.{name}: tests of TensorFlow's kind are not there; use unittest and tf.Session")


def gpu_device_name() -> str:
    """The name of the GPU, `/device:GPU:0`; empty where `xlabench tf` was given none (`--gpu`)."""
    found = [one.device_name for one in devices().values() if one.device_name.type == "GPU"]
    return f"/device:GPU:{found[0].index}" if found else ""


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Whether there is a GPU, whatever `cuda_only` and `min_cuda_compute_capability` say."""
    return bool(gpu_device_name())


def is_built_with_cuda() -> bool:
    """Whether a GPU of CUDA's could be used: it could, by an engine that is given."""
    return True


def is_built_with_gpu_support() -> bool:
    """Whether a GPU could be used."""
    return True


def is_built_with_rocm() -> bool:
    """Whether a GPU of ROCm's could be used."""
    return False


def is_built_with_xla() -> bool:
    """Whether graphs are compiled."""
    return True


@cache
def get_temp_dir() -> str:
    """A folder for files of tests, one for the whole process."""
    return tempfile.mkdtemp(prefix="xlabench-test-")
