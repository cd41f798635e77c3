"""Strategies for kernels on a CPU: their input (kernel, machine, threads), and what is alike in all their plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Generic, TypeAlias, TypeVar

from compiler.backends import strategy
from compiler.backends.cpu.machine import Machine
from compiler.backends.strategy import Choice, Detail
from compiler.backends.strategy import Strategy as Strategy
from compiler.codegen import cost
from compiler.codegen.in_place import Pairs
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Module

Functions: TypeAlias = tuple[str, ...]
"""Names of the functions to call, in order."""
Plan: TypeAlias = strategy.Plan[Functions]
Emit: TypeAlias = Callable[[Module], Functions]
G = TypeVar("G", bound="Given")
_SILENT: Mapping[str, Detail] = MappingProxyType({})


@dataclass(frozen=True)
class Given:
    """A kernel to be decided about, for a machine and calls with up to that many threads."""

    kernel: Kernel
    machine: Machine
    threads: int

    @cached_property
    def scratch(self) -> Module:
        """A module for code that is looked at and thrown away: loops are cut where what is in them falls apart."""
        return Module(self.machine.features, unrolls=True)

    @cached_property
    def cost_ns(self) -> float:
        """The kernel's expected time on one thread, by the opcodes in it."""
        return cost.nanoseconds(self.kernel)

    def plan(
        self,
        emit: Emit,
        cost_ns: float,
        *,
        divisible: bool = True,
        shared_bytes: int = 0,
        thread_bytes: int = 0,
        details: Mapping[str, Detail] = _SILENT,
    ) -> Plan:
        """A plan whose work is shared out where that pays.

        Args:
            emit: writes the functions.
            cost_ns: expected nanoseconds on one thread.
            divisible: whether there is more than one piece of it.
            shared_bytes: workspace that all threads use.
            thread_bytes: workspace of each thread that takes part.
            details: what else there is to say.
        """
        parallel = divisible and cost.pays_threads(cost_ns)
        workspace_bytes = shared_bytes + thread_bytes * (self.threads if parallel else 1)
        return strategy.Plan(
            emit=emit, cost_ns=cost_ns, workspace_bytes=workspace_bytes, parallel=parallel, details=details
        )

    def finely(self, plan: Plan, thread_bytes: int) -> Plan:
        """A plan whose work may be cut into more chunks than there are threads, since that takes hardly longer.

        Args:
            plan: the plan, with workspace for as many chunks as threads.
            thread_bytes: what it holds of each of them.
        """
        per_thread = cost.chunks_per_thread(plan.cost_ns, self.threads) if plan.parallel else 1
        more_bytes = (per_thread - 1) * self.threads * thread_bytes
        return replace(
            plan,
            workspace_bytes=plan.workspace_bytes + more_bytes,
            chunks_per_thread=per_thread,
            chunk_bytes=thread_bytes,
        )


def nowhere(_: Kernel) -> Pairs:
    """No result may lie over an operand: the rule of kinds that read operands after they have begun to write."""
    return ()


@dataclass(frozen=True, slots=True)
class Kind(Generic[G]):
    """A kind of kernels: its strategies in order of preference, and what these are given.

    Attributes:
        strategies: in order of preference; the first that has a plan is taken.
        given: what is found out about a kernel once, for all of them.
        overwrites: results and the inputs, by their numbers, over which they may lie.
    """

    strategies: tuple[Strategy[G, Functions], ...]
    given: Callable[[Kernel, Machine, int], G]
    overwrites: Callable[[Kernel], Pairs] = nowhere

    def decide(self, kernel: Kernel, machine: Machine, threads: int) -> Choice[Functions]:
        """The strategy that a kernel gets on a machine, for calls with up to that many threads."""
        return first_of(self.strategies, self.given(kernel, machine, threads))


def first_of(strategies: Sequence[Strategy[G, Functions]], given: G) -> Choice[Functions]:
    """The first strategy that has a plan; UnsupportedError where none has."""
    return strategy.first_of(strategies, given.kernel, given, "the CPU back end")
