"""What arguments of layers say, of one to three dimensions."""

import pytest

from xlabench.tensorflow.ops.layer_arguments import numbers, order_of


@pytest.mark.parametrize(("rank", "last", "first"), [(1, "NWC", "NCW"), (2, "NHWC", "NCHW"), (3, "NDHWC", "NCDHW")])
def test_an_order_has_the_name_that_ops_have_for_it(rank, last, first):
    assert order_of("channels_last", rank) == last
    assert order_of("channels_first", rank) == first
    with pytest.raises(ValueError, match="`data_format` argument must be one of"):
        order_of(last, rank)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_one_number_stands_for_each_dimension(rank):
    assert numbers(4, rank, "strides") == numbers((4,) * rank, rank, "strides") == [4] * rank
    for value in ([4] * (rank + 1), [4.0] * rank):
        with pytest.raises(ValueError, match=f"`strides` argument must be a tuple of {rank} integers"):
            numbers(value, rank, "strides")
