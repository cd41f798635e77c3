"""Messages such as `ConfigProto`: fields by a table, made when they are first asked for, as protocol buffers have them.

Sessions' options are such messages in TensorFlow, and programs set `config.graph_options.optimizer_options.x`:
nothing else of protocol buffers is needed for that, and so the library is not.  A field that is not in the table is an
error, as it is there: an option that is misspelled, or that is not heard here, would else be lost.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

SCALARS = (bool, int, float, str, bytes)


class Repeated(list[Any]):
    """A field of several messages or values; `add` makes another message."""

    def __init__(self, kind: Any, values: Iterable[Any] = ()) -> None:
        super().__init__(values)
        self._kind = kind

    def add(self, **fields: Any) -> Any:
        """One more message, with these fields."""
        made = self._kind(**fields)
        self.append(made)
        return made


class Message:
    """A message; a subclass says its `FIELDS`: a default, a class of messages, or a list of either."""

    FIELDS: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, **fields: Any) -> None:
        self._values: dict[str, Any] = {}
        for name, value in fields.items():
            if name not in self.FIELDS:
                raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
            self._give(name, value)

    def __getattr__(self, name: str) -> Any:
        kind = type(self).FIELDS.get(name, Message)
        if kind is Message:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if name not in self._values and not isinstance(kind, SCALARS):
            self._values[name] = _made(kind)
        return self._values.get(name, kind)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        if name not in self.FIELDS:
            raise AttributeError(f'Assignment not allowed (no field "{name}" in protocol message object).')
        kind = self.FIELDS[name]
        if not isinstance(kind, SCALARS):
            said = "repeated" if isinstance(kind, list) else "map" if isinstance(kind, dict) else "message"
            raise AttributeError(f'Assignment not allowed to {said} field "{name}" in protocol message object.')
        self._values[name] = _checked(type(self).__name__, name, kind, value)

    def _give(self, name: str, value: Any) -> None:
        kind = self.FIELDS[name]
        if isinstance(kind, SCALARS):
            setattr(self, name, value)
        elif isinstance(kind, list):
            self._values[name] = Repeated(kind[0], value)
        elif isinstance(kind, dict):
            self._values[name] = dict(value)
        elif value is not None:
            if not isinstance(value, kind):
                raise TypeError(f"Parameter to initialize message field must be a {kind.__name__}, not {value!r}")
            self._values[name] = copy.deepcopy(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.set_fields() == other.set_fields()

    __hash__ = None  # type: ignore[assignment]  # messages change

    def __deepcopy__(self, memo: dict[int, Any]) -> Message:
        made = type(self)()
        made._values = copy.deepcopy(self._values, memo)  # noqa: SLF001 - of its own class
        return made

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines(""))

    __repr__ = __str__

    def _lines(self, indent: str) -> Iterable[str]:
        for name, value in self.set_fields().items():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, Message):
                    yield f"{indent}{name} {{"
                    yield from one._lines(indent + "  ")  # noqa: SLF001 - of its own class
                    yield f"{indent}}}"
                else:
                    yield f"{indent}{name}: {_spelled(one)}"

    def set_fields(self) -> dict[str, Any]:
        """The fields that say something."""
        said = {name: self._values[name] for name in self.FIELDS if name in self._values}
        return {
            name: value
            for name, value in said.items()
            if (value.set_fields() if isinstance(value, Message) else value != _empty(self.FIELDS[name]))
        }

    def HasField(self, name: str) -> bool:
        """Whether a message is set."""
        return name in self._values

    def CopyFrom(self, other: Message) -> None:
        """Become what another message is.

        Raises:
            TypeError: it is of another class.
        """
        if type(other) is not type(self):
            raise TypeError(f"Parameter to CopyFrom() must be instance of same class: expected {type(self).__name__}.")
        self._values = copy.deepcopy(other._values)


def _made(kind: Any) -> Any:
    if isinstance(kind, list):
        return Repeated(kind[0])
    return {} if isinstance(kind, dict) else kind()


def _empty(kind: Any) -> Any:
    return kind if isinstance(kind, SCALARS) else type(kind)()


def _checked(message: str, name: str, kind: Any, value: Any) -> Any:
    """A value of a field of the kind of its default; an option given as another kind is an error at once."""
    wanted = type(kind)
    if isinstance(kind, bool):
        fits = isinstance(value, bool | int)
    elif isinstance(kind, int):
        fits = isinstance(value, int) or hasattr(value, "__index__")
    else:
        fits = isinstance(value, int | float) if isinstance(kind, float) else isinstance(value, wanted)
    if not fits:
        raise TypeError(f"bad argument type for built-in operation: {message}.{name} is a {wanted.__name__}: {value!r}")
    return wanted(value)


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
