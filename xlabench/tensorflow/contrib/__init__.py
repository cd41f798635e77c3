"""`tf.contrib`, of which `compiler` is there."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """`compiler`, loaded when it is asked for."""
    if name == "compiler":
        return import_module("xlabench.tensorflow.contrib.compiler")
    raise AttributeError(f"tf.contrib.{name}: of contrib only compiler is there")
