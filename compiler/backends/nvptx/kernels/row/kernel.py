"""Row kernels: a team of threads does every phase of a row (softmax, norms and their like) and keeps it in registers.

What a thread has read or computed of its elements it still has in the next phase: the code of all phases stands in one
line for every element.  Rows that are too long for that, or have too long a body, are a block's: values kept between
phases lie in the workspace, and a barrier between phases makes what one thread kept visible to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot.matrix_product import all_of
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.strategy import Given, Kind, Plan, Strategy, planned
from compiler.backends.nvptx.kernels.teams.team import Piece, Team, TeamPosition, shared
from compiler.backends.nvptx.kernels.teams.tree import Block, power_of_two, spread
from compiler.backends.strategy import Declined
from compiler.codegen import element, nest
from compiler.codegen.index import Emission, Index
from compiler.codegen.llvm_ir import Module, Value, integer
from compiler.codegen.row_values import RowValues
from compiler.codegen.rows import Phase, Rows
from compiler.codegen.signature import arguments
from compiler.codegen.workspace import whole_lines
from compiler.ir.module import Instruction

_MOST_HELD = 64
"""Registers of a thread for what it keeps of its row."""
_MOST_WORK = 1500
"""Operations for all elements of a thread: the code grows with them."""


class RowGiven(Given):
    """A row kernel with its phases."""

    @cached_property
    def rows(self) -> Rows:
        """The phases that each row goes through."""
        return Rows(self.kernel)


def _registers(given: RowGiven) -> Plan | Declined:
    """The plan of a team that keeps its row in registers."""
    rows, team = given.rows, _team(given.rows)
    if team is None:
        return Declined("rows are too long, or phases do too much, for threads to keep their share in registers")
    details = {"rows": rows.count, "row_length": rows.length, "team": team.threads, "block": team.block}
    return planned(lambda module: (_in_registers(module, rows, team),), details=details)


def _workspace(given: RowGiven) -> Plan:
    """The plan of a block for each row, with what is kept between phases in the workspace."""
    rows = given.rows
    return planned(
        lambda module: (_through_workspace(module, rows),),
        workspace_bytes=sum(_kept_bytes(rows, value) for phase in rows.phases for value in phase.kept),
        details={"rows": rows.count, "row_length": rows.length},
    )


ROW = Kind((Strategy("rows in registers", _registers), Strategy("rows in the workspace", _workspace)), RowGiven)
"""Row kernels."""


def _team(rows: Rows) -> Team | None:
    """The smallest team whose threads can keep their share of a row in registers; of a row alone perhaps a larger."""
    arrays = [i.array for i in (*(leaf for leaf, _ in rows.kernel.leaves), *rows.kernel.roots)]
    sizes = [array.element_type.size_bytes for array in arrays if array.dims == rows.dims]
    kept = {value for phase in rows.phases for value in phase.kept}
    read = {leaf for leaf, _ in rows.kernel.leaves if leaf.array.dims == rows.dims}
    held = sum(max(1, value.array.element_type.size_bytes // 4) for value in (*read, *kept))
    work = sum(len(rows.computed(phase)) for phase in rows.phases)
    fitting = (
        team
        for team in Team.all_of(rows.length, rows.count, max(sizes, default=4))
        if team.share * held <= _MOST_HELD and team.share * work <= _MOST_WORK
    )
    in_order = not rows.in_any_order
    team, larger = (found and replace(found, in_order=in_order) for found in (next(fitting, None), next(fitting, None)))
    if rows.count != 1 or team is None or larger is None:
        return team
    return team.for_row_alone(larger, work, sum(bool(phase.reduces) for phase in rows.phases))


def _in_registers(module: Module, rows: Rows, team: Team) -> Launch:
    builder = grid.begin(module, rows.kernel, team.block)
    emission = Emission(builder)
    team_position = team.position(emission, rows.count)
    kept: dict[tuple[Instruction, Index], Value] = {}
    values = RowValues(
        rows,
        emission,
        team_position.row,
        lambda value, position: kept[value, position],
        lambda value, position, result: kept.__setitem__((value, position), result),
    )
    pieces = list(team.pieces(emission, team_position.number))
    for number, phase in enumerate(rows.phases):
        initial = values.enter(phase)
        if not phase.reduces:
            _store(values, phase, pieces, team_position)
            continue

        def combine(_: Emission, left: Sequence[Value], right: Sequence[Value], phase: Phase = phase) -> list[Value]:
            return values.combine(phase, left, right)

        def elements(position: Index, phase: Phase = phase) -> list[Value]:
            return values.elements(phase, position)

        total = team.fold(emission, pieces, elements, combine)
        types = [reduce.array.element_type for reduce in phase.reduces]
        total = team.reduce(f"{rows.kernel.name}.{number}", emission, (total, types), combine)
        total = team.spread(builder, total)
        values.leave(phase, values.combine(phase, initial, total))
    with builder.when(team_position.is_first(builder), "first"):
        emission.enter()
        values.store_row_results()
        emission.leave()
    builder.ret()
    return Launch(builder.function.name, grid.blocks_for(rows.count, team.rows), team.block)


def _store(values: RowValues, phase: Phase, pieces: Sequence[Piece], team_position: TeamPosition) -> None:
    """Compute and store the full-shape roots: all elements of a piece, then their stores, which become one word's."""
    emission = values.emission
    for positions, inside in pieces:
        found = [values.elements(phase, position) for position in positions]
        condition = all_of(emission.builder, [inside, team_position.exists])
        with emission.builder.when(condition, "inside") if condition else nullcontext():
            emission.enter()
            for position, row in zip(positions, found, strict=True):
                values.store_elements(row, position)
            emission.leave()


