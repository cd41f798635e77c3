"""What devices exchange, written as instructions of one program that holds the values of all of them.

An exchange takes a collective and, for each device of one group in the group's order, that device's operands; it
returns each device's result.  Sums of types below f32 are taken in f32 and rounded once.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce

from compiler.device_rules import Grid
from compiler.devices.groups import check_operands, groups, pairs, shard_size, transfer_pairs
from compiler.expansion.expression import Expression, concatenate, element, iota, number
from compiler.ir.combiner import binary_opcode
from compiler.ir.manual import Cut, cuts_of, enters, is_crossing
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ir.types import F32, PRED, S32, S64, U32, Kind
from compiler.ops.build import build
from compiler.ops.collective import NUMBERS, check_shapes
from compiler.ops.collective import OPS as COLLECTIVES

Row = Sequence[Instruction]
"""The operands of one device, or what stands for one value on several."""

Rows = Mapping[int, Row]
"""The operands of each device."""

Many = dict[int, Instruction]
"""What stands for a value on each of some devices."""

Exchange = Callable[[Instruction, Sequence[Row]], list[Instruction]]

Combine = Callable[[Computation, Row], Instruction]
"""The values of all devices of a group by a computation."""

_BY_HOST = "is_host_transfer"
_IDENTITIES = {"add": 0, "multiply": 1}
"""What round, by the value that changes no other."""
_OF_PRED = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}


def bundle(values: Sequence[Instruction], computation: Computation) -> Instruction:
    """One instruction as it is, several as a tuple."""
    return values[0] if len(values) == 1 else build(computation, "tuple", values)


def zeros(shape: Shape, computation: Computation) -> Instruction:
    """Zeros of a shape; tokens come from nowhere."""
    if isinstance(shape, TupleShape):
        return build(computation, "tuple", [zeros(element_, computation) for element_ in shape.elements])
    assert isinstance(shape, ArrayShape), f"{shape} has no zeros"
    if shape.element_type.kind is Kind.OPAQUE:
        return build(computation, "after-all")
    return number(computation, 0, shape.element_type).spread(shape.dims, ()).instruction


def received_rows(
    source: Instruction, target: Instruction, starts: Expression, sizes: Expression, offsets: Expression
) -> Instruction:
    """The target with rows of the source put in: piece i is `sizes[i]` rows from `starts[i]`, put at `offsets[i]`.

    Each row of the target is given the number of the row that it receives; of several that are sent to it, the last.
    Where there are no rows, none is sent.
    """
    if not source.array.dims[0]:
        return target
    rows, count = target.array.dims[0], starts.dims[0]
    row = iota(target.computation, S64, (rows,))
    chosen = row.literal(-1).spread((rows,), ())
    for piece in range(count):
        start, size, offset = (v.slice((piece, piece + 1)).reshape() for v in (starts, sizes, offsets))
        inside = row.compare("GE", offset) & row.compare("LT", offset + size)
        chosen = inside.where(row - offset + start, chosen)
    received = build(
        target.computation,
        "gather",
        [source, chosen.instruction],
        offset_dims=tuple(range(1, source.array.rank)),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1, *source.array.dims[1:]),
    )
    arrives = chosen.compare("GE", 0).spread(target.array.dims, (0,))
    return arrives.where(Expression(received), Expression(target)).instruction


def in_group_order(combiner: Computation, column: Row) -> Instruction:
    """The values of all devices of a group by a computation, one after another."""
    given = column[0].array.element_type
    opcode = binary_opcode(combiner)
    if opcode is None:
        return reduce(lambda left, right: _mapped(combiner, left, right), column)
    if given is PRED:
        opcode = _OF_PRED.get(opcode, opcode)
    summed = given.is_float and given.bits < F32.bits and opcode in ("add", "multiply")
    values = [Expression(value).to(F32) if summed else Expression(value) for value in column]
    return reduce(lambda left, right: left.apply(opcode, right), values).to(given).instruction


def in_any_order(combiner: Computation, column: Row) -> Instruction:
    """The same with sums and products that round as reductions, whose order and type on the way are open."""
    opcode, given = binary_opcode(combiner), column[0].array.element_type
    if len(column) == 1 or opcode not in _IDENTITIES or not (given.is_float or given.is_complex):
        return in_group_order(combiner, column)
    stacked = concatenate([Expression(value).reshape(1, *value.array.dims) for value in column], 0)
    operands = [stacked.instruction, stacked.literal(_IDENTITIES[opcode]).instruction]
    return build(column[0].computation, "reduce", operands, dimensions=(0,), to_apply=combiner)


def _mapped(combiner: Computation, left: Instruction, right: Instruction) -> Instruction:
    dimensions = tuple(range(left.array.rank))
    return build(left.computation, "map", [left, right], to_apply=combiner, dimensions=dimensions)


def _combined(combine: Combine, instruction: Instruction, operands: Sequence[Row]) -> list[Instruction]:
    """Each operand combined over the devices."""
    combiner: Computation = instruction.attributes["to_apply"]
    return [combine(combiner, column) for column in zip(*operands, strict=True)]


def _all_reduce(combine: Combine, instruction: Instruction, operands: Sequence[Row]) -> list[Instruction]:
    if not instruction.operands:
        raise instruction.unsupported("it has no operand")
    totals = _combined(combine, instruction, operands)
    return [bundle(totals, totals[0].computation)] * len(operands)


def _split(instruction: Instruction, array: Instruction, count: int) -> list[Instruction]:
    """An array cut into equal parts, one for each device, along the collective's dimension."""
    along, dims = instruction.attributes["dimensions"][0], array.array.dims
    size = shard_size(instruction, dims, count)
    kept = [[(0, extent) for extent in dims] for _ in range(count)]
    for position, ranges in enumerate(kept):
        ranges[along] = (position * size, (position + 1) * size)
    return [Expression(array).slice(*ranges).instruction for ranges in kept]


