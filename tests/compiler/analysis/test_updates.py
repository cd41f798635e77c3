"""An update writes in place where the memory is the program's own; its kernel reads only what is not yet written."""

import pytest

import compiler
from compiler.analysis.updates import is_elementwise, is_update_in_place, reads_in_time


def named(lines, size=2):
    text = f"""ENTRY e {{ x = f32[8] parameter(0)  i = s32[] parameter(1)  j = s32[] parameter(2)
      u = f32[{size}] parameter(3)  own = f32[8] negate(x)  zero = f32[] constant(0)
      same = f32[8] broadcast(zero), dimensions={{}} {lines} }}"""
    return {i.name: i for i in compiler.parse(text).entry.instructions}


@pytest.mark.parametrize(("memory", "own"), [("own", True), ("x", False), ("same", False)])
def test_only_memory_of_the_programs_own_is_written_over(memory, own):
    found = named(f"ROOT r = f32[8] dynamic-update-slice({memory}, u, i)")
    assert is_update_in_place(found["r"]) is own
    assert not is_update_in_place(found["own"])


READERS = {
    "the very elements": ("d = f32[2] dynamic-slice(own, i), dynamic_slice_sizes={2} v = f32[2] add(d, u)", True),
    "elements elsewhere": ("d = f32[2] dynamic-slice(own, j), dynamic_slice_sizes={2} v = f32[2] add(d, u)", False),
    "in another order": (
        "d = f32[2] dynamic-slice(own, i), dynamic_slice_sizes={2} v = f32[2] reverse(d), dimensions={0}",
        False,
    ),
    "from the start": ("d = f32[2] slice(own), slice={[0:2]} v = f32[2] add(d, u)", False),
}


@pytest.mark.parametrize("name", READERS)
def test_a_reader_is_in_time_where_it_reads_what_is_about_to_be_written(name):
    lines, in_time = READERS[name]
    found = named(f"{lines} ROOT r = f32[8] dynamic-update-slice(own, v, i)")
    assert reads_in_time(found["d"], found["r"], {found["d"], found["v"], found["r"]}) is in_time


def test_of_a_single_element_everything_is_read_before_it_is_written():
    lines = "d = f32[1] dynamic-slice(own, j), dynamic_slice_sizes={1} v = f32[1] add(d, u)"
    found = named(f"{lines} ROOT r = f32[8] dynamic-update-slice(own, v, i)", size=1)
    assert reads_in_time(found["d"], found["r"], {found["d"], found["v"], found["r"]})


def test_a_constant_computes_nothing_from_operands_at_the_same_place():
    found = named("ROOT r = f32[8] dynamic-update-slice(own, u, i)")
    assert is_elementwise(found["own"])
    assert not is_elementwise(found["zero"])
    assert not is_elementwise(found["same"])
