"""The one gate through which passes change a program, so that any single rewrite can be named and withheld.

Each rewrite spends one unit of fuel and leaves a record (number, pass, what, where).  With a limit of N, the first N
rewrites of a compilation happen and no other; bisecting N names the one guilty rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.ir.module import Instruction, Module

Rule = Callable[[Instruction], Instruction | None]
"""Gives the simpler equal of an instruction, in the same computation, or None; its name is that of the rewrite."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One change that was made: its number in the compilation (from 1), the pass, the rule and the instruction."""

    number: int
    pass_name: str
    rule: str
    where: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rewrite that was considered and not done: the rule that it would have been, the instruction, and why."""

    rule: str
    where: str
    reason: str


@dataclass(slots=True)
class Fuel:
    """How many rewrites a compilation may still do, and those it has done; `limit` None means all.

    A rewrite without which the back ends cannot go on is *required*: it is recorded, but withheld only where
    `withholds_required`, from a compilation that ends before it.
    """

    limit: int | None = None
    pass_name: str = ""
    withholds_required: bool = field(default=False, kw_only=True)
    rewrites: list[Rewrite] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    @property
    def is_spent(self) -> bool:
        """Whether no rewrite is left but required ones; then there is no need to look for any."""
        return self.limit is not None and len(self.rewrites) >= self.limit

    def spend(self, rule: str, where: Instruction, *, required: bool = False) -> bool:
        """Ask to do one rewrite at an instruction; when the answer is False nothing may be changed.

        Args:
            rule: what is done, as reports name it.
            where: the instruction that is rewritten.
            required: whether back ends cannot do without: it is counted then, and never refused.
        """
        if self.is_spent and not (required and not self.withholds_required):
            return False
        number = len(self.rewrites) + 1
        self.rewrites.append(Rewrite(number, self.pass_name, rule, path_of(where)))
        return True

    def refuse(self, rule: str, where: Instruction, reason: str) -> None:
        """Note why a rewrite is not done at an instruction.

        Args:
            rule: what is not done.
            where: the instruction.
            reason: why not, as the end of a sentence.
        """
        self.refusals.append(Refusal(rule, path_of(where), reason))

    def replace(self, rule: str, old: Instruction, new: Instruction) -> bool:
        """Make all users of `old` use `new`, if there is fuel; `new` must already stand in the computation.

        Args:
            rule: its name.
            old: an instruction.
            new: one of the same shape, that stands in the computation.
        """
        if not self.spend(rule, old):
            return False
        old.replace_uses_with(new)
        return True


def path_of(instruction: Instruction) -> str:
    """The place of an instruction in its module, as COMPUTATION/NAME."""
    parent = instruction.parent.name if instruction.parent is not None else "?"
    return f"{parent}/{instruction.name}"


def apply_rules(rules: Mapping[str, Sequence[Rule]], module: Module, fuel: Fuel) -> bool:
    """Replace every instruction by what the first rule of its opcode that has an answer gives.

    What nobody uses is left as it is.  Returns whether anything changed.

    Args:
        rules: by opcode, in the order in which they are tried.
        module: the program; changed.
        fuel: what is asked before each rewrite.
    """
    changed = False
    for computation in module.computations:
        is_rewritten = False
        for instruction in [i for i in computation.instructions if i.opcode in rules]:
            if fuel.is_spent:
                break
            if not (instruction.users or instruction.is_root):
                continue
            for rule in rules[instruction.opcode]:
                try:
                    simpler = rule(instruction)
                except Exception:
                    fuel.spend(_name(rule), instruction)  # so that withholding it is what ends the failure
                    raise
                if simpler is not None and simpler is not instruction:
                    is_rewritten |= fuel.replace(_name(rule), instruction, simpler)
                    break
        if is_rewritten:  # what rules made in vain stands at the end
            computation.sort()
            changed = True
    return changed


def _name(rule: Rule) -> str:
    return rule.__name__.strip("_")
