"""`tf.compat`: the namespace under the name of its version, and text as bytes."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Text as bytes."""
    return bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes(bytes_or_text)


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Bytes as text."""
    return bytes_or_text.decode(encoding) if isinstance(bytes_or_text, bytes) else str(bytes_or_text)


as_str = as_text


def as_str_any(value: Any) -> str:
    """A value as text."""
    return as_text(value) if isinstance(value, bytes) else str(value)


def __getattr__(name: str) -> Any:
    """`tf.compat.v1`, loaded when it is first asked for."""
    if name == "v1":
        return import_module("xlabench.tensorflow.compat.v1")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
