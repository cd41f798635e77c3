"""Meanings that the user gives to custom calls, in this process and in all that it starts.

They travel in an environment variable, which workers and scripts of bundles inherit.  What a bundle records of them is
only for people: a program from a stranger never says which code is loaded here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import compiler
from xlabench.errors import Undecidable
from xlabench.startup import CUSTOM_CALLS

_OWN = frozenset(compiler.generate.MEANINGS)
_TARGET = re.compile(r'custom_call_target="((?:[^"\\]|\\.)*)"')


def use(texts: Sequence[str]) -> None:
    """Register what texts `NAME=module:function` say, here and in processes to come, beside what is there already."""
    loaded = compiler.load_custom_calls(texts)
    known = {text.partition("=")[0]: text for text in (*_in_use(), *loaded)}
    os.environ[CUSTOM_CALLS] = "\n".join(known.values())


def use_own() -> None:
    """Register what the calls mean that programs of campaigns make: code of ours, which nobody has to give."""
    if not set(_in_use()) >= _OWN:
        use(sorted(_OWN))


def use_inherited() -> None:
    """Register what the environment says."""
    use(_in_use())


def recorded(module_text: str) -> list[str]:
    """The meanings that a program's calls have here, as people would give them; without folders, as machines differ."""
    called = set(_TARGET.findall(module_text))
    return [_without_folder(text) for text in _in_use() if text.partition("=")[0] in called]


def require(meanings: Sequence[str], origin: Path) -> None:
    """Refuse to go on without a meaning that a program had elsewhere; ours are there."""
    if any(text in _OWN for text in meanings):
        use_own()
    here = {text.partition("=")[0] for text in _in_use()}
    missing = [text for text in meanings if text.partition("=")[0] not in here]
    if missing:
        given = " ".join(f"--custom-call {text}" for text in missing)
        raise Undecidable(
            f"{origin}: its program calls what only you can give a meaning; it was run with {given}: give the same "
            "where you have and trust that code"
        )


def _in_use() -> list[str]:
    return [text for text in os.environ.get(CUSTOM_CALLS, "").split("\n") if text]


def _without_folder(text: str) -> str:
    target, _, location = text.partition("=")
    return f"{target}={location.rpartition('/')[2]}"
