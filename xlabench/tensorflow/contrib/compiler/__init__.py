"""`tf.contrib.compiler`, of which `jit` is there."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """`jit`, loaded when it is asked for."""
    if name == "jit":
        return import_module("xlabench.tensorflow.contrib.compiler.jit")
    raise AttributeError(f"tf.contrib.compiler.{name}: of it only jit is there")
