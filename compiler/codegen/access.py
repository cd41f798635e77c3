"""Elements read and written at an index on symbols: one, or as many neighbours as the emission's lanes ask for.

Where lanes are neighbours in memory, they are one vector; where they are a few elements apart, they are picked from a
few; where they are far apart, a gather; where the index is the same for all of them, one element that `LaneBuilder`
spreads when it meets a vector.  Where lanes are paired, half of them are the upper halves of words: bf16 is taken apart
and put together by one instruction for each vector of f32.
"""

from __future__ import annotations

from compiler.codegen import element
from compiler.codegen.index import Emission, Index, Lane
from compiler.codegen.lane_builder import LaneBuilder, even_first
from compiler.codegen.llvm_ir import I1, I32, PTR, Builder, Value, integer, lanes_of, mangled, splat, vector_type, zero
from compiler.ir.types import BF16, ElementType

_HALF, _UPPER = 16, -65536
"""Bits of bf16, and those of it among the bits of f32."""
_SHORT_STRIDE = 8
"""Elements from one lane to the next up to which reading all that lies between is cheaper than a gather."""


def read(emission: Emission, pointer: Value, element_type: ElementType, index: Index, metadata: str = "") -> Value:
    """The element at an index of an array at `pointer`, in the form in which it is computed with.

    Args:
        emission: where code is emitted, with what is known there.
        pointer: where the array begins.
        element_type: of its elements.
        index: of the element.
        metadata: of the load, as LLVM has it.
    """
    builder, lane = emission.builder, emission.lane
    storage = element.storage_type(element_type)
    start = lane.start(index) if lane else None
    if lane is None or start is None:
        strided = lane.strided(index) if lane and lane.mask is None else None
        if lane and strided and 1 < strided[1] <= min(_SHORT_STRIDE, lane.width):
            first = builder.gep(storage, pointer, emission.value(strided[0]))
            return _loaded(builder, lane, element_type, _picked(emission, first, element_type, strided[1]))
        address = _address(emission, storage, pointer, index)
        if lanes_of(address.type):
            return element.loaded(builder, element_type, _gather(emission, address, storage, element_type.size_bytes))
        return element.load(builder, element_type, address, metadata)
    return read_neighbours(emission, builder.gep(storage, pointer, emission.value(start)), element_type, metadata)


def _address(emission: Emission, storage: str, pointer: Value, index: Index) -> Value:
    """The address of an element; what is looked up, as one index of several, is added last.

    LLVM would add two of them in 32 bits.  The sum has no sign that it knows of, so that its vectors are widened to 64
    bits, of which a gather takes half as many.
    """
    looked_up = [term for term in index.terms if term[0].variable.looked_up]
    neighbours = [(digit, factor) for digit, factor in looked_up if factor == 1 and digit.is_whole]
    if emission.narrow or len(looked_up) == 1 or len(neighbours) != 1:
        return emission.builder.gep(storage, pointer, emission.value(index))
    rest = Index(tuple(term for term in index.terms if term != neighbours[0]), index.constant)
    first = emission.builder.gep(storage, pointer, emission.value(rest))
    return emission.builder.gep(storage, first, emission.value(Index((neighbours[0],))))


def read_neighbours(emission: Emission, address: Value, element_type: ElementType, metadata: str = "") -> Value:
    """Elements from an address on, one for each of the emission's lanes, in the form in which they are computed with.

    Args:
        emission: where code is emitted; it has lanes.
        address: of the element in the first lane.
        element_type: of the elements.
        metadata: of the instruction that reads, as LLVM has it.
    """
    builder, lane = emission.builder, emission.lane
    assert lane is not None
    vector, size = vector_type(element.storage_type(element_type), lane.width), element_type.size_bytes
    if lane.mask is None:
        found = builder.load(vector, address, align=size, metadata=metadata)
    else:
        name = f"masked.load.{mangled(vector)}.p0"
        arguments = [address, integer(size, I32), _in_memory(builder, lane, lane.mask), zero(vector)]
        found = builder.intrinsic(name, arguments, result=vector)
    return _loaded(builder, lane, element_type, found)


