"""Reading HLO text from the left, one regular expression at a time.

There is no stream of tokens: every reader matches what it expects at the current place, white space and comments
included, so that Python runs a few steps per instruction and none per character.  Positions become lines and columns
only when an error is reported.  Patterns are possessive, so no text can make them backtrack for long.  Not so groups
that can fail after their first characters: before 3.11.5 Python keeps what such a possessive group has read
(gh-106052).  What follows those begins otherwise than they do, so they have nothing to go back for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from compiler.diagnostics import ParseError, Span, did_you_mean
from compiler.ir.shape import Shape

T = TypeVar("T")

SPACE = r"(?:[ \t\r\n]++|/\*(?s:.*?)\*/|//[^\r\n]*+)*+"
NAME = r"[A-Za-z_][A-Za-z0-9_.\-]*+"
STRING = r"(?:\"(?:[^\"\\]++|\\(?s:.))*+\"|'(?:[^'\\]++|\\(?s:.))*+')"

MAX_NESTING = 100
"""How deep shapes, literals and computations in braces may nest; real programs do not pass ten."""

RESERVED = frozenset(
    {
        *("true", "false", "inf", "nan", "HloModule", "ENTRY", "ROOT"),
        *("FileLocations", "FileNames", "FunctionNames", "StackFrames"),
        *("maximal", "replicated", "manual", "unknown", "unreduced"),
        *("last_tile_dim_replicate", "shard_as", "shard_like"),
    }
)
"""Words that are a name only behind `%`."""

_LARGEST = 1 << 64
"""One more than the greatest u64: what an attribute holds."""

DIGITS = r"-?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?+\d++)?"
"""A number in decimal."""


def pattern(text: str) -> re.Pattern[str]:
    """A compiled pattern that skips white space and comments first."""
    return re.compile(SPACE + text, re.ASCII)


_SPACE = re.compile(SPACE, re.ASCII)
_NAME = pattern(f"(%?+)({NAME})")
_KEY = pattern(f"({NAME}){SPACE}=")
_INTEGER = pattern(r"(-?\d++)(?![\w.])")
_NUMBER = pattern(rf"({DIGITS}|-?inf|-?nan)(?![\w.])")
_BOOLEAN = pattern(r"(true|false)(?![\w.\-])")
_STRING = pattern(f"({STRING})")
_SHOWN = re.compile(r"[^\s,(){}\[\]=]{1,40}|\S", re.ASCII)
_BRACE = re.compile(r"[{}]|\"(?:[^\"\\]++|\\(?s:.))*+\"|\"", re.ASCII)


class Scanner:
    """A place in a text, and the readers of everything that is one word long."""

    __slots__ = ("depth", "filename", "pos", "shapes", "text")

    def __init__(self, text: str, filename: str) -> None:
        self.text = text
        self.filename = filename
        self.pos = 0
        self.depth = 0
        self.shapes: dict[str, Shape] = {}
        try:
            text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            self.fail("this character is no text: half of a surrogate pair", error.start, error.end)

    def fail(self, message: str, start: int | None = None, end: int | None = None) -> NoReturn:
        """Raise a ParseError at `start` (by default at the next word).

        Args:
            message: what is wrong.
            start: where it begins, by default at the next word.
            end: the place behind it, by default behind what is there.
        """
        if start is None:
            start = self.skip()
        if end is None:
            shown = _SHOWN.match(self.text, start)
            end = shown.end() if shown else start
        raise ParseError(message, Span(self.filename, self.text, start, end))

    def expected(self, what: str) -> NoReturn:
        """Raise a ParseError that says what should stand here, and what does."""
        start = self.skip()
        shown = _SHOWN.match(self.text, start)
        if shown is None:
            self.fail(f"expected {what}, but the text ends here")
        if self.text.startswith("/*", start):
            self.fail("this comment does not end: expected '*/'")
        self.fail(f"expected {what}, not {shown[0]!r}")

    def unknown(self, what: str, word: str, known: Iterable[str], start: int | None = None) -> NoReturn:
        """Raise a ParseError for a word outside a fixed set, naming the nearest ones.

        Args:
            what: the sort of word.
            word: what stands there.
            known: what may stand there.
            start: of the word, by default so far before the scanner.
        """
        known = list(known)
        hint = did_you_mean(word, known)
        if not hint and 0 < len(known) <= 30:
            hint = f"; known: {', '.join(sorted(known))}"
        if start is None:
            start = self.pos - len(word)
        self.fail(f"unknown {what} {word[:80]!r}{hint}", start, start + len(word))

    def skip(self) -> int:
        """Go past white space and comments; returns the place."""
        found = _SPACE.match(self.text, self.pos)
        assert found is not None
        self.pos = found.end()
        return self.pos

    def at(self, token: str) -> bool:
        """Whether a token of punctuation comes next."""
        return self.text.startswith(token, self.skip())

    def accept(self, token: str) -> bool:
        """Go past a token of punctuation if it comes next."""
        if not self.text.startswith(token, self.skip()):
            return False
        self.pos += len(token)
        return True

    def expect(self, token: str, where: str = "") -> None:
        """Go past a token of punctuation that must come next."""
        if not self.accept(token):
            self.expected(f"'{token}'{' ' + where if where else ''}")

    def take(self, what: re.Pattern[str]) -> re.Match[str] | None:
        """Go past a pattern if it comes next."""
        found = what.match(self.text, self.pos)
        if found is not None:
            self.pos = found.end()
        return found

    def name(self, what: str) -> str:
        """A name; the `%` in front is optional unless the word is reserved."""
        found = self.take(_NAME)
        if found is None:
            self.expected(what)
        if not found[1] and found[2] in RESERVED:
            self.fail(f"expected {what}, but {found[2]!r} is a reserved word: write %{found[2]}", found.start(2))
        return found[2]

    def word(self, what: str) -> str:
        """A bare word, reserved or not."""
        found = self.take(_NAME)
        if found is None or found[1]:
            self.expected(what)
        return found[2]

    def accept_word(self, word: str) -> bool:
        """Go past a word if it comes next."""
        found = _NAME.match(self.text, self.pos)
        if found is None or found[1] or found[2] != word:
            return False
        self.pos = found.end()
        return True

    def key(self, what: str) -> str:
        """The name in front of a `=`, which is passed too."""
        found = self.take(_KEY)
        if found is None:
            self.expected(f"{what} and '='")
        return found[1]

    def integer(self, what: str = "an integer") -> int:
        """An integer of 64 bits; numbers above 2^63 wrap, as they do in XLA."""
        found = self.take(_INTEGER)
        if found is None:
            self.expected(what)
        digits = found[1]
        value = int(digits) if len(digits) <= 20 else _LARGEST
        if not -(_LARGEST >> 1) <= value < _LARGEST:
            self.fail(f"integer {digits[:24]}{'...' if len(digits) > 24 else ''} does not fit 64 bits", found.start(1))
        return value if value < _LARGEST >> 1 else value - _LARGEST

    def number(self, what: str = "a number") -> float:
        """A floating-point number of 64 bits."""
        found = self.take(_NUMBER)
        if found is None:
            self.expected(what)
        value = float(found[1])
        if value in (float("inf"), float("-inf")) and "inf" not in found[1]:
            self.fail("this number is out of range for 64 bits", found.start(1))
        return value

    def boolean(self) -> bool:
        """`true` or `false`."""
        found = self.take(_BOOLEAN)
        if found is None:
            self.expected("true or false")
        return found[1] == "true"

    def string(self, what: str = "a string in quotes") -> str:
        """A string with C escapes; bytes that are no UTF-8 become lone surrogates."""
        found = self.take(_STRING)
        if found is None:
            self.expected(what)
        raw = found[1]
        if "\\" not in raw:
            return raw[1:-1]
        return self._unescape(raw[1:-1], found.start(1) + 1)

    def _unescape(self, raw: str, start: int) -> str:
        pieces: list[bytes] = []
        last = 0
        for found in _ESCAPE.finditer(raw):
            pieces.append(raw[last : found.start()].encode("utf-8", "surrogateescape"))
            value = _escaped(found[1])
            if value is None:
                self.fail(f"unknown escape {found[0]!r} in a string", start + found.start(), start + found.end())
            pieces.append(value)
            last = found.end()
        pieces.append(raw[last:].encode("utf-8", "surrogateescape"))
        return b"".join(pieces).decode("utf-8", "surrogateescape")

    def braced(self, what: str) -> str:
        """The text from `{` to its `}`, both included; strings inside may hold braces."""
        start = self.skip()
        if not self.text.startswith("{", start):
            self.expected(f"'{{' that begins {what}")
        end = closing_brace(self.text, start)
        if end < 0:
            self.fail(f"the '{{' that begins {what} has no '}}'", start)
        self.pos = end
        return self.text[start:end]

    def items(self, begin: str, end: str, read: Callable[[], T], separator: str = ",") -> tuple[T, ...]:
        """A list of anything between two tokens.

        Args:
            begin: the token before it.
            end: the token behind it.
            read: reads one.
            separator: what stands between two.
        """
        self.expect(begin)
        if self.accept(end):
            return ()
        found = [read()]
        while self.accept(separator):
            found.append(read())
        if not self.accept(end):
            self.expected(f"'{separator}' or '{end}'")
        return tuple(found)

    def integers(self, begin: str = "{", end: str = "}") -> tuple[int, ...]:
        """`{1,2,3}`."""
        return self.items(begin, end, self.integer)

    def nested(self, read: Callable[[], T], what: str) -> T:
        """Read something that may hold things of its own kind, no deeper than `MAX_NESTING`."""
        if self.depth >= MAX_NESTING:
            self.fail(f"{what} is nested more than {MAX_NESTING} levels deep")
        self.depth += 1
        value = read()
        self.depth -= 1
        return value


def closing_brace(text: str, start: int, tokens: re.Pattern[str] = _BRACE) -> int:
    """The place behind the `}` that closes the `{` at `start`, -1 if there is none.

    Args:
        text: any.
        start: the place of a `{`.
        tokens: matches braces, and what may hold braces that do not count: strings, unless told otherwise.
    """
    depth = 0
    for found in tokens.finditer(text, start):
        if found[0] == "{":
            depth += 1
        elif found[0] == "}":
            depth -= 1
            if depth == 0:
                return found.end()
        elif found[0] == '"':
            return -1
    return -1


_ESCAPE = re.compile(r"\\([0-7]{1,3}|[xX][0-9a-fA-F]{1,8}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|(?s:.))")
_SIMPLE = {
    "n": b"\n",
    "t": b"\t",
    "r": b"\r",
    "a": b"\a",
    "b": b"\b",
    "f": b"\f",
    "v": b"\v",
    "\\": b"\\",
    "'": b"'",
    '"': b'"',
    "?": b"?",
}
_PRINTED = {code: f"\\{code:03o}" for code in (*range(32), *range(127, 256))} | {
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord('"'): '\\"',
    ord("'"): "\\'",
    ord("\\"): "\\\\",
}


def _escaped(code: str) -> bytes | None:
    """What one escape sequence, without its backslash, stands for."""
    if code in _SIMPLE:
        return _SIMPLE[code]
    if code[0] in "01234567":
        value = int(code, 8)
        return bytes([value]) if value < 256 else None
    if len(code) == 1:
        return None
    value = int(code[1:], 16)
    if code[0] in "xX":
        return bytes([value]) if value < 256 else None
    return chr(value).encode() if value < 0x110000 and not 0xD800 <= value < 0xE000 else None


def quoted(value: str) -> str:
    """A string in double quotes, escaped as XLA escapes it."""
    if value.isascii() and value.isprintable() and not any(c in value for c in "\"'\\"):
        return f'"{value}"'
    return '"' + value.encode("utf-8", "surrogateescape").decode("latin-1").translate(_PRINTED) + '"'


def spelled(name: str, type_names: Any = ()) -> str:
    """A name as it must be written: with `%` where the bare word would mean something else."""
    return "%" + name if name in RESERVED or name in type_names else name
