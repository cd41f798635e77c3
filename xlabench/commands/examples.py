"""The end of a command's help: the command as people type it, and below each line what it is for."""

from __future__ import annotations

import textwrap

_AS_IT_IS = "\b"
"""Keeps click from filling the lines."""


def examples(text: str) -> str:
    """An epilog of examples."""
    return f"{_AS_IT_IS}\nExamples:\n{textwrap.indent(text.strip(), '  ')}"
