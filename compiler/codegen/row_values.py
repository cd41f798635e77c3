"""The values of one row while a row kernel is being emitted: what is known, and how the next phase gets at it.

The kernel decides where a row's kept values lie and how a phase walks over the row; this keeps track of what each
instruction stands for meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.codegen import elemental
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, Index, linear, reshape
from compiler.codegen.llvm_ir import Value
from compiler.codegen.movement import Leaf, always
from compiler.codegen.reduction import REASSOCIATE
from compiler.codegen.rows import Phase, Rows
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir.module import Instruction

Load = Callable[[Instruction, Index], Value]
Save = Callable[[Instruction, Index, Value], None]


class RowValues:
    """Emits the pieces of one row; `row` is its linear index, `load` and `save` reach the row's kept values."""

    def __init__(self, rows: Rows, emission: Emission, row: Index, load: Load, save: Save) -> None:
        self.rows = rows
        self.emission = emission
        self.row = row
        self.load = load
        self.save = save
        self.at_row = tuple(reshape(emission, (row,), (rows.count,), rows.row_dims))
        self.leaves: dict[Instruction, Leaf] = dict(elemental_of(rows.kernel, emission).leaves)
        # The address of the row in results that do not lie where one expects them.
        self.outputs: dict[int, Value] = {}
        # Where indices come from: put together again, they may look another way.
        self.positions: dict[tuple[Index, ...], Index] = {}

    def enter(self, phase: Phase) -> list[Value]:
        """Compute what a phase needs before it starts; returns the initial values of its reductions."""
        values = Elemental(self.emission, self.leaves)
        for spread in phase.spread:
            (operand,) = spread.operands
            self.leaves[spread] = always(values.value(operand, self.at_row))
        return [values.value(reduce.operands[1], ()) for reduce in phase.reduces]

    def elements(self, phase: Phase, position: Index) -> list[Value]:
        """The elements of the phase's targets at a position in the row; what is kept is saved on the way."""
        values = Elemental(self.emission, self.leaves)
        at = self._at(position)
        for kept in phase.kept:
            self.save(kept, position, values.value(kept, at))
        return [values.value(target, at) for target in self.rows.targets(phase)]

    def combine(self, phase: Phase, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """Apply each reduction of a phase to its accumulator.

        Args:
            phase: whose reductions they are.
            left: the accumulators, in the order of their elements.
            right: what comes behind them.
        """
        return [
            elemental.apply(self.emission, reduce.attributes["to_apply"], [a, b], flags=REASSOCIATE)[0]
            for reduce, a, b in zip(phase.reduces, left, right, strict=True)
        ]

    def leave(self, phase: Phase, results: Sequence[Value]) -> None:
        """A phase is over: its reductions are known from now on, and its kept values are read back."""
        for reduce, result in zip(phase.reduces, results, strict=True):
            self.leaves[reduce] = always(result)
        for kept in phase.kept:
            self.leaves[kept] = self._kept(kept)

    def store_elements(self, values: Sequence[Value], position: Index) -> None:
        """Store the elements of the full-shape roots at a position in the row."""
        full = [n for n, root in enumerate(self.rows.kernel.roots) if not self.rows.is_row_result(root)]
        at = self.row.times(self.rows.length) + position
        for number, value in zip(full, values, strict=True):
            if number in self.outputs:
                store(self.emission, self.rows.kernel.roots[number].array, value, self.outputs[number], position)
            else:
                self._store(number, value, at)

    def store_row_results(self) -> None:
        """Compute and store the roots that have one element per row."""
        values = Elemental(self.emission, self.leaves)
        for number, root in enumerate(self.rows.kernel.roots):
            if self.rows.is_row_result(root):
                self._store(number, values.value(root, self.at_row), self.row)

    def _store(self, number: int, value: Value, at: Index) -> None:
        kernel = self.rows.kernel
        store(self.emission, kernel.roots[number].array, value, arguments(kernel).outputs[number], at)

    def _at(self, position: Index) -> tuple[Index, ...]:
        inner = reshape(self.emission, (position,), (self.rows.length,), self.rows.inner_dims)
        self.positions[tuple(inner)] = position
        return (*self.at_row, *inner)

    def _kept(self, value: Instruction) -> Leaf:
        def load(indices: Sequence[Index]) -> Value:
            inner = tuple(indices[self.rows.outer :])
            return self.load(value, self.positions.get(inner) or linear(inner, self.rows.inner_dims))

        return load
