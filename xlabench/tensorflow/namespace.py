"""Names of the namespace, each loaded when it is first asked for.

A program that only imports the namespace loads nothing else: the compiler comes with the first op.  What TensorFlow has
and this has not is an `AttributeError` that says what to do instead.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from xlabench.errors import did_you_mean
from xlabench.tensorflow.names import MODULES, NAMESPACES, modules_of_names, values
from xlabench.tensorflow.refused import REFUSED

ROOT = "xlabench.tensorflow"
_NAMES, _VALUES = modules_of_names(), values()
_TYPES = frozenset(
    [
        "float16",
        "float32",
        "float64",
        "bfloat16",
        "half",
        "double",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
        "string",
        "complex64",
        "complex128",
        "resource",
        "variant",
        "qint8",
        "quint8",
        "qint32",
    ]
)
_REDUCTIONS = frozenset(f"reduce_{word}" for word in ("sum", "mean", "prod", "max", "min", "all", "any"))
_CONVERSIONS = {f"to_{word}": dtype for word, dtype in
                (("float", "float32"), ("double", "float64"),
                 *((word, word) for word in ("int32", "int64", "bfloat16", "complex64", "complex128")))}  # fmt: skip


class Namespace(ModuleType):
    """A name under which others stand, as a module of which nothing is loaded before it is asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{ROOT}.{name}", f"The names of `tf.{name}`.")
        self._prefix = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return resolve(f"{self._prefix}.{name}")

    def __dir__(self) -> list[str]:
        return known(self._prefix)


@cache
def resolve(name: str) -> Any:
    """What a public name stands for.

    Raises:
        AttributeError: it is not there; the message says what is instead.
    """
    if name in _NAMES:
        module, inner = _NAMES[name]
        return getattr(_module(module), inner)
    if name in _VALUES:
        return _VALUES[name]
    if name in NAMESPACES:
        return Namespace(name)
    if name in MODULES:
        return import_module(f"{ROOT}.{'testing' if name == 'test' else name}")
    return _made(name)


_LIGHT = frozenset({"config", "switches", "framework.dtypes", "framework.shapes", "framework.keys"})
"""Modules that give no tensors."""


def _module(name: str) -> ModuleType:
    """A module; with one that gives tensors come their operators."""
    if name not in _LIGHT:
        import_module(f"{ROOT}.framework.operators")
    return import_module(f"{ROOT}.{name}")


def _made(name: str) -> Any:
    """What a name stands for that a table makes."""
    space, _, last = name.rpartition(".")
    if space == "raw_ops":
        return _raw(last)
    if last in _TYPES and space in ("", "dtypes"):
        return import_module(f"{ROOT}.framework.dtypes").as_dtype(last)
    if (last in _REDUCTIONS and space in ("", "math")) or name == "math.reduce_euclidean_norm":
        return _module("ops.math").REDUCTIONS[last]
    if name in _CONVERSIONS:
        return _module("ops.math").to_type(_CONVERSIONS[name])
    return _generated(name)


def _generated(name: str) -> Any:
    if name not in REFUSED:
        found = _module("ops.generated").function(name)
        if found is not None:
            return found
    said = REFUSED.get(name)
    if said is None:
        others = [f"tf.{one}" for one in (*_NAMES, *REFUSED, *NAMESPACES, *known(""))]
        said = f"it is not there{did_you_mean(f'tf.{name}', others)}"
    raise AttributeError(f"tf.{name}: {said}")


def _raw(op: str) -> Any:
    generated = _module("ops.generated")
    if op not in generated.RECORDS:
        raise AttributeError(f"tf.raw_ops.{op}: no record has this op{did_you_mean(op, generated.RECORDS)}")
    return generated.raw(op)


def known(prefix: str) -> list[str]:
    """The names that stand under a prefix, or in the namespace itself."""
    rows = import_module(f"{ROOT}.ops.rows").names()
    every = {*_NAMES, *_VALUES, *rows, *NAMESPACES, *MODULES, *_TYPES, *_REDUCTIONS, *_CONVERSIONS}
    if not prefix:
        return sorted(one for one in every if "." not in one)
    return sorted(one.removeprefix(f"{prefix}.") for one in every if one.startswith(f"{prefix}."))
