"""What can go wrong, and how it is said.

Everything a user can cause is a `CompilerError`: it names what was given, what is wrong and what to do, and, where
there is a text to point into, shows the line with a caret beneath it.  Anything else that is raised is a bug of ours
and must surface as such.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_LONGEST_EXCERPT = 160
"""Characters of a source line that a message shows around the place."""
_LONGEST_WORD = 80
"""Characters of a word that are compared: difflib takes time by the square."""
_MOST_COMPARED = 5000
"""Names that a word is compared with, so that a message takes milliseconds."""
_LIKENESS = 0.6
"""The share of characters that a name has in common with what was meant (difflib's own default)."""


def did_you_mean(word: str, known: Iterable[str], likeness: float = _LIKENESS) -> str:
    """The end of a message about a word that is none of those known: the nearest of them, if any is as like as that.

    Args:
        word: what was written.
        known: what there is.
        likeness: how alike a word must be, from 0 to 1.
    """
    candidates = list(known)[:_MOST_COMPARED]
    near = difflib.get_close_matches(word[:_LONGEST_WORD], candidates, 3, likeness)
    return f"; did you mean {' or '.join(near)}?" if near else ""


class CompilerError(Exception):
    """Base of every error that the input, and not this compiler, is to blame for."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters in a source text; `start` and `end` count characters from 0."""

    filename: str
    text: str
    start: int
    end: int

    @property
    def line(self) -> int:
        """The line number, from 1."""
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The column number, from 1."""
        return self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1

    def render(self, message: str) -> str:
        """The message after `file:line:column`, then the source line and a caret below the range."""
        begin = self.text.rfind("\n", 0, self.start) + 1
        stop = self.text.find("\n", self.start)
        stop = len(self.text) if stop < 0 else stop
        offset = self.start - begin
        first = begin + max(0, offset - _LONGEST_EXCERPT // 2)
        excerpt = self.text[first : min(stop, first + _LONGEST_EXCERPT)]
        width = max(1, min(self.end, first + len(excerpt)) - self.start)
        shown = "".join(c if c.isprintable() else " " for c in excerpt)
        caret = " " * (self.start - first) + "^" * width
        where = f"{self.filename}:{self.line}:{self.column}: {message}"
        return "\n".join(line.rstrip() for line in (where, f"  {shown}", f"  {caret}"))


class ParseError(CompilerError):
    """Text that is not HLO; carries the place where reading stopped making sense."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(span.render(message))
        self.message = message
        self.span = span


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of one verifier rule; `cause` is what was raised about it, if anything."""

    rule: str
    where: str
    message: str
    span: Span | None = None
    cause: Exception | None = field(default=None, compare=False, repr=False)

    def render(self) -> str:
        """`where: message [rule]`, preceded by the source line when it is known."""
        text = f"{self.where}: {self.message} [{self.rule}]"
        return self.span.render(text) if self.span else text


class VerifyError(CompilerError):
    """A module, or what else `what` names, that breaks rules; carries every violation found, not only the first."""

    def __init__(self, findings: Sequence[Finding], context: str = "", *, what: str = "module") -> None:
        head = f"{context}: " if context else ""
        count = len(findings)
        head += f"invalid {what}, {count} violation{'s' if count != 1 else ''}"
        super().__init__("\n".join([head, *(finding.render() for finding in findings)]))
        self.findings = tuple(findings)


class UnsupportedError(CompilerError):
    """A valid program that this part of the compiler cannot handle (yet)."""

    def __init__(self, what: str, by: str, reason: str = "") -> None:
        super().__init__(f"{what} is not supported by {by}" + (f": {reason}" if reason else ""))
        self.what = what
        self.by = by
        self.reason = reason


class InputError(CompilerError):
    """Inputs that do not fit the entry computation's parameters, or a value of an option that cannot be used."""


class ShapeError(CompilerError):
    """Operands or attributes that no shape of the result can be inferred from; raised by shape rules."""


BY_RULE_OF = "by the shape rule of "
"""Begins the note on a ShapeError that says whose rule raised it; who reads a traceback sees it, and nobody else."""


class BrokenRule(Exception):
    """A rule of an opcode gives what it must never give: a bug of ours, told by the opcode wherever it is noticed."""

    def __init__(self, opcode: str, what: str, given: str) -> None:
        super().__init__(f"about {opcode}: {what}\n{given}")
        self.opcode = opcode


class BrokenShape(BrokenRule):
    """A shape rule gives what is no shape."""


class BrokenBounds(BrokenRule):
    """A rule of bounds gives none."""
