"""What accesses come to is found once for each form: the same lanes and sizes, all addresses moved by as much."""

import numpy as np
import pytest

from compiler.backends.nvptx.simulator.active import _MOST_FORMS, ActiveLanes, Forms

NOBODY = np.zeros(0, np.int64)


def lanes(key=b""):
    return ActiveLanes(None, key, NOBODY, NOBODY, NOBODY, slice(None), 1)


def addresses(*values):
    return np.array(values, np.uint64)


class Seen:
    """What is asked for, in order; what is found is how many times that was before."""

    def __init__(self):
        self.asked = []

    def __call__(self, active, places, size):
        self.asked.append((active.key, places.tolist(), size))
        return len(self.asked)


def test_moved_by_whole_units_is_the_same_form():
    forms, seen = Forms(128), Seen()
    assert forms.look_up(lanes(), addresses(260, 264), 4, seen) == (1, 2)
    assert forms.look_up(lanes(), addresses(4, 8), 4, seen) == (1, 0)
    assert seen.asked == [(b"", [4, 8], 4)]


@pytest.mark.parametrize(
    ("active", "places", "size"),
    [(lanes(), (8, 12), 4), (lanes(), (4, 12), 4), (lanes(), (4, 8), 8), (lanes(b"half"), (4, 8), 4)],
    ids=["moved by less", "apart", "wider", "other lanes"],
)
def test_any_other_difference_is_another_form(active, places, size):
    forms, seen = Forms(128), Seen()
    forms.look_up(lanes(), addresses(4, 8), 4, seen)
    assert forms.look_up(active, addresses(*places), size, seen)[0] == 2


def test_one_address_stands_for_all_lanes():
    forms, seen = Forms(32), Seen()
    assert forms.look_up(lanes(), addresses(96), 4, seen) == (1, 3)


def test_what_was_found_is_forgotten_for_another_batch_and_when_there_are_too_many():
    forms, seen = Forms(128), Seen()
    forms.look_up(lanes(), addresses(0), 4, seen)
    forms.forget()
    assert forms.look_up(lanes(), addresses(0), 4, seen)[0] == 2
    for apart in range(_MOST_FORMS + 5):
        forms.look_up(lanes(), addresses(0, apart), 4, seen)
    assert len(forms.found) <= _MOST_FORMS