def _loaded(builder: Builder, lane: Lane, element_type: ElementType, found: Value) -> Value:
    """Neighbours as they lie in memory, as values in lanes."""
    if not lane.paired:
        return element.loaded(builder, element_type, found)
    if element_type is not BF16:
        return element.loaded(builder, element_type, builder.shuffle(found, None, even_first(lane.width)))
    words = builder.cast("bitcast", found, vector_type(I32, lane.width // 2))
    even = builder.binary("shl", words, integer(_HALF, words.type))
    odd = builder.binary("and", words, integer(_UPPER, words.type))
    return builder.cast("bitcast", builder.shuffle(even, odd, range(lane.width)), "float")


def _stored(builder: Builder, lane: Lane, element_type: ElementType, value: Value) -> Value:
    """Values in lanes as neighbours lie in memory."""
    if not lane.paired or element_type is not BF16:
        return _in_memory(builder, lane, element.stored(builder, element_type, value))
    bits, half = builder.cast("bitcast", value, I32), lane.width // 2
    even, odd = (builder.shuffle(bits, None, range(first, first + half)) for first in (0, half))
    low = builder.binary("lshr", even, integer(_HALF, even.type))
    high = builder.binary("and", odd, integer(_UPPER, odd.type))
    return builder.cast("bitcast", builder.binary("or", low, high), vector_type("i16", lane.width))


def _in_memory(builder: Builder, lane: Lane, lanes: Value) -> Value:
    """Lanes in the order of the counter's values."""
    if not lane.paired:
        return lanes
    return builder.shuffle(lanes, None, [n // 2 + n % 2 * (lane.width // 2) for n in range(lane.width)])


def _picked(emission: Emission, first: Value, element_type: ElementType, step: int) -> Value:
    """Every `step`th element from an address on, out of vectors that do not reach beyond the last."""
    builder, lane = emission.builder, emission.lane
    assert lane
    width, storage = lane.width, element.storage_type(element_type)
    starts = [min(number * width, step * (width - 1) + 1 - width) for number in range(step)]
    vector, size = vector_type(storage, width), element_type.size_bytes
    vectors = [builder.load(vector, builder.gep(storage, first, integer(n)), align=size) for n in starts]
    picked, positions = vectors[0], [n * step for n in range(width)]
    for start, one in zip(starts[1:], vectors[1:], strict=True):
        # What is beyond the present part is picked from a later one.
        lanes = [at if at < width else width + n * step - start for n, at in enumerate(positions)]
        positions = [n if lane < 2 * width else width for n, lane in enumerate(lanes)]
        picked = builder.shuffle(picked, one, [lane if lane < 2 * width else -1 for lane in lanes])
    return picked


def _gather(emission: Emission, addresses: Value, storage: str, size: int) -> Value:
    builder, lane = emission.builder, emission.lane
    lanes = lanes_of(addresses.type)
    vector = vector_type(storage, lanes)
    mask = lane.mask if lane and lane.mask else splat(Value(I1, "true"), lanes)
    name = f"masked.gather.{mangled(vector)}.{mangled(vector_type(PTR, lanes))}"
    return builder.intrinsic(name, [addresses, integer(size, I32), mask, zero(vector)], result=vector)


def write(emission: Emission, pointer: Value, element_type: ElementType, index: Index, value: Value) -> None:
    """Store an element at an index of an array at `pointer`; lanes must be neighbours there.

    Args:
        emission: where code is emitted, with what is known there.
        pointer: where the array begins.
        element_type: of its elements.
        index: of the element.
        value: the element, in the form in which it is computed with.
    """
    builder, lane = emission.builder, emission.lane
    storage, size = element.storage_type(element_type), element_type.size_bytes
    start = lane.start(index) if lane else None
    if lane is None or start is None:
        address = builder.gep(storage, pointer, emission.value(index))
        element.store(builder, element_type, value, address)
        return
    assert isinstance(builder, LaneBuilder)
    address = builder.gep(storage, pointer, emission.value(start))
    stored = _stored(builder, lane, element_type, builder.lift(value, lane.width))
    if lane.mask is None:
        builder.store(stored, address, align=size)
        return
    if lane.is_alone:
        # Of halves of words that are stored under a mask known to have one lane, LLVM 22 stores a word.
        builder.store(builder.extract(stored, 0), address, align=size)
        return
    name = f"masked.store.{mangled(stored.type)}.p0"
    builder.intrinsic(name, [stored, address, integer(size, I32), _in_memory(builder, lane, lane.mask)], result="void")
