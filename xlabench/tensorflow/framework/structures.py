"""Structures of values: lists, tuples, named tuples and dictionaries taken apart, and put together again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any


def flattened(structure: Any) -> list[Any]:
    """The leaves of a structure, dictionaries in the order of their keys; None is none."""
    if isinstance(structure, Mapping):
        return [leaf for key in sorted(structure) for leaf in flattened(structure[key])]
    if isinstance(structure, list | tuple):
        return [leaf for one in structure for leaf in flattened(one)]
    return [] if structure is None else [structure]


def leaves(values: Iterable[Any]) -> Iterator[Any]:
    """What lists and tuples hold at any depth, in order; None is a leaf, too, and so is a dictionary."""
    for one in values:
        if isinstance(one, list | tuple):
            yield from leaves(one)
        else:
            yield one


def packed(structure: Any, leaves: Sequence[Any]) -> Any:
    """Leaves in the structure of another value."""
    return _packed(structure, iter(leaves))


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(structure, Mapping):
        made = {key: _packed(structure[key], leaves) for key in sorted(structure)}
        return type(structure)((key, made[key]) for key in structure)  # type: ignore[call-arg]  # as dict
    if isinstance(structure, list | tuple):
        items = [_packed(one, leaves) for one in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)
    return None if structure is None else next(leaves)
