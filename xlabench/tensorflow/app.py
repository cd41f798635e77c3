"""`tf.app`: flags on the command line, and a program's start."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from xlabench.tensorflow import flags

__all__ = ["flags", "run"]


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Call a program's `main` with what is left of the command line, and end with what it gives."""
    given = list(sys.argv if argv is None else argv)
    rest = flags.FLAGS(given) if flags.FLAGS.is_defined() else given
    chosen = main or sys.modules["__main__"].main
    sys.exit(chosen(rest))
