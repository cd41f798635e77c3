"""The language that names an engine: `NAME[:key=value,...]`.

A bare key means true, or a device: `cpu:fusion=off`, `cpu:threads=1,opt=0`, `nvptx:sim`.  Every command, record and
bundle uses it, so a spec has one normal form: options in the order of the engine's table, defaults left as written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from xlabench.errors import BenchError, did_you_mean

Array = NDArray[Any]
Program = Callable[..., list[Array]]
"""A compiled program: takes the entry parameters in order, returns the leaves of the root in order."""


class Engine(Protocol):
    """Something that runs HLO."""

    @property
    def spec(self) -> str:
        """The spec that names this engine with its options, in normal form."""

    def compile(self, module_or_text: Any) -> Program:
        """Make a program ready to run."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of an engine: which values it takes, and how their text is read."""

    values: str
    read: Callable[[str], Any]


class EngineModule(Protocol):
    """What each file of this folder that stands in `ENGINES` offers."""

    OPTIONS: Mapping[str, Option]
    DEVICES: Sequence[str]

    def create(self, spec: str, options: Mapping[str, Any], *, dump_to: str) -> Engine:
        """The engine with the options as their `read` returned them.

        Args:
            spec: as it was given, for messages.
            options: by name, as `read` gave them.
            dump_to: a folder for the forms of a compilation, empty for none.
        """


def _read_switch(text: str) -> bool:
    values = {"": True, "on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
    return values[text.lower()]


def _read_names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split("+") if name)


def _integer(low: int, high: int) -> Option:
    def read(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise ValueError(text)
        return value

    return Option(f"an integer from {low} to {high}", read)


SWITCH = Option("on or off", _read_switch)
NAMES = Option("names joined by +", _read_names)
THREADS = _integer(0, 1024)
LEVEL = _integer(0, 3)
FUEL = _integer(0, 2**31 - 1)


def split_spec(text: str) -> tuple[str, dict[str, str]]:
    """The engine's name and its options as written; a bare key has an empty value.

    Raises:
        BenchError: an option is given twice.
    """
    name, _, rest = text.partition(":")
    options: dict[str, str] = {}
    for item in filter(None, (option.strip() for option in rest.split(","))):
        key, _, value = item.partition("=")
        if key in options:
            raise BenchError(f"engine {text!r}: option {key!r} is given twice")
        options[key] = value
    return name.strip(), options


def read_options(text: str, written: Mapping[str, str], module: EngineModule) -> dict[str, Any]:
    """The values of the options; an unknown one is an error that names the known ones.

    Args:
        text: the spec, for messages.
        written: values as they were written, by names.
        module: the engine's file, with its table of options.

    Raises:
        BenchError: an option is unknown, or has a value that it cannot have.
    """
    read: dict[str, Any] = {}
    for key, value in written.items():
        if key in module.DEVICES and not value:
            if "device" in read:
                raise BenchError(f"engine {text!r}: two devices, {read['device']!r} and {key!r}; give one")
            read["device"] = key
            continue
        option = module.OPTIONS.get(key)
        if option is None:
            known = ", ".join([*module.DEVICES, *(f"{key}=..." for key in module.OPTIONS)])
            hint = did_you_mean(key, [*module.DEVICES, *module.OPTIONS])
            raise BenchError(f"engine {text!r}: unknown option {key!r}{hint}; known are: {known or 'none'}")
        try:
            read[key] = option.read(value)
        except (KeyError, ValueError) as error:
            raise BenchError(f"engine {text!r}: {key} cannot be {value!r}; give {option.values}") from error
    return read


def normal_form(name: str, written: Mapping[str, str], module: EngineModule) -> str:
    """The spec with its device first and its options in the order of the engine's table.

    Args:
        name: the engine's.
        written: values as they were written, by names.
        module: the engine's file, with its table of options.
    """
    order = [*module.DEVICES, *module.OPTIONS]
    items = [f"{key}={written[key]}" if written[key] else key for key in sorted(written, key=order.index)]
    return f"{name}:{','.join(items)}" if items else name


def arrays_of(results: Sequence[Any]) -> list[Array]:
    """Results as NumPy arrays."""
    return [np.asarray(result) for result in results]
