"""A reading position in a PTX text: what both halves of the parser stand on.

Tokens are read as they are asked for, since most of a text is instructions that are read without them (`body`).
"""

from __future__ import annotations

from typing import NoReturn

from compiler.backends.nvptx.simulator.lexer import Token, tokens_from
from compiler.backends.nvptx.simulator.syntax import TYPE_BITS, Immediate
from compiler.diagnostics import ParseError, Span


class Cursor:
    """Looks at and takes tokens, and knows how to complain about them."""

    def __init__(self, text: str, filename: str) -> None:
        self.text = text
        self.filename = filename
        self._pending = tokens_from(text, filename)
        self._tokens = [next(self._pending)]
        self._at = 0

    @property
    def token(self) -> Token:
        """The next token, not yet taken."""
        return self._tokens[self._at]

    @property
    def following(self) -> Token:
        """The token after the next one."""
        if self.token.kind != "end" and self._at + 1 == len(self._tokens):
            self._tokens.append(next(self._pending))
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    @property
    def last(self) -> Token:
        """The token taken last."""
        return self._tokens[max(self._at - 1, 0)]

    def take(self) -> Token:
        """Take the next token; the end of the text is never taken."""
        token = self.token
        if token.kind == "end":
            self.fail("the text ends in the middle of a declaration or function")
        self._advance()
        return token

    def _advance(self) -> None:
        self._at += 1
        if self._at == len(self._tokens):
            self._tokens.append(next(self._pending))

    def pass_over(self, end: int) -> None:
        """Go on behind statements that were read without tokens, the last of which ends there."""
        self._pending = tokens_from(self.text, self.filename, end)
        self._tokens, self._at = [Token("mark", ";", end - 1), next(self._pending)], 1

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these."""
        token = self._tokens[self._at]
        return token.text in texts and token.kind != "string"

    def accept(self, text: str) -> bool:
        """Take the next token if it is this one."""
        token = self._tokens[self._at]
        if token.text != text or token.kind == "string":
            return False
        self._advance()
        return True

    def expect(self, text: str) -> Token:
        """Take a token that must be this one."""
        if not self.at(text):
            self.fail(f"expected {text!r}, found {self._found()}")
        return self.take()

    def name(self, what: str) -> Token:
        """Take a word."""
        if self.token.kind != "word":
            self.fail(f"expected {what}, found {self._found()}")
        return self.take()

    def type(self) -> str:
        """Take a type directive such as `.f32`."""
        word = self.token.text[1:]
        if self.token.kind != "directive" or word not in TYPE_BITS:
            self.fail(f"expected a type such as .b32, found {self._found()}")
        self.take()
        return word

    def integer(self, what: str) -> int:
        """Take an integer, with its sign."""
        start = self.token
        value = self.number()
        if not isinstance(value, int):
            self.fail(f"expected {what}, an integer, found {start.text!r}", start)
        return value

    def number(self) -> int | float | Immediate:
        """Take a number with its sign; the hexadecimal float forms come back as an `Immediate`."""
        if self.accept("-"):
            value = self.number()
            if isinstance(value, Immediate):
                self.fail("a sign in front of a hexadecimal float; set its top bit instead")
            return -value
        if self.token.kind != "number":
            self.fail(f"expected a number, found {self._found()}")
        read = _number(self.take().text)
        if read is None:
            self.fail("a number that begins with 0 is octal, and this is none", self.last)
        return read

    def skip_line(self) -> None:
        """Pass over all tokens on the line of the token taken last."""
        end = self.text.find("\n", self.last.start)
        end = len(self.text) if end < 0 else end
        while self.token.kind != "end" and self.token.start < end:
            self.take()

    def skip_braces(self) -> None:
        """Pass over a balanced `{ ... }`."""
        self.expect("{")
        depth = 1
        while depth:
            token = self.take()
            depth += {"{": 1, "}": -1}.get(token.text, 0)

    def span(self, first: Token, last: Token | None = None) -> Span:
        """The text from one token to another."""
        return Span(self.filename, self.text, first.start, max((last or first).end, first.start + 1))

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        """Raise a `ParseError` at a token, the next one if none is given."""
        raise ParseError(message, self.span(token or self.token))

    def _found(self) -> str:
        return repr(self.token.text) if self.token.kind != "end" else "the end of the text"


def _number(text: str) -> int | float | Immediate | None:
    if text[:2] in ("0f", "0F"):
        return Immediate(int(text[2:], 16), 32)
    if text[:2] in ("0d", "0D"):
        return Immediate(int(text[2:], 16), 64)
    text = text.removesuffix("U")
    if "." in text or ("e" in text.lower() and text[:2].lower() != "0x"):
        return float(text)
    if len(text) > 1 and text[0] == "0" and text.isdigit():
        return int(text, 8) if set(text) <= set("01234567") else None
    return int(text, 0)