def _reduce_scatter(combine: Combine, instruction: Instruction, operands: Sequence[Row]) -> list[Instruction]:
    split = [_split(instruction, array, len(operands)) for array in _combined(combine, instruction, operands)]
    return [bundle(pieces, pieces[0].computation) for pieces in zip(*split, strict=True)]


def _joined(instruction: Instruction, pieces: Row) -> Instruction:
    along = instruction.attributes["dimensions"][0]
    return pieces[0] if len(pieces) == 1 else concatenate([Expression(piece) for piece in pieces], along).instruction


def _all_gather(instruction: Instruction, operands: Sequence[Row]) -> list[Instruction]:
    joined = [_joined(instruction, column) for column in zip(*operands, strict=True)]
    return [bundle(joined, joined[0].computation)] * len(operands)


def _all_to_all(instruction: Instruction, operands: Sequence[Row]) -> list[Instruction]:
    """Part j of device i becomes part i of device j; parts are cut from an array, or are the operands themselves."""
    count = len(operands)
    if instruction.attributes.get("dimensions"):
        pieces = [_split(instruction, row[0], count) for row in operands]
        return [_joined(instruction, column) for column in zip(*pieces, strict=True)]
    check_operands(instruction, count)
    return [bundle(column, column[0].computation) for column in zip(*operands, strict=True)]


def _ragged(_: Instruction, operands: Sequence[Row]) -> list[Instruction]:
    """Rows of each device go to each other one at offsets in the receiver; a device may have several pieces for one."""
    results = [row[1] for row in operands]
    for row in operands:
        numbers = [Expression(operand).to(S64).reshape(operand.array.size) for operand in row[2:5]]
        pieces = numbers[0].dims[0] // len(operands)
        for receiver, target in enumerate(results):
            own = [value.slice((receiver * pieces, (receiver + 1) * pieces)) for value in numbers]
            results[receiver] = received_rows(row[0], target, *own)
    return results


def _broadcast(_: Instruction, operands: Sequence[Row]) -> list[Instruction]:
    return [bundle(operands[0], operands[0][0].computation)] * len(operands)


def _exchanges(combine: Combine) -> dict[str, Exchange]:
    """The collectives that work in groups."""
    return {
        "all-reduce": partial(_all_reduce, combine),
        "all-reduce-start": partial(_all_reduce, combine),
        "reduce-scatter": partial(_reduce_scatter, combine),
        "all-gather": _all_gather,
        "all-gather-start": _all_gather,
        "all-to-all": _all_to_all,
        "ragged-all-to-all": _ragged,
        "collective-broadcast": _broadcast,
    }


