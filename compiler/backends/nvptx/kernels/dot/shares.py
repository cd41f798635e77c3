"""Sums whose terms threads, or warps, take side by side: each sums up its share, and they put those together after it.

Terms that one of them loads are on their way together, those that are left over at the end too: memory answers after
hundreds of cycles, so what counts is how often it waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.codegen.index import Emission, Index, Variable, whole
from compiler.codegen.llvm_ir import Value, integer

Factors = Callable[[Index], list[Value]]
"""Loads the factors of a term, by its index."""
Add = Callable[[Sequence[Value], Sequence[Value]], list[Value]]
"""Sums with one more term, of its factors and the sums so far."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How the terms of sums are shared.

    Attributes:
        depth: terms of a whole sum.
        threads: that take neighbouring terms, or warps where lanes have sums of their own.
        ahead: terms that each of them loads together.
        chunks: of each sum, made by others each.
        each: terms of a chunk; the last may have fewer.
    """

    depth: int
    threads: int
    ahead: int
    chunks: int
    each: int

    @property
    def round(self) -> int:
        """Terms that are loaded together by all of them."""
        return self.threads * self.ahead

    def of_chunk(self, emission: Emission, chunk: Index) -> tuple[Value, Value]:
        """The terms of a chunk: the first, and the one behind the last."""
        builder = emission.builder
        first = builder.mul(emission.value(chunk), integer(self.each))
        return first, builder.smin(builder.add(first, integer(self.each)), integer(self.depth))

    def summed(
        self,
        emission: Emission,
        terms: tuple[Value, Value],
        number: Value,
        factors: Factors,
        add: Add,
        start: list[Value],
    ) -> list[Value]:
        """The sums of one's share of some terms.

        Args:
            emission: where code is emitted.
            terms: the first of all, and the one behind the last.
            number: whose share it is.
            factors: loads the factors of a term.
            add: adds a term to the sums.
            start: the sums to begin with.
        """
        builder, (first, end) = emission.builder, terms

        def loaded(term: Value) -> list[Value]:
            return factors(whole(Variable(term, self.depth)))

        behind = builder.sub(end, integer(self.round - 1))
        with builder.loop(first, behind, step=self.round, carried=[*start, first], name="terms") as loop:
            emission.enter()
            mine = builder.add(loop.index, number)
            found = [loaded(builder.add(mine, integer(n * self.threads))) for n in range(self.ahead)]
            totals = loop.carried[:-1]
            for one in found:
                totals = add(one, totals)
            loop.carry(*totals, builder.add(loop.index, integer(self.round)))
            emission.leave()
        *totals, rest = loop.results
        left_over, mine = self.depth % self.round, builder.add(rest, number)
        tail: list[tuple[Value | None, list[Value]]] = []
        for n in range(-(-left_over // self.threads)):
            term, inside = builder.add(mine, integer(n * self.threads)), None
            if self.chunks > 1 or (n + 1) * self.threads > left_over:
                inside = builder.compare("slt", term, end)
                term = builder.smin(term, integer(self.depth - 1))
            tail.append((inside, loaded(term)))
        for inside, one in tail:
            more = add(one, totals)
            totals = (
                more if inside is None else [builder.select(inside, *pair) for pair in zip(more, totals, strict=True)]
            )
        return totals
