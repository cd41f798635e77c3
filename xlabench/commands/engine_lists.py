"""Lists of engine specs on a command line: `--engines` and its like, in one form everywhere.

Spaces separate specs.  Commas do too where that can be told, since they also stand between the options of one spec:
what follows a comma is another spec if it begins with the name of an engine, and else an option of the spec before it.
(A device may be called like an engine, as in `xla:cpu`; that comes first in a spec, so no comma stands before it.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from xlabench.engines import ENGINES
from xlabench.errors import BenchError, Undecidable

FORM = "Engine specs, separated by spaces or commas, or given one by one"


def engines_option(default: Sequence[str] = (), note: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--engines`, as a tuple of texts for `engines_of`; `note` says what comes without it, if that is no default."""
    return click.option(
        "--engines",
        multiple=True,
        default=tuple(default),
        metavar="SPECS",
        help=f"{FORM}.  [default: {note or ' '.join(default)}]",
    )


def engines_of(given: Iterable[str], normal: Callable[[str], str], option: str = "--engines") -> tuple[str, ...]:
    """The specs of a list as `normal` writes them.

    Args:
        given: the option's values, each a list.
        normal: writes a spec in its usual form, and refuses bad ones.
        option: its name, for messages.

    Raises:
        BenchError: there is none, or one is not known, or one is given twice.
        Undecidable: `normal` says that one is not installed.
    """
    texts = list(given)
    specs = tuple(_normal(spec, normal, texts, option) for spec in split(texts))
    if not specs:
        raise BenchError(f"{option}: no engine is named; give one at least, such as cpu, or leave the option out")
    if len(set(specs)) != len(specs):
        raise BenchError(f"{option} {' '.join(texts)}: an engine is given twice; give each once")
    return specs


def split(texts: Iterable[str]) -> list[str]:
    """The specs of a list, as they are written."""
    return [spec for text in texts for word in text.split() for spec in _by_commas(word)]


def _by_commas(word: str) -> list[str]:
    specs: list[str] = []
    for piece in filter(None, word.split(",")):
        is_option = specs and ":" in specs[-1] and piece.partition(":")[0] not in ENGINES
        if is_option:
            specs[-1] += f",{piece}"
        else:
            specs.append(piece)
    return specs


def _normal(spec: str, normal: Callable[[str], str], texts: Sequence[str], option: str) -> str:
    try:
        return normal(spec)
    except Undecidable:
        raise
    except BenchError as error:
        if not any("," in text for text in texts):
            raise
        raise BenchError(
            f"{error}; a comma also stands between options, which follow a colon: separate engines by spaces, "
            f"such as {option} 'cpu:threads=1,opt=0 reference'"
        ) from error