def _through_workspace(module: Module, rows: Rows) -> Launch:
    """A block for each row, which walks over it once for every phase."""
    kernel = rows.kernel
    threads = power_of_two(min(grid.BLOCK, rows.length))
    builder = grid.begin(module, kernel, threads)
    emission = Emission(builder)
    workspace = _Workspace(emission, rows)
    row = emission.opaque(grid.block(builder), rows.count)
    values = RowValues(rows, emission, row, workspace.load, workspace.save)
    workspace.row = values.row
    for number, phase in enumerate(rows.phases):
        _pass(values, phase, number, threads)
    with builder.when(builder.compare("eq", grid.thread(builder), integer(0)), "first"):
        emission.enter()
        values.store_row_results()
        emission.leave()
    builder.ret()
    return Launch(builder.function.name, rows.count, threads)


def _pass(values: RowValues, phase: Phase, number: int, threads: int) -> None:
    """One phase over the block's row; every thread takes positions a block's width apart, or following ones."""
    emission, rows = values.emission, values.rows
    builder = emission.builder
    initial = values.enter(phase)
    everything, thread = nest.all_of(rows.length), grid.thread(builder)
    mine = shared(builder, everything, (thread, threads), in_order=not rows.in_any_order)

    def at(position: Value) -> list[Value]:
        index = emission.opaque(position, rows.length)
        elements = values.elements(phase, index)
        if not phase.reduces:
            values.store_elements(elements, index)
            return []
        return elements

    emission.enter()
    start = at(mine.first)
    emission.leave()
    following = builder.add(mine.first, integer(mine.step))
    with builder.loop(following, mine.stop, step=mine.step, carried=start, name="stride") as loop:
        emission.enter()
        more = at(loop.index)
        loop.carry(*values.combine(phase, loop.carried, more))
        emission.leave()
    types = [reduce.array.element_type for reduce in phase.reduces]
    if phase.reduces:
        block = Block(f"{rows.kernel.name}.{number}", threads, types)
        total = block.reduce(emission, loop.results, lambda _, left, right: values.combine(phase, left, right))
        total = spread(builder, total, threads, min(threads, grid.WARP))
        # What the phase kept of the row is in the workspace from here on.
        grid.barrier(builder)
        values.leave(phase, values.combine(phase, initial, total))


def _kept_bytes(rows: Rows, value: Instruction) -> int:
    """What a value that is kept takes for all rows."""
    return whole_lines(value.array.element_type.size_bytes * rows.count * rows.length)


class _Workspace:
    """The kept values of all rows, one array after the other."""

    def __init__(self, emission: Emission, rows: Rows) -> None:
        self.emission = emission
        self.rows = rows
        self.row = Index()
        self.offsets: dict[Instruction, int] = {}
        self.size_bytes = 0
        for phase in rows.phases:
            for value in phase.kept:
                self.offsets[value] = self.size_bytes
                self.size_bytes += _kept_bytes(rows, value)

    def load(self, value: Instruction, position: Index) -> Value:
        """Read a kept value of the row at hand."""
        return element.load(self.emission.builder, value.array.element_type, self._address(value, position))

    def save(self, value: Instruction, position: Index, result: Value) -> None:
        """Keep a value of the row at hand."""
        element.store(self.emission.builder, value.array.element_type, result, self._address(value, position))

    def _address(self, value: Instruction, position: Index) -> Value:
        builder = self.emission.builder
        base = builder.gep("i8", arguments(self.rows.kernel).workspace, integer(self.offsets[value]))
        at = self.row.times(self.rows.length) + position
        return builder.gep(element.storage_type(value.array.element_type), base, self.emission.value(at))
