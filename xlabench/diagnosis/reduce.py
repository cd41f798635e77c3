"""The smallest program that still fails in the same way: a greedy search over edits, each tried on the real thing.

The search knows nothing of engines: a predicate says whether a case is still bad, and another function what the values
inside a case are.  *Moves* (`xlabench.diagnosis.moves`) propose what to try: lists of places where one kind of edit is
possible.  A move is first tried everywhere at once, then on halves, quarters and so on (as in delta debugging), and
what succeeds is kept at once, since an edit of one place does not make those of others impossible.

- A candidate must be valid and *cheaper* (fewer instructions, then parameters, elements, simpler types and values), so
  the search ends, and have one right answer (`xlabench.diagnosis.combiners`) in finite time
  (`xlabench.diagnosis.endless`); only then is the predicate asked.
- No question is asked twice: cases are known by a hash that does not see names.
- With several predicates, all but the first are asked ahead of need what comes next if the answer is no, each in a
  thread of its own.  The result, and the number of probes that it took, are those of asking one by one.
- What the predicate remembers of the failure (its class, the blamed rewrite) keeps the search from slipping to another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from xlabench.diagnosis.case import Case, Recorded, Values
from xlabench.diagnosis.combiners import Form, doubtful
from xlabench.diagnosis.endless import is_endless
from xlabench.diagnosis.moves import LAST, MOVES, Item, Move, cost
from xlabench.diagnosis.slices import neighbourhoods, prefix, suffix

Predicate = Callable[[Case], bool]
Record = Callable[[Case], Recorded]


@dataclass(frozen=True, slots=True)
class Progress:
    """One success of the search."""

    move: str
    probes: int
    instructions: int


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who is told of each success, and may want an end: then the search stops after the probe at hand."""

    report: Callable[[Progress], None] = lambda _: None
    wants_an_end: Callable[[], bool] = lambda: False


NOBODY = Watcher()


@dataclass(frozen=True, slots=True)
class Reduction:
    """The result; `exhausted` if the search stopped for want of probes, `interrupted` if it was told to stop."""

    case: Case
    probes: int
    exhausted: bool
    history: tuple[Progress, ...]
    interrupted: bool = False


def reduce(
    case: Case,
    is_bad: Predicate | Sequence[Predicate],
    record: Record,
    *,
    max_probes: int = 400,
    focus: Sequence[tuple[str, str]] = (),
    watcher: Watcher = NOBODY,
) -> Reduction:
    """Make a bad case smaller for as long as it stays bad.

    Args:
        case: what is bad.
        is_bad: says whether a case is, or several that say the same, each asked by one thread only.
        record: gives the values at all places of a case.
        max_probes: questions, at most.
        focus: instructions near which is looked first.
        watcher: is told of progress.
    """
    first, *helpers = is_bad if isinstance(is_bad, Sequence) else [is_bad]
    with _Answers(first, helpers) as answers:
        search = _Search(case, answers, record, max_probes, watcher)
        search.first("neighbourhood", neighbourhoods(case, focus, search.recorded()))
        search.bisect("prefix", prefix)
        search.bisect("suffix", suffix)
        before = None
        while search.case is not before and not search.is_spent:
            before = search.case
            for move in MOVES:
                search.run(move)
        for move in LAST:
            search.run(move)
    is_exhausted = search.probes >= max_probes
    return Reduction(search.case, search.probes, is_exhausted, tuple(search.history), watcher.wants_an_end())


class _Answers:
    """What the predicate says of cases, asked at most once of each; a context manager."""

    def __init__(self, is_bad: Predicate, helpers: Sequence[Predicate]) -> None:
        self._is_bad = is_bad
        self._known: dict[str, bool] = {}
        self._asked: dict[str, Future[bool]] = {}
        self._free: SimpleQueue[Predicate] = SimpleQueue()
        for helper in helpers:
            self._free.put(helper)
        self.ahead = len(helpers)
        self._pool = ThreadPoolExecutor(max(1, self.ahead))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def get(self, key: str, case: Case) -> bool:
        """The answer, from whoever was asked first."""
        if key not in self._known:
            asked = self._asked.pop(key, None)
            self._known[key] = self._is_bad(case) if asked is None or asked.cancel() else asked.result()
        return self._known[key]

    def ask(self, key: str, case: Case) -> None:
        """Let a helper find out what may be wanted next."""
        if key not in self._known and key not in self._asked:
            self._asked[key] = self._pool.submit(self._help, case)

    def _help(self, case: Case) -> bool:
        helper = self._free.get()
        try:
            return helper(case)
        finally:
            self._free.put(helper)


@dataclass(slots=True)
class _Search:
    case: Case
    answers: _Answers
    record: Record
    max_probes: int
    watcher: Watcher
    probes: int = 0
    history: list[Progress] = field(default_factory=list)
    _recorded: Recorded | None = None
    _doubtful: frozenset[Form] = field(init=False)
    _is_endless: bool = field(init=False)

    def __post_init__(self) -> None:
        self._doubtful = doubtful(self.case.module)
        self._is_endless = is_endless(self.case.module)

    @property
    def is_spent(self) -> bool:
        return self.probes >= self.max_probes or self.watcher.wants_an_end()

    def recorded(self) -> Recorded:
        """The values inside the case as it is now."""
        if self._recorded is None:
            self._recorded = self.record(self.case)
        return self._recorded

    def values(self) -> Values:
        """The last of them."""
        return self.recorded().last

    def accept(self, name: str, candidate: Case | None) -> bool:
        """Take a candidate if it is cheaper and bad."""
        if candidate is None or self.is_spent or not self._is_worth_asking(candidate):
            return False
        key = candidate.key()
        self.probes += key not in self.answers
        if not self.answers.get(key, candidate):
            return False
        self.case, self._recorded = candidate, None
        self.history.append(Progress(name, self.probes, cost(candidate)[0]))
        self.watcher.report(self.history[-1])
        return True

    def _is_worth_asking(self, candidate: Case) -> bool:
        if cost(candidate) >= cost(self.case) or (is_endless(candidate.module) and not self._is_endless):
            return False
        return doubtful(candidate.module) <= self._doubtful

    def run(self, move: Move) -> None:
        """Try a move on ever smaller parts of its items."""
        items = list(move.items(self.case, self.values()))
        size = len(items) if move.together else 1
        while size >= 1 and not self.is_spent:
            self._try(move, [items[start : start + size] for start in range(0, len(items), size)])
            items = [item for item in items if move.applies(self.case, item)]
            size = min(size, len(items)) // 2 if size > 1 else 0

    def _try(self, move: Move, batches: Sequence[Sequence[Item]]) -> None:
        """Try a move on each of the parts, each time on what the case has become."""
        left = deque(batches)
        while left and not self.is_spent:
            taken = self.first(move.name, (self._applied(move, batch) for batch in left))
            for _ in range(taken):
                left.popleft()

    def _applied(self, move: Move, items: Sequence[Item]) -> Case | None:
        present = [item for item in items if move.applies(self.case, item)]
        return move.apply(self.case, present, self.values()) if present else None

    def first(self, name: str, candidates: Iterator[Case | None]) -> int:
        """Accept the first of the candidates that will do; returns how many were tried."""
        following: deque[Case | None] = deque()
        tried = 0
        while True:
            for candidate in islice(candidates, 1 + self.answers.ahead - len(following)):
                following.append(candidate)
            if not following:
                return tried
            for candidate in islice(following, 1, None):
                if candidate is not None and self._is_worth_asking(candidate):
                    self.answers.ask(candidate.key(), candidate)
            tried += 1
            if self.accept(name, following.popleft()):
                return tried

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
