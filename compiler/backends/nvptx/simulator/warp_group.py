"""Tensor cores of Hopper: `wgmma`, products of 64 rows that four warps share, with operands in shared memory.

A product's sums are spread over the warps like those of `mma`: each warp has 16 rows, and 8 columns come after 8
columns (PTX ISA, "Register fragments and shared memory matrix layouts" of `wgmma`).  Numbers are multiplied as `matrix`
does it; `products` knows which of them are on their way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.batch import Action, Array, Batch, Lanes
from compiler.backends.nvptx.simulator.descriptor import PIECE_BYTES, PIECES_DEEP, Descriptor
from compiler.backends.nvptx.simulator.faults import Fault
from compiler.backends.nvptx.simulator.flatten import Placed
from compiler.backends.nvptx.simulator.matrix import gather, items_of, numbers_of
from compiler.backends.nvptx.simulator.operands import Operands
from compiler.backends.nvptx.simulator.pressure import names_of, uses_of
from compiler.backends.nvptx.simulator.products import FIRST_SHAPE, GROUP_LANES, Products
from compiler.backends.nvptx.simulator.rounding import FORMATS, from_wide
from compiler.backends.nvptx.simulator.syntax import Group, Immediate, Operand

_ROWS = 64
"""Of every product."""
_MOST_COLUMNS = 256
_A_REGISTERS = 4
"""That hold a thread's share of A."""
_TYPES: Mapping[str, tuple[str, ...]] = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "s8": ("s32",),
    "u8": ("s32",),
}
"""What elements may be, and of what type their sums."""
_DEPTHS: Mapping[str, int] = {"f16": 16, "bf16": 16, "tf32": 8, "s8": 32, "u8": 32}
_HALVES = frozenset({"f16", "bf16"})
"""Elements whose matrices may lie either way, which the instruction says."""
_INTEGERS = frozenset({"s8", "u8"})
_NARROW = frozenset({8, 24})
"""Columns of products of integers are these, or multiples of 16."""

_Read = Callable[[Batch, Lanes], NDArray[Any]]
"""The matrix of each group, of shape (groups, rows, depth)."""


def group_registers(placed: Iterable[Placed]) -> dict[str, int]:
    """A row for each register that products of a program use, by its unique name."""
    rows: dict[str, int] = {}
    for instruction, scope, _ in placed:
        if instruction.opcode == "wgmma" and "mma_async" in instruction.modifiers:
            used = [operand for operand in instruction.operands[:2] if isinstance(operand, Group)]
            for name in (name for operand in used for name in names_of(operand)):
                rows.setdefault(scope.prefix + name, len(rows))
    return rows


def touching(action: Action, operands: Operands) -> Action:
    """Another instruction, of which the registers are checked that products use."""
    known = operands.slots.group_rows
    if not known or operands.instruction.opcode == "wgmma":
        return action
    uses = uses_of(operands.instruction)
    names = [operands.scope.prefix + name for name in (*uses.writes, *uses.reads)]
    rows = np.array([known[name] for name in dict.fromkeys(names) if name in known], np.int64)
    if not rows.size:
        return action

    def act(batch: Batch) -> int | None:
        _products(batch).touch(batch.index, rows)
        return action(batch)

    return act


def decode_proxy_fence(operands: Operands) -> Action:
    """`fence`, which does something if it is `fence.proxy.async` and of shared memory."""
    modifiers = operands.instruction.modifiers
    if modifiers[:2] != ("proxy", "async") or "global" in modifiers:
        return lambda _: None
    return lambda batch: None if batch.products is None else batch.products.fence_proxy(batch.active)


def decode_warp_group(operands: Operands) -> Action:
    """`wgmma`."""
    modifiers = operands.instruction.modifiers
    if modifiers[1:3] != ("sync", "aligned"):
        operands.unsupported()
    match modifiers[0]:
        case "fence":
            return lambda batch: None if batch.products is None else batch.products.fence(_groups(batch))
        case "commit_group":
            return lambda batch: None if batch.products is None else batch.products.commit(_groups(batch))
        case "wait_group":
            allowed = _constant(operands, 0)
            return lambda batch: None if batch.products is None else batch.products.wait(_groups(batch), allowed)
        case "mma_async":
            return _decode_product(operands)
        case _:
            unsupported: Action = operands.unsupported()
            return unsupported


