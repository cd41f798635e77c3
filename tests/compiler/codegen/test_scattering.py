"""Where the updates of a scatter go, element by element and window by window, as the reference has it."""

import itertools

import numpy as np
import pytest
from emitted_kernels import for_each, kernel, run

import compiler
from compiler.codegen import element, nest, scattering
from compiler.codegen.index import constant
from compiler.codegen.signature import arguments

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }"
SCATTERS = {
    "points of a vector": (
        "f32[6]", "s32[3,1]", "f32[3]",
        "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
    ),
    "rows": (
        "f32[4,5]", "s32[3,1]", "f32[3,5]",
        "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
    ),
    "windows whose start is two indices, the vector first": (
        "f32[4,5]", "s32[2,3]", "f32[3,2,2]",
        "update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=0",
    ),
    "indices without a vector": (
        "f32[6]", "s32[3]", "f32[3,2]",
        "update_window_dims={1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
    ),
    "batches": (
        "f32[2,5]", "s32[2,3,1]", "f32[2,3]",
        """update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, index_vector_dim=2,
        input_batching_dims={0}, scatter_indices_batching_dims={0}""",
    ),
}  # fmt: skip
ELEMENTS = itertools.cycle([0, 3, 1, -1, 4, 1, 99])


def given(name):
    operand, indices, updates, attributes = SCATTERS[name]
    text = f"""{ADD} ENTRY e {{ x = {operand} parameter(0)  i = {indices} parameter(1)  u = {updates} parameter(2)
      ROOT r = {operand} scatter(x, i, u), {attributes}, to_apply=add }}"""
    module = compiler.parse(text)
    x, i, u = (p.shape for p in module.entry.parameters)
    where = np.array([next(ELEMENTS) for _ in range(i.size)], np.int32).reshape(i.dims)
    arrays = [np.arange(x.size, dtype=np.float32).reshape(x.dims), where, 100 + np.arange(u.size, dtype=np.float32)]
    arrays[2] = arrays[2].reshape(u.dims)
    return kernel(text), arrays, compiler.interpret(module, *arrays)[0]


@pytest.mark.parametrize("name", SCATTERS)
def test_every_update_goes_to_its_element_and_windows_that_stick_out_are_dropped(name):
    found, arrays, expected = given(name)
    dims = scattering.updates(found).dims

    def one(emission, number):
        scattering.apply_update(found, emission, nest.coordinates(emission, number, dims))

    np.testing.assert_array_equal(run(found, for_each(arrays[2].size, one), arrays, start=arrays[0]), expected)


@pytest.mark.parametrize("name", SCATTERS)
def test_so_it_does_window_by_window_from_where_that_is_aimed(name):
    found, arrays, expected = given(name)
    batch = scattering.batch_of(found)
    window = found.roots[0].attributes["update_window_dims"]
    sizes = [scattering.updates(found).dims[d] for d in window]

    def one(emission, number):
        at = nest.coordinates(emission, number, batch)
        start, inside = scattering.aim(found, emission, at)
        with emission.builder.when(inside, "inside"):
            for inner in itertools.product(*map(range, sizes)):
                scattering.apply_at(found, emission, start, at, [constant(n) for n in inner])

    windows = int(np.prod(batch, dtype=int))
    np.testing.assert_array_equal(run(found, for_each(windows, one), arrays, start=arrays[0]), expected)


@pytest.mark.parametrize("name", [name for name in SCATTERS if name != "batches"])
def test_so_it_does_from_the_elements_that_ask_each_window_whether_it_covers_them(name):
    found, arrays, expected = given(name)
    shape, windows = found.outputs[0], int(np.prod(scattering.batch_of(found), dtype=int))

    def one(emission, number):
        builder, at = emission.builder, nest.coordinates(emission, number, shape.dims)
        address = builder.gep("float", arguments(found).outputs[0], emission.value(number))
        for window in range(windows):
            becomes = scattering.combined(found, emission, at, constant(window))
            element.store(
                builder, shape.element_type, becomes(element.load(builder, shape.element_type, address)), address
            )

    np.testing.assert_array_equal(run(found, for_each(arrays[0].size, one), arrays, start=arrays[0]), expected)


def test_operands_are_copied_to_the_results():
    found, arrays, _ = given("rows")
    emit = for_each(arrays[0].size, lambda emission, at: scattering.copy_element(found, emission, at))
    np.testing.assert_array_equal(run(found, emit, arrays), arrays[0])


@pytest.mark.parametrize(
    ("name", "window", "stride", "row"),
    [
        ("points of a vector", None, 0, 0),
        ("rows", 1, 1, 0),
        ("windows whose start is two indices, the vector first", None, 0, None),
        ("batches", None, 0, 1),
    ],
)
def test_what_may_be_shared_is_a_dimension_of_windows_that_no_index_moves_or_rows_of_the_operand(
    name, window, stride, row
):
    found, _, _ = given(name)
    assert scattering.window_dimension(found) == window
    assert scattering.window_stride(found) == stride
    assert scattering.row_dimension(found) == row
