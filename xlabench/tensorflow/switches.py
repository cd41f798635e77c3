"""What programs say of TensorFlow's own behaviour, and its log; most of it is so here in any case."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from xlabench.tensorflow.errors import NotHereError

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50
_LOGGER = logging.getLogger("tensorflow")


def _as_it_is(name: str) -> Callable[[], None]:
    def switch() -> None:
        return None

    switch.__name__ = switch.__qualname__ = name
    switch.__doc__ = "Nothing: it is so here."
    return switch


_SO = frozenset(
    {
        *("disable_eager_execution", "disable_v2_behavior", "disable_v2_tensorshape", "disable_tensor_equality"),
        *("enable_resource_variables", "disable_resource_variables"),
        *("enable_control_flow_v2", "disable_control_flow_v2"),
    }
)
_NOT_SO = frozenset({"enable_v2_behavior", "enable_eager_execution"})


@cache
def __getattr__(name: str) -> Callable[[], None]:
    """A switch, which changes nothing or is refused."""
    if name in _SO:
        return _as_it_is(name)
    if name in _NOT_SO:
        return _refused(name)
    raise AttributeError(f"tf.{name}: it is not there")


def _refused(name: str) -> Callable[[], None]:
    def switch() -> None:
        raise NotHereError(f"tf.{name}: eager execution is not there; build a graph and run it in a session")

    switch.__name__ = switch.__qualname__ = name
    switch.__doc__ = "Refuse: graphs run in sessions here."
    return switch


def executing_eagerly() -> bool:
    """Whether ops run when they are made: they do not."""
    return False


def set_verbosity(v: int) -> None:
    """From which level `v` on messages of the program's log are shown."""
    _LOGGER.setLevel(v)
    if not _LOGGER.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
        _LOGGER.addHandler(handler)


def debug(msg: str, *args: Any) -> None:
    """A line for who looks closely."""
    _LOGGER.debug(msg, *args)


def info(msg: str, *args: Any) -> None:
    """A line about what goes on."""
    _LOGGER.info(msg, *args)


def warn(msg: str, *args: Any) -> None:
    """A line about what may be wrong."""
    _LOGGER.warning(msg, *args)


def error(msg: str, *args: Any) -> None:
    """A line about what is wrong."""
    _LOGGER.error(msg, *args)