def permuted(instruction: Instruction, source: Row | None, target: Row) -> Instruction:
    """What a device has after a collective-permute: what it was sent, or zeros.

    The form of four operands puts slices of the sender's array into the receiver's, at starts of either; of several
    arrays each has one slice.

    Args:
        instruction: the collective-permute.
        source: the sender's operands, None where there is no sender.
        target: the device's own operands.
    """
    computation = target[0].computation
    if "slice_sizes" not in instruction.attributes:
        given = [zeros(operand.shape, computation) for operand in target] if source is None else source
        return bundle(given, computation)
    is_several, results = isinstance(target[1].shape, TupleShape), _arrays(target[1])
    if source is not None:
        sizes = instruction.attributes["slice_sizes"]
        listed = sizes if sizes and isinstance(sizes[0], Sequence) else [sizes]
        moves = zip(listed, _starts(source[2]), _starts(target[3]), strict=True)
        for index, (extents, begin, end) in enumerate(moves):
            at = index if is_several else 0
            given = [_arrays(source[0])[at], *begin]
            cut = build(computation, "dynamic-slice", given, dynamic_slice_sizes=tuple(extents))
            results[at] = build(computation, "dynamic-update-slice", [results[at], cut, *end])
    return build(computation, "tuple", results) if is_several else results[0]


def _arrays(value: Instruction) -> list[Instruction]:
    """The elements of a tuple, or the one array."""
    shape = value.shape
    return [element(value, n) for n in range(len(shape.elements))] if isinstance(shape, TupleShape) else [value]


def _starts(value: Instruction) -> list[list[Instruction]]:
    """The starts of each slice: an array of them, a tuple of scalars, or a tuple of such tuples."""
    shape = value.shape
    if not isinstance(shape, TupleShape):
        whole = Expression(value).to(S32).reshape(value.array.size)
        return [[whole.slice((d, d + 1)).reshape().instruction for d in range(value.array.size)]]
    pieces = [element(value, index) for index in range(len(shape.elements))]
    if isinstance(shape.elements[0], TupleShape):
        return [_starts(piece)[0] for piece in pieces]
    return [pieces]


class Links:
    """The lines between the devices of one program; what was sent and not yet received is on them."""

    def __init__(self, grid: Grid, combine: Combine) -> None:
        self.grid, self._exchanges = grid, _exchanges(combine)
        self.sent: defaultdict[tuple[int, int], deque[Instruction]] = defaultdict(deque)
        self._transfers = {
            "send": self._send,
            "recv": self._receive,
            "recv-done": self._received,
            "send-done": self._waited,
        }

    def knows(self, instruction: Instruction) -> bool:
        """Whether an instruction looks at other devices, or at its own number, by itself and not by what it calls."""
        opcode = instruction.opcode
        return (
            opcode in COLLECTIVES
            or is_crossing(instruction)
            or (opcode in self._transfers and not instruction.attributes.get(_BY_HOST, False))
        )

    def wire(self, instruction: Instruction, target: Computation, rows: Rows, *, everyone: bool) -> Many:
        """What stands for a collective's value on each device.

        Args:
            instruction: a collective, or one that asks for the device's number.
            target: where instructions are added.
            rows: what stands for its operands, by device.
            everyone: whether a device in none of its groups is an error.
        """
        opcode = instruction.opcode
        if opcode in self._transfers:
            return self._transfers[opcode](instruction, target, rows)
        if is_crossing(instruction):
            return _crossed(instruction, target, rows)
        if opcode in NUMBERS:
            number_of = self.grid.replica if opcode == "replica-id" else self.grid.partition
            return {device: number(target, number_of(device), U32).instruction for device in rows}
        if opcode.endswith("-done"):
            return {d: row[0] if opcode == "all-reduce-done" else element(row[0], 1) for d, row in rows.items()}
        exchanged = self._exchanged(instruction, target, rows, everyone=everyone) if opcode in self._exchanges else None
        return _started(instruction, target, rows, exchanged or self._permuted(instruction, rows))

    def _permuted(self, instruction: Instruction, rows: Rows) -> Many:
        source_of = {to: source for source, to in pairs(instruction, self.grid)}
        return {d: permuted(instruction, rows.get(source_of.get(d, -1)), row) for d, row in rows.items()}

    def _exchanged(self, instruction: Instruction, target: Computation, rows: Rows, *, everyone: bool) -> Many:
        results: Many = {}
        for group in groups(instruction, self.grid):
            answers = self._exchanges[instruction.opcode](instruction, [rows[device] for device in group])
            for answer in answers:
                check_shapes(instruction, [shape.dims for shape in leaves(answer.shape)])
            results.update(zip(group, answers, strict=True))
        missing = [device for device in rows if device not in results]
        if missing and everyone and instruction.opcode != "collective-broadcast":
            raise instruction.unsupported(f"devices {missing} run it but are in none of its groups")
        return results | {device: zeros(instruction.shape, target) for device in missing}

    def _send(self, instruction: Instruction, target: Computation, rows: Rows) -> Many:
        channel = instruction.attributes.get("channel_id", 0)
        for source, to in transfer_pairs(instruction, self.grid):
            self.sent[channel, to].append(rows[source][0])
        return {device: _begun(target, row[0]) for device, row in rows.items()}

    def _receive(self, instruction: Instruction, target: Computation, rows: Rows) -> Many:
        shape = instruction.shape
        assert isinstance(shape, TupleShape)
        return {device: _begun(target, zeros(shape.elements[0], target)) for device in rows}

    def _received(self, instruction: Instruction, target: Computation, rows: Rows) -> Many:
        """What was sent; who sends may come between the beginning of the transfer and its end, but not later."""
        begun, shape = instruction.operands[0], instruction.shape
        assert isinstance(shape, TupleShape)
        targets = {to for _, to in transfer_pairs(begun, self.grid)}
        results: Many = {}
        for device in rows:
            waiting = self.sent[begun.attributes.get("channel_id", 0), device]
            if device in targets and not waiting:
                raise begun.unsupported(f"device {device} waits for what nobody sends before it")
            value = waiting.popleft() if device in targets else zeros(shape.elements[0], target)
            results[device] = build(target, "tuple", [value, build(target, "after-all")])
        return results

    def _waited(self, _: Instruction, target: Computation, rows: Rows) -> Many:
        return {device: build(target, "after-all") for device in rows}


