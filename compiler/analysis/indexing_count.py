"""Duplication by fusion: the uses that a kernel has of each value that it computes, and so how often it emits it.

So often is the value's code emitted, and run; XLA counts the same (`FusionNodeIndexingEvaluation`).

An elementwise op asks for its operands where it is asked for itself.  Anything else is a use of its own, each
time that it is asked: of ten sums of an array with itself moved by one, the first would be wanted at a thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.analysis.updates import is_elementwise
from compiler.ir.module import Instruction


def common(users: Mapping[Instruction, object], members: Mapping[Instruction, object]) -> list[Instruction]:
    """The users that are members, by way of the fewer: a number such as 0 has thousands of users in a large program."""
    fewer, more = (users, members) if len(users) <= len(members) else (members, users)
    return [instruction for instruction in fewer if instruction in more]


class IndexingCount:
    """The members of a group, each added after those of its users that are members."""

    __slots__ = ("_askers", "_counts")

    def __init__(self, roots: Iterable[Instruction]) -> None:
        self._askers: dict[Instruction, frozenset[Instruction | None]] = {}
        self._counts: dict[Instruction | None, int] = {None: 1}
        for root in roots:
            self._askers[root], self._counts[root] = frozenset((None,)), 1

    def of(self, value: Instruction) -> int:
        """The number of times that the members ask for a value."""
        return sum(self._counts[asker] for asker in self._asked_by(value))

    def add(self, member: Instruction) -> None:
        """Count what a value asks for, now that it is a member."""
        self._askers[member] = askers = self._asked_by(member)
        self._counts[member] = sum(self._counts[asker] for asker in askers)

    def _asked_by(self, value: Instruction) -> frozenset[Instruction | None]:
        """The members on whose behalf a value is asked for, None for a root's own."""
        users = common(value.users, self._askers)
        asked = [self._askers[user] if is_elementwise(user) else frozenset((user,)) for user in users]
        return frozenset().union(*asked)
