"""Tensor cores: `mma.sync` of f16, bf16, tf32, s8, u8 and f64, and `ldmatrix`.

The fragments of a warp are gathered into whole matrices, multiplied, and scattered back.  In every fragment a 32-bit
register holds `p` elements that lie side by side along k, lane `4 g + t` has row (or column) `g`, and its elements
begin at `p t`; further registers continue 8 rows down or `4 p` columns on (PTX ISA, "Matrix fragments for mma").
Products are exact in f64 and are summed there; the hardware, whose order of additions is not documented, rounds more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.access import load, touch
from compiler.backends.nvptx.simulator.batch import Action, Array, Batch, Lanes
from compiler.backends.nvptx.simulator.faults import Fault
from compiler.backends.nvptx.simulator.memory import Addresses
from compiler.backends.nvptx.simulator.operands import Operands
from compiler.backends.nvptx.simulator.rounding import FORMATS, from_wide, to_wide
from compiler.backends.nvptx.simulator.syntax import Group, Operand, Sink
from compiler.backends.nvptx.simulator.transfer import decode_address, space_of

_LANE = np.arange(32)
_GROUP, _THREAD = _LANE >> 2, _LANE & 3
_ROW_BYTES = 16
"""Of a matrix that `ldmatrix` loads."""
_ELEMENT_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "f64": 64}
_SHAPES = {
    "f16": ("m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "s8": ("m16n8k16", "m16n8k32"),
    "u8": ("m16n8k16", "m16n8k32"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
}


def decode_matrix_multiply(operands: Operands) -> Action:
    """`mma.sync.aligned.SHAPE.row.col.D.A.B.C`."""
    modifiers = operands.instruction.modifiers
    d_type, a_type, b_type, c_type = modifiers[-4:]
    shape = next((m for m in modifiers if m.startswith("m")), "")
    if shape not in _SHAPES.get(a_type, ()) or {"sp", "xor", "and"} & set(modifiers) or d_type != c_type:
        operands.unsupported()
    if _ELEMENT_BITS[a_type] != _ELEMENT_BITS.get(b_type):
        operands.unsupported()
    rows = 8 if shape.startswith("m8") else 16
    depth = int(shape.rpartition("k")[2])
    register_type = "f64" if a_type == "f64" else "b32"
    a = [operands.source(item, register_type) for item in items_of(operands, 1)]
    b = [operands.source(item, register_type) for item in items_of(operands, 2)]
    c_register = "f64" if a_type == "f64" else "b32"
    c = [operands.source(item, c_register) for item in items_of(operands, 3)]
    d = [None if isinstance(item, Sink) else operands.register(item) for item in items_of(operands, 0)]
    saturates = "satfinite" in modifiers

    def act(batch: Batch) -> None:
        warps = _whole_warps(batch)
        left = gather(batch, a, a_type, (rows, depth), warps)
        right = gather(batch, b, b_type, (8, depth), warps)
        start = _gather_result(batch, c, c_type, rows, warps)
        total = np.matmul(left, right.transpose(0, 2, 1)) + start
        for register, raw in enumerate(_scatter_result(total, d_type, len(d), saturates=saturates)):
            slot = d[register]
            if slot is not None:
                batch.write(slot, raw)

    return act


def items_of(operands: Operands, number: int) -> tuple[Operand, ...]:
    """The operands of a list, or the one that stands alone."""
    operand = operands[number]
    return operand.items if isinstance(operand, Group) else (operand,)


def _whole_warps(batch: Batch) -> int:
    """The number of warps; all lanes of each must execute."""
    lanes = batch.active
    first = lanes[::32]
    is_whole = lanes.size % 32 == 0 and bool((batch.lane_in_warp[first] == 0).all())
    if not is_whole or not (lanes.reshape(-1, 32) == first[:, None] + _LANE).all():
        raise Fault("divergent-shuffle", "not all 32 threads of the warp execute a matrix instruction together")
    return lanes.size // 32


def numbers_of(raw: Array, type_: str) -> NDArray[Any]:
    """The elements of one register, one column each, in f64 or int64."""
    if type_ in ("s8", "u8"):
        kind = np.int8 if type_ == "s8" else np.uint8
        return np.ascontiguousarray(raw).view(kind).reshape(-1, 4).astype(np.int64)
    if type_ == "f64":
        return raw.view(np.float64).reshape(-1, 1)
    if type_ == "tf32":
        return to_wide(raw & np.uint32(0xFFFF_E000), FORMATS["f32"]).reshape(-1, 1)
    halves = np.ascontiguousarray(raw).view(np.uint16)
    return to_wide(halves, FORMATS[type_]).reshape(-1, 2)


def gather(batch: Batch, slots: list[int], type_: str, shape: tuple[int, int], warps: int) -> NDArray[Any]:
    """The matrix of each warp, (warps, rows or columns, k)."""
    per = max(1, 32 // _ELEMENT_BITS[type_])
    tall = shape[0] == 16
    matrix: NDArray[Any] = np.zeros((warps, *shape), np.int64 if type_ in ("s8", "u8") else np.float64)
    for register, slot in enumerate(slots):
        values = numbers_of(batch.read_full(slot), type_).reshape(warps, 32, per)
        down, right = (register & 1, register >> 1) if tall else (0, register)
        for element in range(per):
            columns = _THREAD * per + element + 4 * per * right
            matrix[:, _GROUP + 8 * down, columns] = values[:, :, element]
    return matrix


def _result_positions(rows: int, registers: int) -> list[list[tuple[NDArray[np.int64], NDArray[np.int64]]]]:
    """For each register of a 16x8 or 8x8 result the places of its elements."""
    pairs = rows // 8
    per = 2 * pairs // registers
    positions = [(_GROUP + 8 * (i >> 1), 2 * _THREAD + (i & 1)) for i in range(2 * pairs)]
    return [positions[register * per : (register + 1) * per] for register in range(registers)]


def _gather_result(batch: Batch, slots: list[int], type_: str, rows: int, warps: int) -> NDArray[Any]:
    matrix: NDArray[Any] = np.zeros((warps, rows, 8), np.int64 if type_ == "s32" else np.float64)
    for slot, positions in zip(slots, _result_positions(rows, len(slots)), strict=True):
        raw = batch.read_full(slot)
        if type_ == "s32":
            values: NDArray[Any] = np.ascontiguousarray(raw).view(np.int32).reshape(warps, 32, 1)
        elif type_ == "f16":
            values = numbers_of(raw, "f16").reshape(warps, 32, 2)
        else:
            values = to_wide(raw, FORMATS[type_]).reshape(warps, 32, 1)
        for element, (row, column) in enumerate(positions):
            matrix[:, row, column] = values[:, :, element]
    return matrix


def _scatter_result(total: NDArray[Any], type_: str, registers: int, *, saturates: bool) -> list[Array]:
    """The registers that hold a result, each over all lanes."""
    result = []
    for positions in _result_positions(total.shape[1], registers):
        columns = np.stack([total[:, row, column].reshape(-1) for row, column in positions], axis=1)
        if type_ == "s32":
            if saturates:
                columns = np.clip(columns, -(2**31), 2**31 - 1)
            raw: Array = columns.reshape(-1).astype(np.uint64).astype(np.uint32)
        else:
            raw = from_wide(np.ascontiguousarray(columns).reshape(-1), FORMATS[type_])
        result.append(raw.view(np.uint32) if type_ == "f16" else raw)
    return result


def decode_load_matrix(operands: Operands) -> Action:
    """`ldmatrix`: 8x8 matrices of 16-bit elements, whose rows the lanes' addresses name in turn."""
    modifiers = operands.instruction.modifiers
    if "m8n8" not in modifiers or modifiers[-1] != "b16":
        operands.unsupported()
    targets = [operands.register(item) for item in items_of(operands, 0)]
    rows_of, space = _rows(operands), space_of(operands, operands[1])
    is_transposed = "trans" in modifiers

    def act(batch: Batch) -> None:
        count, saved = len(targets), batch.index
        full, batch.index = rows_of(batch)
        try:
            rows = load(batch, space, full, np.dtype(np.uint16), 8)
        finally:
            batch.index = saved
        warps = full.size // (8 * count)
        matrices = np.broadcast_to(rows, (full.size, 8)).reshape(warps, count, 8, 8)
        if is_transposed:
            matrices = matrices.transpose(0, 1, 3, 2)
        for number, slot in enumerate(targets):
            pairs = np.ascontiguousarray(matrices[:, number]).reshape(warps, 8, 4, 2)
            batch.write(slot, pairs.reshape(-1).view(np.uint32).copy())

    return act


def decode_matrix_access(operands: Operands) -> Action:
    """`ldmatrix` of which only the addresses are wanted."""
    rows_of, space = _rows(operands), space_of(operands, operands[1])

    def act(batch: Batch) -> None:
        saved = batch.index
        full, batch.index = rows_of(batch)
        touch(batch, space, full, _ROW_BYTES)
        batch.index = saved

    return act


def _rows(operands: Operands) -> Callable[[Batch], tuple[Addresses, Lanes]]:
    """The addresses of the rows that `ldmatrix` loads, and the lanes that name them."""
    used = _LANE[: 8 * len(items_of(operands, 0))]
    addresses = decode_address(operands, operands[1])

    def rows_of(batch: Batch) -> tuple[Addresses, Lanes]:
        warps = _whole_warps(batch)
        full = np.broadcast_to(addresses(batch), (batch.active_count,)).reshape(warps, 32)[:, used].reshape(-1)
        return full, batch.active.reshape(warps, 32)[:, used].reshape(-1)

    return rows_of
