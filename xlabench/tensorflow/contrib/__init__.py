"""`tf.contrib`: `compiler`, a module of its own, and names that stand elsewhere by now."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """What is asked for, loaded then.

    Raises:
        AttributeError: it is not there; the message says what is instead.
    """
    if name == "compiler":
        return import_module("xlabench.tensorflow.contrib.compiler")
    return import_module("xlabench.tensorflow.namespace").resolve(f"contrib.{name}")