def _begun(target: Computation, value: Instruction) -> Instruction:
    """What the first half of a transfer yields."""
    return build(target, "tuple", [value, number(target, 0, U32).instruction, build(target, "after-all")])


def _started(instruction: Instruction, target: Computation, rows: Rows, results: Many) -> Many:
    """The results, with operands and context where the first half of an asynchronous pair carries them along."""
    shape = instruction.shape
    if not instruction.opcode.endswith("-start") or instruction.opcode == "all-reduce-start":
        return results
    assert isinstance(shape, TupleShape)
    contexts = [zeros(context, target) for context in shape.elements[2:]]
    carried = {device: bundle(row, target) for device, row in rows.items()}
    return {d: build(target, "tuple", [carried[d], result, *contexts]) for d, result in results.items()}


def _crossed(crossing: Instruction, target: Computation, rows: Rows) -> Many:
    """What each device has beyond a crossing; what is the same part of the same whole is one instruction."""
    made: dict[tuple[object, ...], Instruction] = {}

    def value(result_number: int, cut: Cut, device: int) -> Instruction:
        if enters(crossing):
            whole = rows[device][result_number]
            key: tuple[object, ...] = (result_number, whole, cut.positions[device])
            if key not in made:
                made[key] = _shard(whole, cut, cut.positions[device])
            return made[key]
        pieces = [rows[holder][result_number] for holder in cut.holders[device]]
        key = (result_number, *pieces)
        if key not in made:
            made[key] = _whole(pieces, cut)
        return made[key]

    results: Many = {}
    for device in rows:
        values = tuple(value(result_number, cut, device) for result_number, cut in enumerate(cuts_of(crossing)))
        if isinstance(crossing.shape, TupleShape) and values not in made:
            made[values] = build(target, "tuple", values)
        results[device] = made[values] if isinstance(crossing.shape, TupleShape) else values[0]
    return results


def _shard(whole: Instruction, cut: Cut, position: Sequence[int]) -> Instruction:
    sizes = [size // count for size, count in zip(whole.array.dims, cut.counts, strict=True)]
    if all(count == 1 for count in cut.counts):
        return whole
    return Expression(whole).slice(*((p * n, p * n + n) for p, n in zip(position, sizes, strict=True))).instruction


def _whole(pieces: Row, cut: Cut) -> Instruction:
    """The parts side by side, along the last dimension first."""
    joined = [Expression(piece) for piece in pieces]
    for along in reversed(range(len(cut.counts))):
        count = cut.counts[along]
        if count > 1:
            joined = [concatenate(joined[at : at + count], along) for at in range(0, len(joined), count)]
    return joined[0].instruction
