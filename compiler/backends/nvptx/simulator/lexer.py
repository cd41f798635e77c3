"""PTX text to tokens.

A word takes its dotted tail with it (`ld.global.nc.v4.b32`, `%tid.x`), because no rule of the grammar looks inside
one; the parser splits where it must.  Comments and white space vanish.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from compiler.diagnostics import ParseError, Span

_TOKEN = re.compile(
    r"""
      (?P<skip> \s+ | //[^\n]* | /\*.*?\*/ | \#[^\n]* )
    | (?P<string> "[^"\n]*" )
    | (?P<number> 0[fF][0-9a-fA-F]{8}\b | 0[dD][0-9a-fA-F]{16}\b | 0[xX][0-9a-fA-F]+U?\b | 0[bB][01]+U?\b
        | \d+\.\d*(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+ | \d+U?\b )
    | (?P<directive> \.[A-Za-z_]\w* (?: ::\w+ )* )
    | (?P<word> [A-Za-z_$%][\w$]* (?: ::\w+ | \.[A-Za-z0-9_]\w* )* )
    | (?P<mark> [{}()\[\]<>;:,=@!|+\-*] )
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token and where it begins; the kind is `end` after the last one."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where the token ends."""
        return self.start + len(self.text)


def tokens_from(text: str, filename: str, position: int = 0) -> Iterator[Token]:
    """The tokens of a text from a place on, closed by one of kind `end`; each is read when it is asked for.

    Args:
        text: of a PTX module.
        filename: for messages.
        position: where the first token begins, or blanks before it.

    Raises:
        ParseError: a character begins no token.
    """
    for match in _TOKEN.finditer(text, position):
        if match.start() != position:
            break
        position = match.end()
        kind = match.lastgroup
        if kind != "skip":
            yield Token(kind or "", match.group(), match.start())
    if position != len(text):
        span = Span(filename, text, position, position + 1)
        raise ParseError(f"{text[position]!r} begins no PTX token", span)
    yield Token("end", "", len(text))
