"""Products and convolutions are cut as finely as what chunks need for themselves has room."""

import pytest

import compiler
from compiler import CompileOptions
from compiler.analysis.storage import Storage, largest_live_set
from compiler.backends.cpu.machine import Machine
from compiler.backends.cpu.plan import plan
from compiler.codegen.llvm import Target
from compiler.pipeline import PIPELINES, run
from xlabench.cases import inputs

MACHINE = Machine.of(Target.host())


def product(m, k, n, type_="f32"):
    return f"""HloModule m
ENTRY e {{ x = {type_}[{m},{k}] parameter(0)  w = {type_}[{k},{n}] parameter(1)
  d = {type_}[{m},{n}] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT y = {type_}[{m},{n}] tanh(d) }}"""


def two_products(m, k, n):
    """A product of a value that is alive while the second is computed, which gives less than there was."""
    return f"""HloModule m
ENTRY e {{ x = f32[{m},{k}] parameter(0)  w = f32[{k},{n}] parameter(1)  v = f32[{n},{k}] parameter(2)
  d = f32[{m},{n}] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  h = f32[{m},{n}] tanh(d)
  ROOT y = f32[{m},{k}] dot(h, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}"""


def convolution(batch, size, features):
    image = f"f32[{batch},{size},{size},{features}]"
    return f"""HloModule m
ENTRY e {{ x = {image} parameter(0)  w = f32[3,3,{features},{features}] parameter(1)
  ROOT y = {image} convolution(x, w), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f }}"""


TEXTS = {
    "square": product(512, 512, 512),
    "long": product(1024, 256, 1024),
    "deep": product(64, 8192, 64),
    "bf16": product(512, 512, 512, "bf16"),
    "two": two_products(256, 512, 2048),
    "two the other way": two_products(256, 2048, 512),
    "convolution": convolution(4, 56, 64),
    "convolution of large images": convolution(1, 224, 16),
}


def planned(text, threads):
    module = compiler.parse(text)
    run(module, PIPELINES["compile"], CompileOptions())
    return plan(module, MACHINE, threads)


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("name", TEXTS)
def test_more_chunks_than_threads_take_no_more_than_values_results_and_a_tenth_of_the_parameters(name, threads):
    found = planned(TEXTS[name], threads)
    buffers = found.assignment.buffers
    arena = [buffer for buffer in buffers if buffer.storage is Storage.ARENA]
    results, given = (
        sum(buffer.size_bytes for buffer in buffers if buffer.storage is storage)
        for storage in (Storage.RESULT, Storage.PARAMETER)
    )
    most = largest_live_set(arena) + results + given // 10
    for instruction, choice in found.choices.items():
        time = found.assignment.times[instruction]
        alive = sum(buffer.size_bytes for buffer in arena if buffer.first <= time <= buffer.last)
        assert choice.plan.chunks_per_thread == 1 or alive + choice.plan.workspace_bytes <= most


def test_what_has_room_is_cut_finely():
    (choice,) = planned(product(1024, 1024, 1024), 2).choices.values()
    assert choice.plan.chunks_per_thread > 1


CHAIN = """HloModule m
ENTRY e { x = f32[896,896] parameter(0)
  a = f32[896,896] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[896,896] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[896,896] dot(b, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT d = f32[896,896] dot(c, c), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""


def test_equal_products_share_their_functions_however_finely_they_are_cut():
    _, *equal = planned(CHAIN, 4).choices.values()
    assert len({id(choice.plan.emit) for choice in equal}) == 1


def test_results_do_not_hang_on_how_finely_products_are_cut():
    module = compiler.parse(CHAIN)
    arrays = inputs.generate(module, 0)
    one, four = (compiler.compile(module, options=CompileOptions(threads=n))(*arrays)[0] for n in (1, 4))
    assert one.tobytes() == four.tobytes()
