"""Meanings that the caller gives to custom calls: functions from NumPy arrays to NumPy arrays, by target.

A program cannot bring them: it holds names, and what a name stands for is said by whoever runs it, in the process that
runs it.  So there is one table for a process, as there is for names of native code elsewhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.diagnostics import InputError
from compiler.ir.module import Instruction, Module
from compiler.ir.opdef import Value
from compiler.ir.shape import ArrayShape, TupleShape

Function = Callable[..., Any]

_CONFIG = "backend_config"


class Meaning(NamedTuple):
    """A function, whether it wants to know the text of the call's `backend_config`, and its name for messages."""

    function: Function
    takes_config: bool
    name: str


_GIVEN: dict[str, Meaning] = {}


def give(target: str, function: Function | None, name: str = "") -> None:
    """Let a function be the meaning of a target from now on; None takes it away.

    Args:
        target: of custom calls.
        function: takes and gives arrays; None for no meaning.
        name: by which worker processes find it, `module:function`.
    """
    if function is None:
        _GIVEN.pop(target, None)
        return
    try:
        takes_config = _CONFIG in inspect.signature(function).parameters
    except (TypeError, ValueError):  # built-in functions may not say what they take
        takes_config = False
    own = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', function)}"
    _GIVEN[target] = Meaning(function, takes_config, name or own)


def given(call: Instruction) -> bool:
    """Whether an instruction is a custom call whose meaning the caller has given."""
    return call.opcode == "custom-call" and call.attributes["custom_call_target"] in _GIVEN


def is_called(module: Module) -> bool:
    """Whether a module calls what is not a program: it can be neither kept nor taken to another machine."""
    return bool(_GIVEN) and any(map(given, module.instructions()))


def called(call: Instruction, values: Sequence[Any]) -> Value:
    """The results of a call whose meaning is given, checked; an InputError says what is wrong with them.

    The function gets its operands read-only: they are the values of others too.
    """
    meaning = _GIVEN[call.attributes["custom_call_target"]]
    extra = {_CONFIG: str(call.attributes.get(_CONFIG, ""))} if meaning.takes_config else {}
    try:
        answer = meaning.function(*map(_read_only, values), **extra)
    except Exception as error:
        raise _wrong(call, meaning, f"raised {type(error).__name__}: {error}") from error
    is_tuple = isinstance(call.shape, TupleShape)
    shapes = call.shape.elements if isinstance(call.shape, TupleShape) else (call.shape,)
    results = answer if isinstance(answer, (tuple, list)) else (answer,)
    if len(results) != len(shapes):
        raise _wrong(call, meaning, f"gave {len(results)} arrays, the program says {call.shape}")
    arrays = [_checked(call, meaning, *pair) for pair in zip(results, shapes, strict=True)]
    return tuple(arrays) if is_tuple else arrays[0]


def _read_only(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_read_only, value))
    view = np.asarray(value).view()
    view.flags.writeable = False
    return view


def _checked(call: Instruction, meaning: Meaning, result: Any, shape: Any) -> np.ndarray[Any, Any]:
    if not isinstance(shape, ArrayShape):
        raise call.unsupported("only arrays, and tuples of arrays, can be given by a function")
    try:
        array = np.array(result, order="C")
    except ValueError as error:
        raise _wrong(call, meaning, f"gave what is no array: {error}") from error
    if array.dtype != shape.element_type.dtype or array.shape != shape.dims:
        taken = f"{shape.element_type.dtype}{list(shape.dims)}"
        raise _wrong(call, meaning, f"gave {array.dtype}{list(array.shape)}, the program says {shape}: give {taken}")
    return array


def _wrong(call: Instruction, meaning: Meaning, what: str) -> InputError:
    target = call.attributes["custom_call_target"]
    return InputError(f"custom-call to {target!r} ({call.name}): its function {meaning.name} {what}")
