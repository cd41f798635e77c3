"""Partial shapes: what a graph says of a tensor's sizes before it runs.

A size may be unknown, and so may the number of dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PartialShape:
    """Sizes, None for one that is unknown; `dims` itself is None where not even their number is known.

    `names` are those that a file gives to dimensions; they mean nothing, and are kept to be written back.
    """

    dims: tuple[int | None, ...] | None
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.dims is None:
            return "<unknown>"
        return "[" + ",".join("?" if size is None else str(size) for size in self.dims) + "]"

    @property
    def static(self) -> tuple[int, ...] | None:
        """The sizes where all are known, else None."""
        if self.dims is None:
            return None
        known = tuple(size for size in self.dims if size is not None)
        return known if len(known) == len(self.dims) else None
