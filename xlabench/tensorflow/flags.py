"""`tf.app.flags`: options of a program, `--name=value`, that are read when one of them is first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_BOOLEANS = {"true": True, "t": True, "1": True, "yes": True, "false": False, "f": False, "0": False, "no": False}


class Error(Exception):
    """Flags that make no sense."""


class UnrecognizedFlagError(Error):
    """A flag that nobody defines."""


class IllegalFlagValueError(Error):
    """A value that is none of the flag's type."""


class FlagValues:
    """The flags of a program."""

    def __init__(self) -> None:
        self._readers: dict[str, Callable[[str], Any]] = {}
        self._values: dict[str, Any] = {}
        self._is_parsed = False

    def define(self, name: str, default: Any, read: Callable[[str], Any]) -> None:
        """Know the flag `--name`, whose value is `default` until `read` has made another of the text on a command line.

        A default that is text is read, too.
        """
        self._readers[name] = read
        self._values[name] = read(default) if isinstance(default, str) else default

    def is_defined(self) -> bool:
        """Whether there is any flag."""
        return bool(self._readers)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Read a command line; what is no flag is left.

        Raises:
            UnrecognizedFlagError: nobody defines a flag.
            IllegalFlagValueError: a value is none of the flag's type.
        """
        self._is_parsed = True
        rest, words = list(argv[:1]), iter(argv[1:])
        for word in words:
            if word == "--":
                rest += words
            elif word.startswith("-") and len(word) > 1:
                self._read(word, words, rest, known_only=known_only)
            else:
                rest.append(word)
        return rest

    def _read(self, word: str, words: Iterator[str], rest: list[str], *, known_only: bool) -> None:
        name, equals, value = word.lstrip("-").partition("=")
        if name not in self._readers and name.startswith("no") and self._readers.get(name[2:]) is read_boolean:
            self._values[name[2:]] = False
        elif name not in self._readers:
            if not known_only:
                raise UnrecognizedFlagError(f"Unknown command line flag '{name}'")
            rest.append(word)
        elif not equals and self._readers[name] is read_boolean:
            self._values[name] = True
        else:
            text = value if equals else next(words, None)
            if text is None:
                raise Error(f"Missing value for flag {word}")
            try:
                self._values[name] = self._readers[name](text)
            except ValueError as error:
                raise IllegalFlagValueError(f"flag --{name}={text}: {error}") from error

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(name)
        if not self._is_parsed:
            self(sys.argv, known_only=True)
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            self._values[name] = value

    def flag_values_dict(self) -> dict[str, Any]:
        """Every flag's value."""
        return dict(self._values)


FLAGS = FlagValues()


def read_boolean(text: str) -> bool:
    """A truth value as flags spell it.

    Raises:
        ValueError: it is none.
    """
    if text.lower() not in _BOOLEANS:
        raise ValueError("Non-boolean argument to boolean flag")
    return _BOOLEANS[text.lower()]


def _definer(read: Callable[[str], Any], doc: str) -> Callable[..., None]:
    def define(name: str, default: Any, help: str | None = None, **_options: Any) -> None:
        FLAGS.define(name, default, read)

    define.__doc__ = f"The flag `--name`, {doc}, `default` where it is not given; `help` changes nothing."
    return define


DEFINE_string = _definer(str, "text")
DEFINE_integer = _definer(int, "a whole number")
DEFINE_float = _definer(float, "a number")
DEFINE_boolean = DEFINE_bool = _definer(read_boolean, "which is true or false")
DEFINE_list = _definer(lambda text: [one.strip() for one in text.split(",") if one], "words between commas")


def DEFINE_enum(name: str, default: Any, enum_values: Sequence[str], help: str | None = None, **_options: Any) -> None:
    """The flag `--name`, one of the words `enum_values`, `default` where it is not given.

    `help`, and what else TensorFlow's flags take (`_options`), changes nothing.
    """

    def read(text: str) -> str:
        if text not in enum_values:
            raise ValueError(f"value should be one of <{'|'.join(enum_values)}>")
        return text

    FLAGS.define(name, default, read)
