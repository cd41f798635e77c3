"""What is measured beside the machine's limits: programs of any size, whose work is what they say."""

import pytest

import compiler
from xlabench.timing.roofline import KINDS, LARGEST, SMALLEST, sizes_up_to

BY_NAME = {kind.name: kind for kind in KINDS}


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("total", [1, 7, SMALLEST, 100_000, LARGEST])
def test_programs_of_any_size_move_the_bytes_that_they_say(name, total):
    kind = BY_NAME[name]
    extents = kind.sizes(total)
    module = compiler.parse(kind.text.format(**extents))
    compiler.verify(module)
    arrays = [*module.entry.parameters, module.entry.root]
    touched, work = kind.work(extents)
    if name == "reduce":
        arrays = arrays[:1]  # a single number is no work
    assert touched == sum(one.array.size_bytes for one in arrays)
    assert work > 0
    assert kind.unit != "bytes" or work == touched
    if total >= SMALLEST:
        assert total / 2 < touched <= total


def test_a_product_of_matrices_is_two_operations_for_each_triple():
    assert BY_NAME["dot"].work({"n": 3}) == (3 * 36, 2 * 27)


@pytest.mark.parametrize(
    ("largest", "sizes"), [(0, []), (1023, []), (1024, [1024]), (5000, [1024, 4096]), (1 << 14, [1024, 4096, 1 << 14])]
)
def test_sizes_grow_by_four(largest, sizes):
    assert sizes_up_to(largest) == sizes
