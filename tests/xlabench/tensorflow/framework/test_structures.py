"""A structure taken apart and put together again is the same."""

import collections

import pytest

from xlabench.tensorflow.framework.structures import flattened, packed

Pair = collections.namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("structure", "leaves"),
    [
        (3, [3]),
        (None, []),
        ([], []),
        ([1, (2, [3])], [1, 2, 3]),
        ({"b": 1, "a": 2}, [2, 1]),
        (Pair(1, {"x": [2]}), [1, 2]),
        (collections.OrderedDict(b=1, a=None), [1]),
    ],
)
def test_leaves_come_in_order_and_go_back_to_their_places(structure, leaves):
    assert flattened(structure) == leaves
    again = packed(structure, leaves)
    assert again == structure
    assert type(again) is type(structure)
    assert list(again) == list(structure) if isinstance(structure, dict) else True
