"""What strategies for kernels on a GPU are given, and what is alike in all their plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Generic, TypeAlias, TypeVar

from compiler.backends import strategy
from compiler.backends.nvptx.cards import card_for
from compiler.backends.nvptx.kernels.grid import Gpu, Launch
from compiler.backends.nvptx.roofline import bound_of
from compiler.backends.strategy import Choice, Declined, Detail
from compiler.backends.strategy import Strategy as Strategy
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Module

Launches: TypeAlias = tuple[Launch, ...]
"""What is launched, in order."""
Plan: TypeAlias = strategy.Plan[Launches]
Emit: TypeAlias = Callable[[Module], Launches]
G = TypeVar("G", bound="Given")
_SILENT: Mapping[str, Detail] = MappingProxyType({})


@dataclass(frozen=True)
class Given:
    """A kernel to be decided about, for a GPU."""

    kernel: Kernel
    gpu: Gpu

    @cached_property
    def scratch(self) -> Module:
        """A module for code that is looked at and thrown away."""
        return Module(self.gpu.features)


def planned(emit: Emit, *, workspace_bytes: int = 0, details: Mapping[str, Detail] = _SILENT) -> Plan:
    """A plan; its cost is put to it once it is chosen, since strategies are told apart by shapes alone.

    Args:
        emit: writes the functions and says how they are launched.
        workspace_bytes: memory for all launches together.
        details: what else there is to say.
    """
    return strategy.Plan(emit=emit, cost_ns=0.0, workspace_bytes=workspace_bytes, details=details)


def decide_nothing(given: Given) -> Plan | Declined:
    """The plan of a kernel without elements, for which nothing is launched."""
    return Declined("there are elements") if given.kernel.outputs[0].size else planned(lambda _: ())


NOTHING: Strategy[Given, Launches] = Strategy("nothing", decide_nothing)
"""The first of most kinds."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[G]):
    """A kind of kernels: its strategies in order of preference, and what these are given.

    Attributes:
        strategies: in order of preference; the first that has a plan is taken.
        given: what is found out about a kernel once, for all of them.
    """

    strategies: tuple[Strategy[G, Launches], ...]
    given: Callable[[Kernel, Gpu], G]

    def decide(self, kernel: Kernel, gpu: Gpu) -> Choice[Launches]:
        """The strategy that a kernel gets on a GPU."""
        found = first_of(self.strategies, self.given(kernel, gpu))
        cost_ns = bound_of(kernel, card_for(gpu.capability)).ns
        return replace(found, plan=replace(found.plan, cost_ns=cost_ns))


def first_of(strategies: Sequence[Strategy[G, Launches]], given: G) -> Choice[Launches]:
    """The first strategy that has a plan; UnsupportedError where none has."""
    return strategy.first_of(strategies, given.kernel, given, "the NVPTX back end")
