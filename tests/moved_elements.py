"""Programs in which a function meets all that changes which element is where, each way as a result of its own.

What a loop computes in advance, in vectors or twice, it computes for elements that lie elsewhere than where it stands,
and near the ends of arrays for some that there are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.ops import OPS

_GATHER = "offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1"
_SCATTER = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
_ROW = 8


@dataclass(frozen=True, slots=True)
class Move:
    """A way to change which element is where.

    Attributes:
        dims: of what it makes.
        text: the operation on the array V; before it, ended by a semicolon each, may stand lines that define R.NAME, of
            type T.
        least: elements that V must have.
        ordered: whether elements are compared.
    """

    name: str
    dims: str
    text: str
    least: int = 1
    ordered: bool = False


def moves(n: int) -> Iterator[Move]:
    """All of them for an array of n elements; what else they take, `program` defines."""
    yield Move("slice", f"{n - 1}", f"slice(V), slice={{[1:{n}]}}", 2)
    yield Move("front", f"{n - 3}", f"slice(V), slice={{[0:{n - 3}]}}", 4)
    yield Move("strided", f"{-(-n // 3)}", f"slice(V), slice={{[0:{n}:3]}}")
    yield Move("behind", f"{n + 2}", "concatenate(few, V), dimensions={0}")
    yield Move("before", f"{n + 2}", "concatenate(V, few), dimensions={0}")
    yield Move("between", f"{n + 4}", "concatenate(few, V, few), dimensions={0}")
    yield Move(
        "part", f"{n}", f"R.s = T[{n - 2}] slice(V), slice={{[2:{n}]}}; concatenate(few, R.s), dimensions={{0}}", 3
    )
    yield Move("padded", f"{n + 5}", "pad(V, zero), padding=2_3")
    yield Move("advanced", f"{n}", "pad(V, zero), padding=-2_2", 3)
    yield Move("delayed", f"{n}", "pad(V, zero), padding=1_-1", 2)
    yield Move("apart", f"{2 * n - 1}", "pad(V, zero), padding=0_0_1")
    yield Move("reverse", f"{n}", "reverse(V), dimensions={0}")
    yield Move("rows", f"3,{n}", "broadcast(V), dimensions={1}")
    yield Move("columns", f"{n},3", "broadcast(V), dimensions={0}")
    yield Move("dynamic", f"{n - 1}", f"dynamic-slice(V, place), dynamic_slice_sizes={{{n - 1}}}", 2)
    yield Move("written", f"{n}", "dynamic-update-slice(V, few, place)", 2)
    yield Move("update", f"{n + 5}", "dynamic-update-slice(more, V, place)")
    yield Move("picked", "5,1", f"gather(V, places), {_GATHER}, slice_sizes={{1}}")
    yield Move("windows", f"5,{n - 1}", f"gather(V, places), {_GATHER}, slice_sizes={{{n - 1}}}", 2)
    yield Move("chosen", f"{n}", "select(early, V, w)")
    yield Move("sum", "", "reduce(V, zero), dimensions={0}, to_apply=add")
    yield Move("window", f"{n}", "reduce-window(V, zero), window={size=3 pad=1_1}, to_apply=add")
    yield Move("scatter", f"{n + 5}", f"scatter(more, spread, V), {_SCATTER}, to_apply=add")
    yield Move("sort", f"{n}", "sort(V), dimensions={0}, to_apply=below", ordered=True)
    if n % _ROW == 0:
        matrix = f"R.m = T[{n // _ROW},{_ROW}] reshape(V); "
        yield Move("transpose", f"{_ROW},{n // _ROW}", f"{matrix}transpose(R.m), dimensions={{1,0}}")
        yield Move("sums", f"{n // _ROW}", f"{matrix}reduce(R.m, zero), dimensions={{1}}, to_apply=add")
        yield Move("totals", f"{_ROW}", f"{matrix}reduce(R.m, zero), dimensions={{0}}, to_apply=add")
        yield Move("edge", f"{n // _ROW},{_ROW}", f"{matrix}pad(R.m, zero), padding=0_0x1_-1")


def _lines(move: Move, name: str, array: str, type_: str) -> list[str]:
    text = move.text.replace("V", array).replace("R.", f"{name}.").replace("T[", f"{type_}[")
    *ahead, last = text.split("; ")
    return [*ahead, f"{name} = {type_}[{move.dims}] {last}"]


def program(opcode: str, type_: str, n: int, *, after: bool) -> str:
    """An opcode of arrays of n elements that is moved afterwards, or whose operands are moved before."""
    given = ("x", "y")[: OPS[opcode].operands[0]]
    is_complex = type_.startswith("c")
    results: dict[str, str] = {}
    body: list[str] = []
    if after:
        body.append(f"f = {type_}[{n}] {opcode}({', '.join(given)})")
        results["f"] = f"{type_}[{n}]"
    for move in moves(n):
        if move.least > n or (move.ordered and is_complex):
            continue
        if after:
            body += _lines(move, move.name, "f", type_)
        else:
            names = [f"{move.name}.{operand}" for operand in given]
            for name, operand in zip(names, given, strict=True):
                body += _lines(move, name, operand, type_)
            body.append(f"{move.name} = {type_}[{move.dims}] {opcode}({', '.join(names)})")
        results[move.name] = f"{type_}[{move.dims}]"
    lines = "\n  ".join(body)
    zero, direction = ("(0, 0)", "EQ") if is_complex else ("0", "LT")
    return f"""HloModule moved
add {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)  ROOT s = {type_}[] add(a, b) }}
below {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)  ROOT c = pred[] compare(a, b), direction={direction} }}
ENTRY e {{
  x = {type_}[{n}] parameter(0)  y = {type_}[{n}] parameter(1)  w = {type_}[{n}] parameter(2)
  few = {type_}[2] parameter(3)  more = {type_}[{n + 5}] parameter(4)
  place = s32[] parameter(5)  places = s32[5,1] parameter(6)  spread = s32[{n},1] parameter(7)
  zero = {type_}[] constant({zero})  half = s32[] constant({n // 2})  halves = s32[{n}] broadcast(half), dimensions={{}}
  count = s32[{n}] iota(), iota_dimension=0  early = pred[{n}] compare(count, halves), direction=LT
  {lines}
  ROOT r = ({", ".join(results.values())}) tuple({", ".join(results)})
}}"""
