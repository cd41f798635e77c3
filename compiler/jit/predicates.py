"""When a tensor is alive, as a formula over the conditions of switches.

Formulas that are equal are one object, and are simplified as they are made, so that two can be compared at no cost.
Not every two that mean the same become one: then what could be one cluster is two, which is slower and never wrong.

    A & A = A      A & ~A = false      (A & B) | (A & C) = A & (B | C)      ~(A & B) = ~A | ~B      {S,&,X} & ~X = S
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_DEEPEST = 64
"""Formulas that stand in each other; a deeper one becomes a symbol for itself."""


class Kind(enum.Enum):
    """What a formula is."""

    AND = "&"
    OR = "|"
    NOT = "~"
    SYMBOL = "symbol"
    LOOP = "loop"


@dataclass(frozen=True, slots=True, eq=False)
class Predicate:
    """A formula of propositional logic that says when a tensor is alive.

    Attributes:
        number: in the order of their making, so that operands have an order.
        kind: what it is.
        operands: its parts; of a loop, when it is first alive and when it goes on.
        name: of a symbol the tensor, of a loop the frames.
        is_value: of a symbol whether it says that the tensor is true, and not only that it is alive.
        depth: how deep formulas stand in it.
    """

    number: int
    kind: Kind
    operands: tuple[Predicate, ...] = ()
    name: str = ""
    is_value: bool = False
    depth: int = 0

    def __str__(self) -> str:
        match self.kind:
            case Kind.AND | Kind.OR:
                if not self.operands:
                    return "#true" if self.kind is Kind.AND else "#false"
                return "(" + f" {self.kind.value} ".join(map(str, self.operands)) + ")"
            case Kind.NOT:
                return f"~{self.operands[0]}"
            case Kind.SYMBOL:
                return f"*{self.name}" if self.is_value else self.name
            case _:
                return f"{{{self.operands[0]},&,{self.operands[1]}}}<{self.name}>"

    def subpredicates(self) -> Iterator[Predicate]:
        """The formula and all inside it, each once."""
        seen, stack = {self}, [self]
        while stack:
            one = stack.pop()
            yield one
            for operand in one.operands:
                if operand not in seen:
                    seen.add(operand)
                    stack.append(operand)


class Predicates:
    """All formulas that were made; it makes each once."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], Predicate] = {}
        self._contrary: dict[Predicate, Predicate] = {}

    @property
    def true(self) -> Predicate:
        """What is always alive."""
        return self.all_of(())

    @property
    def false(self) -> Predicate:
        """The formula that never holds."""
        return self.any_of(())

    def symbol(self, name: str, *, is_value: bool) -> Predicate:
        """The formula that a tensor is true, or only that it is alive."""
        return self._one(Kind.SYMBOL, (), name, is_value=is_value)

    def loop(self, start: Predicate, step: Predicate, frames: Sequence[str]) -> Predicate:
        """What is alive first when `start` is, and then as often as `step` holds, in a frame inside others.

        Args:
            start: when the loop is entered.
            step: when it goes on.
            frames: the loops that it is in, the outermost first, and its own.
        """
        return self._one(Kind.LOOP, (start, step), ";".join(frames))

    def no(self, operand: Predicate) -> Predicate:
        """The contrary, negations inside."""
        if operand not in self._contrary:
            self._contrary[operand] = self._negated(operand)
        return self._contrary[operand]

    def _negated(self, operand: Predicate) -> Predicate:
        match operand.kind:
            case Kind.NOT:
                return operand.operands[0]
            case Kind.AND:
                return self.any_of([self.no(one) for one in operand.operands])
            case Kind.OR:
                return self.all_of([self.no(one) for one in operand.operands])
            case _:
                return self._one(Kind.NOT, (operand,))

    def all_of(self, operands: Iterable[Predicate]) -> Predicate:
        """The conjunction of some formulas."""
        return self._combined(Kind.AND, operands)

    def any_of(self, operands: Iterable[Predicate]) -> Predicate:
        """The disjunction of some formulas."""
        return self._combined(Kind.OR, operands)

    def _one(self, kind: Kind, operands: tuple[Predicate, ...], name: str = "", *, is_value: bool = False) -> Predicate:
        key = (kind, operands, name, is_value)
        if key not in self._made:
            depth = 1 + max((one.depth for one in operands), default=0)
            number = len(self._made)
            deep = (Kind.SYMBOL, (), f"#{number}", False, 0)
            self._made[key] = Predicate(number, *(deep if depth > _DEEPEST else (*key, depth)))
        return self._made[key]

    def _combined(self, kind: Kind, operands: Iterable[Predicate]) -> Predicate:
        flat: dict[Predicate, None] = {}
        for operand in operands:
            flat |= dict.fromkeys(operand.operands if operand.kind is kind else (operand,))
        if len(flat) == 1:
            return next(iter(flat))
        other = Kind.OR if kind is Kind.AND else Kind.AND
        if any(one.kind is other and not one.operands for one in flat):  # false among all of them, true among any
            return self._one(other, ())
        if any(one.kind is Kind.NOT and one.operands[0] in flat for one in flat) or self._is_split(flat):
            return self._one(other, ())
        ended = self._ended(flat) if kind is Kind.AND else None
        if ended is not None:
            return self._combined(kind, ended)
        common = self._common(flat, other)
        if not common:
            return self._one(kind, tuple(sorted(flat, key=lambda one: one.number)))
        rests = [
            self._combined(other, [one_operand for one_operand in one.operands if one_operand not in common])
            for one in flat
        ]
        return self._combined(other, [self._combined(kind, rests), *common])

    def _ended(self, flat: dict[Predicate, None]) -> list[Predicate] | None:
        """What is left of a loop that has ended: `{S,&,X} & ~X` is S; None if none has."""
        for one in flat:
            if one.kind is Kind.LOOP and (over := self.no(one.operands[1])) in flat:
                return [one.operands[0], *(other for other in flat if other not in (one, over))]
        return None

    def _is_split(self, flat: dict[Predicate, None]) -> bool:
        """Whether the contrary of a formula is there in parts: `A & B` beside `~A | ~B`, which is written flat."""
        for one in flat:
            if one.kind in (Kind.AND, Kind.OR) and one.operands:
                contrary = self.no(one)
                alternatives = contrary.operands if contrary.kind in (Kind.AND, Kind.OR) else (contrary,)
                if contrary in flat or all(operand in flat for operand in alternatives):
                    return True
        return False

    @staticmethod
    def _common(flat: dict[Predicate, None], other: Kind) -> list[Predicate]:
        """What is in all of them, where all are of the other kind."""
        formulas = list(flat)
        if not formulas or any(one.kind is not other for one in formulas):
            return []
        return [operand for operand in formulas[0].operands if all(operand in one.operands for one in formulas)]
