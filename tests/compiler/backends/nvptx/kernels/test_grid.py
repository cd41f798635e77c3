"""Who a thread is and how it talks to others, in a grid of its own and within a larger launch."""

import numpy as np
import pytest
from emitted_kernels import kernel

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.simulator import Machine, parse_ptx
from compiler.backends.nvptx.target import target_of
from compiler.codegen import llvm
from compiler.codegen.element import storage_type
from compiler.codegen.index import Emission
from compiler.codegen.llvm_ir import I32, PTR, Module, Value, integer
from compiler.ir.types import TYPES

IN, OUT = Value(PTR, "%in0"), Value(PTR, "%out0")


def negation(count, type_="s32"):
    return kernel(f"ENTRY e {{ x = {type_}[{count}] parameter(0)  ROOT n = {type_}[{count}] negate(x) }}")


def launched(module, launch, x):
    """What a launch leaves in the result, in the simulator."""
    native = llvm.parse(str(module), target_of("sm_90"), 1)
    llvm.optimise(native, target_of("sm_90"), 1)
    ptx = parse_ptx(llvm.assembly(native, target_of("sm_90"), 1))
    machine = Machine()
    places = [machine.allocate(x.nbytes), machine.allocate(x.nbytes), 0]
    machine.write(places[0], x)
    machine.write(places[1], np.zeros_like(x))
    machine.launch(ptx, launch.function, (launch.blocks, 1, 1), (launch.threads, 1, 1), [*places, *launch.numbers])
    return np.frombuffer(machine.read(places[1], x.nbytes), x.dtype)


def by_lane(count, body, type_="s32", dtype=np.int32):
    """What each thread stores of what `body` makes of the element of its number."""
    module, found = Module(), negation(count, type_)
    storage = storage_type(TYPES[type_])

    def one(builder, number):
        value = builder.load(storage, builder.gep(storage, IN, number))
        builder.store(body(builder, value), builder.gep(storage, OUT, number))

    return launched(module, grid.for_each(module, found, count, one), np.arange(count).astype(dtype)).tolist()


@pytest.mark.parametrize("count", [1, 31, grid.BLOCK, grid.BLOCK + 1, 1000])
def test_there_is_a_thread_for_every_number_and_nothing_is_done_beyond(count):
    module, found = Module(), negation(count)
    seen = []

    def body(builder, number):
        seen.append(number)
        builder.store(builder.cast("trunc", number, I32), builder.gep("i32", OUT, number))

    launch = grid.for_each(module, found, count, body)
    assert (launch.blocks, launch.threads) == (-(-count // grid.BLOCK), min(count, grid.BLOCK))
    assert launched(module, launch, np.zeros(count, np.int32)).tolist() == list(range(count))
    assert len(seen) == 1, "it is written once"


def test_numbers_stand_behind_the_pointers():
    module, found = Module(), negation(4)

    def body(builder, number):
        builder.store(builder.cast("trunc", Value("i64", "%by"), I32), builder.gep("i32", OUT, number))

    launch = grid.for_each(module, found, 4, body, numbers=[("by", 9)])
    assert launch.numbers == (9,)
    assert launched(module, launch, np.zeros(4, np.int32)).tolist() == [9] * 4


def test_threads_of_a_block_share_numbers_a_block_apart():
    module, found = Module(), negation(70)
    builder = grid.begin(module, found, 32)
    with grid.strided(builder, integer(3), integer(70), 32) as number:
        builder.store(builder.cast("trunc", grid.thread(builder), I32), builder.gep("i32", OUT, number))
    builder.ret()
    launch = grid.Launch(builder.function.name, 1, 32)
    expected = [0] * 3 + [(n - 3) % 32 for n in range(3, 70)]
    assert launched(module, launch, np.zeros(70, np.int32)).tolist() == expected


@pytest.mark.parametrize("width", [1, 2, 8, 32])
def test_lanes_are_combined_in_order_and_the_first_of_each_group_has_it(width):
    def body(builder, value):
        def digits(emission, left, right):
            # In another order it would be another number.
            return [builder.add(builder.binary("shl", left[0], integer(1, I32)), right[0])]

        return grid.reduce_lanes(Emission(builder), [value], digits, width)[0]

    def expected(first):
        values, distance = list(range(first, first + width)), 1
        while distance < width:
            values = [2 * a + b for a, b in zip(values[::2], values[1::2], strict=True)]
            distance *= 2
        return values[0]

    assert by_lane(64, body)[::width] == [expected(first) for first in range(0, 64, width)]


@pytest.mark.parametrize(
    ("type_", "dtype"), [("s32", np.int32), ("f64", np.float64), ("c64", np.complex64), ("s8", np.int8)]
)
def test_values_of_every_width_go_from_lane_to_lane(type_, dtype):
    spread = by_lane(64, lambda builder, value: grid.spread_lanes(builder, [value], 8)[0], type_, dtype)
    assert spread == [n // 8 * 8 for n in range(64)]
    moved = by_lane(32, lambda builder, value: grid.shuffle_up(builder, value, 3), type_, dtype)
    assert moved == [0, 1, 2, *range(29)]


def test_a_part_of_a_larger_launch_is_told_who_it_is():
    module = grid.LaunchModule.of(Module(), whole=256)
    builder = grid.begin(module, negation(4), 32)
    grid.linear_thread(builder, 32)
    text = str(builder.function)
    assert text.count("%own.thread") == 2
    assert "sreg" not in text
    assert "noalias" not in text, "others of the launch may write what it reads"


@pytest.mark.parametrize(("threads", "waits"), [(256, "sync.aligned.all"), (64, "sync.aligned.count")])
def test_a_part_waits_for_as_many_threads_as_it_is_made_for(threads, waits):
    module = grid.LaunchModule.of(Module(), whole=256)
    builder = grid.begin(module, negation(4), threads)
    grid.barrier(builder)
    assert builder.function.waits
    assert waits in str(builder.function)


def test_shared_memory_is_counted_with_its_function():
    builder = grid.begin(Module(), negation(4), 32)
    grid.shared_array(builder, "tile", TYPES["f32"], 100)
    assert sum(builder.function.shared.values()) == 400


@pytest.mark.parametrize(("talks", "is_apart"), [(False, True), (True, False)])
def test_what_others_write_llvm_must_not_take_for_untouched(talks, is_apart):
    builder = grid.begin(Module(), negation(4), 32, talks=talks)
    (out,) = (kind for kind, name in builder.function.parameters if name == "out0")
    assert ("noalias" in out) is is_apart
