"""How back ends choose what to make of a kernel: decided before any code is emitted, and with the reasons.

A kind of kernel has strategies, in order of preference.  Each looks at a kernel and answers with a plan or says why not
(XLA's fusions are decided so, by `FusionDecision`; here it is everything).  The first plan is taken.  A plan is data:
what it costs, what memory it needs, into what it cuts the work; only its `emit` writes code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Module
from compiler.diagnostics import UnsupportedError

Detail: TypeAlias = str | int | float | bool | Sequence[str | int]
"""A number, a name or a few of them: what a plan says about itself in words of its own."""
Given = TypeVar("Given", contravariant=True)
"""A kernel, the machine, and what has been found out about the two for all strategies of a kind."""
Emitted = TypeVar("Emitted")
"""What emission leaves behind, for the program to call."""


@dataclass(frozen=True, slots=True)
class Declined:
    """Why a strategy is not for a kernel, as the end of the sentence "not taken, since ..."."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Generic[Emitted]):
    """A way to compute a kernel, decided and not yet emitted.

    Attributes:
        emit: writes its code into a module.
        cost_ns: estimated nanoseconds: of a CPU on one thread; of a GPU what no code could do without.
        workspace_bytes: scratch memory, for all threads together.
        parallel: whether the work is shared among threads.
        chunks_per_thread: into how many chunks each thread's share is cut where threads are kept from running.
        chunk_bytes: what `workspace_bytes` hold of each chunk, where there may be more than one of a thread.
        details: sizes of tiles, numbers of chunks and the like, by names.
        inner: what was chosen in turn, where a strategy brings a kernel into another one's form.
        keeps: what must live as long as the code does.
    """

    emit: Callable[[Module], Emitted]
    cost_ns: float
    workspace_bytes: int = 0
    parallel: bool = True
    chunks_per_thread: int = 1
    chunk_bytes: int = 0
    details: Mapping[str, Detail] = field(default_factory=dict)
    inner: Choice[Emitted] | None = None
    keeps: Any = None


@dataclass(frozen=True, slots=True)
class Strategy(Generic[Given, Emitted]):
    """A way to compute kernels of a kind.

    Attributes:
        name: what it is called where decisions are shown.
        decide: its plan for a kernel, or why there is none.
        in_place: whether it reads each element before it writes there, once: then results may lie over operands.
    """

    name: str
    decide: Callable[[Given], Plan[Emitted] | Declined]
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class Choice(Generic[Emitted]):
    """The strategy that a kernel gets.

    Attributes:
        strategy: its name.
        plan: its plan.
        ask_others: asks the others why not: (name, reason); those that nobody had to ask before are asked then.
    """

    strategy: str
    plan: Plan[Emitted]
    ask_others: Callable[[], list[tuple[str, str]]]

    @property
    def path(self) -> str:
        """The strategy's name, and that of what it chose in turn."""
        return self.strategy if self.plan.inner is None else f"{self.strategy}, {self.plan.inner.path}"


_OVERLAID = "the result lies over an operand, which it would write before it has read it"


def choose(
    strategies: Sequence[Strategy[Given, Emitted]], kernel: Kernel, given: Given
) -> Choice[Emitted] | list[tuple[str, str]]:
    """The first strategy that has a plan, or why none has.

    Args:
        strategies: in order of preference.
        kernel: what is to be computed; with results `in_place` only strategies that bear it are asked.
        given: what they are given.
    """

    def ask(strategy: Strategy[Given, Emitted]) -> Plan[Emitted] | Declined:
        bears = strategy.in_place or not kernel.in_place
        return strategy.decide(given) if bears else Declined(_OVERLAID)

    def others(first: str, later: Sequence[Strategy[Given, Emitted]]) -> list[tuple[str, str]]:
        answers = [(other.name, ask(other)) for other in later]
        reasons = [(name, a.reason if isinstance(a, Declined) else f"{first} comes first") for name, a in answers]
        return declined + reasons

    declined: list[tuple[str, str]] = []
    for number, strategy in enumerate(strategies):
        plan = ask(strategy)
        if isinstance(plan, Plan):
            return Choice(strategy.name, plan, partial(others, strategy.name, strategies[number + 1 :]))
        declined.append((strategy.name, plan.reason))
    return declined


def first_of(strategies: Sequence[Strategy[Given, Emitted]], kernel: Kernel, given: Given, by: str) -> Choice[Emitted]:
    """The first strategy that has a plan.

    Args:
        strategies: in order of preference.
        kernel: what is to be computed.
        given: what they are given.
        by: the back end, as messages name it.

    Raises:
        UnsupportedError: none has a plan; it says why not.
    """
    found = choose(strategies, kernel, given)
    if isinstance(found, Choice):
        return found
    reasons = "; ".join(f"{name}: {reason}" for name, reason in found)
    raise UnsupportedError(kernel.instruction.name, by, reasons)
