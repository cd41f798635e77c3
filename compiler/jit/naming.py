"""Names that are free, and those that arguments of functions may have."""

from __future__ import annotations

import re
from collections.abc import Iterable


class Names:
    """Names that are taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """Begin with some."""
        self._taken = set(taken)

    def free(self, name: str) -> str:
        """The name, or else the name with a number; it is taken then."""
        found, number = name, 0
        while found in self._taken:
            number += 1
            found = f"{name}_{number}"
        self._taken.add(found)
        return found


def argument_name(name: str) -> str:
    """A name as arguments of functions are spelled: small letters, digits and `_`, a letter first."""
    spelled = re.sub(r"[^a-z0-9_]", "_", name.lower(), flags=re.ASCII)
    return re.sub(r"^[0-9_]+", "", spelled, flags=re.ASCII) or "unknown"