def decode_product_access(operands: Operands) -> Action:
    """A product of which only what it reads of shared memory is wanted."""
    size = _Form.of(operands).read_bytes

    def act(batch: Batch) -> None:
        assert batch.observer is not None
        batch.observer.stream_shared(size * (batch.active_count // GROUP_LANES))

    return act


def _products(batch: Batch) -> Products:
    assert batch.products is not None
    return batch.products


def _groups(batch: Batch) -> Lanes:
    """The warp groups that execute, all of them whole."""
    return _products(batch).whole_groups(batch.index)


def _constant(operands: Operands, number: int) -> int:
    operand = operands[number]
    if not isinstance(operand, Immediate):
        operands.fail(f"{operands.instruction.name} wants a constant here")
    assert isinstance(operand, Immediate)
    return int(operand.value)


@dataclass(frozen=True, slots=True)
class _Form:
    """A product's types and extents.

    Attributes:
        columns: of B and the sums.
        depth: terms of a sum.
        sum_type: of the sums.
        types: of the elements of A and B.
        is_deep: of A and B, whether terms lie side by side in shared memory.
        signs: by which A and B are multiplied.
        read_bytes: of shared memory that a product reads, each byte once for all warps of its group.
    """

    columns: int
    depth: int
    sum_type: str
    types: tuple[str, str]
    is_deep: tuple[bool, bool]
    signs: tuple[int, int]
    read_bytes: int

    @classmethod
    def of(cls, operands: Operands) -> _Form:
        """The form of an instruction."""
        modifiers = operands.instruction.modifiers
        if len(modifiers) not in (7, 8) or (len(modifiers) == 8) != ("satfinite" in modifiers):
            operands.unsupported()
        shape, (sum_type, a_type, b_type) = modifiers[3], modifiers[-3:]
        if sum_type not in _TYPES.get(a_type, ()) or (a_type != b_type and {a_type, b_type} != _INTEGERS):
            operands.unsupported()
        if "satfinite" in modifiers and a_type not in _INTEGERS:
            operands.unsupported()
        columns = _columns(operands, shape, a_type)
        has_a = isinstance(operands[1], Group)
        flips = (2 - has_a) if a_type in _HALVES else 0
        signs = 0 if a_type in _INTEGERS else 2
        if len(operands) != 4 + signs + flips:
            operands.fail(f"{operands.instruction.name} wants {4 + signs + flips} operands here")
        chosen = [_one_of(operands, 4 + n, (1, -1)) for n in range(signs)] or [1, 1]
        turned = [_one_of(operands, 4 + signs + n, (0, 1)) for n in range(flips)]
        a_turned, b_turned = [*([0] * (2 - flips)), *turned]
        types, is_deep = (a_type, b_type), (not a_turned, not b_turned)
        read_bytes = (columns + (0 if has_a else _ROWS)) * PIECES_DEEP * PIECE_BYTES
        return cls(columns, _DEPTHS[a_type], sum_type, types, is_deep, (chosen[0], chosen[1]), read_bytes)


def _columns(operands: Operands, shape: str, type_: str) -> int:
    rows, _, rest = shape.partition("n")
    columns, _, depth = rest.partition("k")
    if rows != f"m{_ROWS}" or not columns.isdigit() or depth != str(_DEPTHS[type_]):
        operands.unsupported()
    count = int(columns)
    step = 16 if type_ in _INTEGERS and count not in _NARROW else 8
    if count % step or not 0 < count <= _MOST_COLUMNS:
        operands.unsupported("there is no such number of columns")
    return count


def _one_of(operands: Operands, number: int, allowed: Sequence[int]) -> int:
    value = _constant(operands, number)
    if value not in allowed:
        operands.fail(f"{operands.instruction.name} wants {' or '.join(map(str, allowed))} here, not {value}")
    return value


def _decode_product(operands: Operands) -> Action:
    """`wgmma.mma_async.sync.aligned.SHAPE.D.A.B`."""
    form = _Form.of(operands)
    rows_of = operands.slots.group_rows
    slots = [operands.source(item, "b32") for item in items_of(operands, 0)]
    if len(slots) != form.columns // (4 if form.sum_type == "f16" else 2):
        operands.fail(f"{operands.instruction.name} has another number of sums")
    sums = _rows(operands, operands[0], rows_of)
    left, factors = _decode_left(operands, form)
    right = _from_shared(operands, 2, form, 1)
    scale, is_negated = operands.predicate(operands[3])
    shape = FIRST_SHAPE + form.columns * _ROWS + form.depth
    saturates = "satfinite" in operands.instruction.modifiers

    def act(batch: Batch) -> None:
        products = _products(batch)
        groups = _groups(batch)
        if factors.size:
            products.use(factors, groups, 0)
        products.use(sums, groups, shape)
        if batch.observer is not None:
            batch.observer.stream_shared(form.read_bytes * groups.size)
        adds = _uniform(batch, scale, groups) ^ is_negated
        product = np.matmul(left(batch, groups), right(batch, groups).transpose(0, 2, 1))
        before = _gather_sums(batch, slots, form, groups.size)
        total = np.where(adds[:, None, None], product + before, product)
        for slot, raw in zip(slots, _scatter_sums(total, form, saturates=saturates), strict=True):
            batch.write(slot, raw)

    return act


def _rows(operands: Operands, operand: Operand, rows_of: Mapping[str, int]) -> Lanes:
    """The rows of the registers of a list."""
    names = [operands.scope.prefix + name for name in names_of(operand)]
    if len(set(names)) != len(names):
        operands.fail(f"{operands.instruction.name} names a register twice")
    return np.array([rows_of[name] for name in names], np.int64)


def _decode_left(operands: Operands, form: _Form) -> tuple[_Read, Lanes]:
    """How A is read, and the rows of its registers, if it is in registers."""
    if not isinstance(operands[1], Group):
        return _from_shared(operands, 1, form, 0), np.zeros(0, np.int64)
    slots = [operands.source(item, "b32") for item in items_of(operands, 1)]
    if len(slots) != _A_REGISTERS:
        operands.fail(f"{operands.instruction.name} wants {_A_REGISTERS} registers of A")

    def read(batch: Batch, groups: Lanes) -> NDArray[Any]:
        warps = groups.size * GROUP_LANES // 32
        found = gather(batch, slots, form.types[0], (16, form.depth), warps).astype(np.float64)
        return found.reshape(groups.size, _ROWS, form.depth) * form.signs[0]

    return read, _rows(operands, operands[1], operands.slots.group_rows)


def _from_shared(operands: Operands, number: int, form: _Form, which: int) -> _Read:
    """How a matrix in shared memory is read.

    Args:
        operands: those of the instruction.
        number: of the operand that is its descriptor.
        form: of the product.
        which: 0 for A, 1 for B.
    """
    slot = operands.source(operands[number], "b64")
    rows, type_ = (_ROWS, form.columns)[which], form.types[which]
    is_deep, sign = form.is_deep[which], form.signs[which]

    def read(batch: Batch, groups: Lanes) -> NDArray[Any]:
        given = _uniform(batch, slot, groups)
        kinds, which_kind = np.unique(given, return_inverse=True)
        each = [_pieces(operands, int(bits), rows, is_deep=is_deep) for bits in kinds]
        addresses = np.stack(each)[which_kind.reshape(-1)]
        raw = _load(batch, groups, addresses.reshape(groups.size, -1))
        if is_deep:
            return numbers_of(raw, type_).astype(np.float64).reshape(groups.size, rows, form.depth) * sign
        by_term = numbers_of(raw, type_).reshape(groups.size, form.depth, rows)
        return by_term.transpose(0, 2, 1) * sign

    return read


def _pieces(operands: Operands, bits: int, rows: int, *, is_deep: bool) -> NDArray[np.int64]:
    """The addresses that a descriptor stands for.

    Args:
        operands: those of the instruction.
        bits: the descriptor.
        rows: of the matrix.
        is_deep: whether terms lie side by side.
    """
    descriptor = Descriptor.of(bits)
    if descriptor.has_unused:
        raise Fault("out-of-bounds", f"the matrix descriptor {bits:#x} sets bits that have no meaning")
    if descriptor.has_base_offset:
        operands.unsupported("a base offset in a matrix descriptor")
    return descriptor.pieces(rows, is_deep=is_deep)


def _load(batch: Batch, groups: Lanes, addresses: NDArray[np.int64]) -> Array:
    """The words of pieces at addresses of shape (groups, pieces), one after the other."""
    products, memory = _products(batch), batch.shared
    last = memory.size_bytes - PIECE_BYTES
    if addresses.max() > last:
        outside = addresses > last
        group = int(np.argmax(outside.any(axis=1)))
        address = int(addresses[group, int(np.argmax(outside[group]))])
        message = (
            f"a product reads {PIECE_BYTES} bytes at {address:#x}, outside the {memory.size_bytes} bytes of shared"
        )
        raise Fault("out-of-bounds", f"{message} memory", lane=int(products.first_lane[groups[group]]))
    blocks = batch.block_of_lane[products.first_lane[groups]]
    pieces = (addresses + blocks[:, None] * memory.stride) // PIECE_BYTES
    invalid = memory.first_invalid(pieces.reshape(-1), PIECE_BYTES)
    if invalid is not None:
        lane = int(products.first_lane[groups[invalid // pieces.shape[1]]])
        message = f"a product reads {PIECE_BYTES} bytes of shared memory that nothing has written"
        raise Fault("uninitialised", message, lane=lane)
    products.read(groups, pieces)
    words = memory.load(pieces.reshape(-1), np.dtype(np.uint32), PIECE_BYTES // 4)
    return np.array(words).reshape(-1)


def _uniform(batch: Batch, slot: int, groups: Lanes) -> NDArray[Any]:
    """A register's value of each group, in which all threads must have the same.

    Args:
        batch: the warps, and which of their lanes are active.
        slot: the register's.
        groups: those that execute.

    Raises:
        Fault: they have not.
    """
    value = batch.read(slot)
    if value.size == 1:
        return np.broadcast_to(value, groups.shape)
    each = value.reshape(groups.size, GROUP_LANES)
    differs = each != each[:, :1]
    if differs.any():
        message = "the threads of a warp group give different descriptors or scales to one product"
        raise Fault("divergent-warp-group", message, int(np.argmax(differs)))
    first: NDArray[Any] = each[:, 0]
    return first


def _gather_sums(batch: Batch, slots: Sequence[int], form: _Form, groups: int) -> NDArray[Any]:
    """The sums before a product, of shape (groups, rows, columns)."""
    raw = np.stack([batch.read_full(slot) for slot in slots])
    if form.sum_type == "s32":
        values: NDArray[Any] = raw.view(np.int32).astype(np.float64)
    else:
        values = numbers_of(raw.reshape(-1), form.sum_type) if form.sum_type == "f16" else _wide(raw)
    # Columns in eights, upper and lower rows, pairs; groups, warps, rows, columns in pairs.
    if form.sum_type == "f16":
        values = values.reshape(form.columns // 8, 2, groups, 4, 8, 4, 2).transpose(0, 1, 6, 2, 3, 4, 5)
    spread = values.reshape(form.columns // 8, 2, 2, groups, 4, 8, 4)
    return spread.transpose(3, 4, 1, 5, 0, 6, 2).reshape(groups, _ROWS, form.columns)


def _wide(raw: Array) -> NDArray[np.float64]:
    return raw.view(np.float32).astype(np.float64)


def _scatter_sums(total: NDArray[np.float64], form: _Form, *, saturates: bool) -> Iterable[Array]:
    """The registers that hold sums of shape (groups, rows, columns), each over all lanes."""
    groups = total.shape[0]
    spread = total.reshape(groups, 4, 2, 8, form.columns // 8, 4, 2)
    if form.sum_type == "f16":
        pairs = np.ascontiguousarray(spread.transpose(4, 2, 0, 1, 3, 5, 6)).reshape(-1)
        return from_wide(pairs, FORMATS["f16"]).view(np.uint32).reshape(form.columns // 4, -1)
    ordered = np.ascontiguousarray(spread.transpose(4, 2, 6, 0, 1, 3, 5)).reshape(-1)
    if form.sum_type == "s32":
        if saturates:
            ordered = np.clip(ordered, -(2**31), 2**31 - 1)
        raw: Array = ordered.astype(np.int64).astype(np.uint64).astype(np.uint32)
    else:
        raw = from_wide(ordered, FORMATS["f32"])
    return raw.reshape(form.columns // 2, -1)
