"""The smallest program that still fails in the same way: a greedy search over edits, each tried on the real thing.

The search knows nothing of engines: a predicate says whether a case is still bad, and another function what the values
inside a case are.  *Moves* (`xlabench.diagnosis.moves`) propose what to try: lists of places where one kind of edit is
possible.  A move is first tried everywhere at once, then on halves, quarters and so on (as in delta debugging), and
what succeeds is kept at once, since an edit of one place does not make those of others impossible.

- A candidate must be valid and *cheaper* (fewer instructions, then parameters, elements, simpler types and values), so
  the search ends; only then is the predicate asked.
- No question is asked twice: cases are known by a hash that does not see names.
- What the predicate remembers of the failure (its class, the blamed rewrite) keeps the search from slipping to another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xlabench.diagnosis.case import Case, Values
from xlabench.diagnosis.moves import MOVES, Item, Move, cost, neighbourhoods, prefix, suffix

Predicate = Callable[[Case], bool]
Record = Callable[[Case], Values]

_MOST_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Progress:
    """One success of the search."""

    move: str
    probes: int
    instructions: int


@dataclass(frozen=True, slots=True)
class Reduction:
    """The result; `exhausted` if the search stopped for want of probes."""

    case: Case
    probes: int
    exhausted: bool
    history: tuple[Progress, ...]


def reduce(
    case: Case,
    is_bad: Predicate,
    record: Record,
    *,
    max_probes: int = 400,
    focus: Sequence[tuple[str, str]] = (),
    report: Callable[[Progress], None] = lambda _: None,
) -> Reduction:
    """Make a bad case smaller for as long as it stays bad; `focus` are places to look near first."""
    search = _Search(case, is_bad, record, max_probes, report)
    for candidate in neighbourhoods(case, focus, search.values()):
        if search.accept("neighbourhood", candidate):
            break
    search.bisect("prefix", prefix)
    search.bisect("suffix", suffix)
    for _ in range(_MOST_ROUNDS):
        before = search.case
        for move in MOVES:
            search.run(move)
        if search.case is before or search.is_spent:
            break
    return Reduction(search.case, search.probes, search.is_spent, tuple(search.history))


@dataclass(slots=True)
class _Search:
    case: Case
    is_bad: Predicate
    record: Record
    max_probes: int
    report: Callable[[Progress], None]
    probes: int = 0
    known: dict[str, bool] = field(default_factory=dict)
    history: list[Progress] = field(default_factory=list)
    _values: Values | None = None

    @property
    def is_spent(self) -> bool:
        return self.probes >= self.max_probes

    def values(self) -> Values:
        """The values inside the case as it is now."""
        if self._values is None:
            self._values = self.record(self.case)
        return self._values

    def accept(self, name: str, candidate: Case | None) -> bool:
        """Take a candidate if it is cheaper and bad."""
        if candidate is None or self.is_spent or cost(candidate) >= cost(self.case):
            return False
        key = candidate.key()
        if key not in self.known:
            self.probes += 1
            self.known[key] = self.is_bad(candidate)
        if not self.known[key]:
            return False
        self.case, self._values = candidate, None
        self.history.append(Progress(name, self.probes, cost(candidate)[0]))
        self.report(self.history[-1])
        return True

    def run(self, move: Move) -> None:
        """Try a move on ever smaller parts of its items."""
        items = list(move.items(self.case, self.values()))
        size = len(items) if move.together else 1
        while size >= 1:
            for start in range(0, len(items), size):
                if self.is_spent:
                    return
                self._try(move, items[start : start + size])
            items = [item for item in items if move.applies(self.case, item)]
            size = min(size, len(items)) // 2 if size > 1 else 0

    def _try(self, move: Move, items: Iterable[Item]) -> None:
        present = [item for item in items if move.applies(self.case, item)]
        if present:
            self.accept(move.name, move.apply(self.case, present, self.values()))

    def bisect(self, name: str, cut: Callable[[Case, int, Values], Case | None]) -> None:
        """Find the smallest part that is bad, as if badness only grew with size; where it does not, no harm is done."""
        start = self.case
        values = self.values()
        low, high = 0, len(start.module.entry.instructions)
        while high - low > 1 and not self.is_spent:
            middle = (low + high) // 2
            if self.accept(name, cut(start, middle, values)):
                high = middle
            else:
                low = middle
