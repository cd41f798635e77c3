"""The results of a sort that a program reads: some of them, or no more than the first few of each line (top-k).

The other results, and what comes behind the first few, need neither memory nor be written.
"""

from __future__ import annotations

from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, TupleShape


def read_of(sort: Instruction) -> list[Instruction]:
    """The values that a sort may yield instead of all results; empty where everything is read, or in another way."""
    results = _results(sort)
    if any(not isinstance(result.shape, ArrayShape) or result.array.is_dynamic for result in results):
        return []
    (dimension,) = sort.attributes["dimensions"]
    cuts = [cut for result in results for cut in _cuts(result, dimension)]
    if results and len(cuts) == len(results) and len({cut.array.dims for cut in cuts}) == 1:
        return cuts
    return results if len(results) < len(sort.operands) else []


def _results(sort: Instruction) -> list[Instruction]:
    """The arrays that are read, each once; none where the tuple is read as a whole."""
    if not isinstance(sort.shape, TupleShape):
        return [sort]
    users = list(sort.users)
    once = {user.attributes.get("index") for user in users}
    whole = sort.is_root or any(user.opcode != "get-tuple-element" for user in users) or len(once) < len(users)
    return [] if whole else users


def _cuts(result: Instruction, dimension: int) -> list[Instruction]:
    """The slice of the first few of each line, where nothing else is read of a result."""
    users = list(result.users)
    if len(users) != 1 or users[0].opcode != "slice" or result.is_root:
        return []
    dims, cuts = result.array.dims, users[0].attributes["slice"]
    from_start = all(cut.start == 0 and cut.stride == 1 for cut in cuts)
    whole = all(cut.limit == size for d, (cut, size) in enumerate(zip(cuts, dims, strict=True)) if d != dimension)
    return users if from_start and whole and 0 < cuts[dimension].limit < dims[dimension] else []
