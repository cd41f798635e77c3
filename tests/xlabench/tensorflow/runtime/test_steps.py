"""A plan begins empty and shares nothing with another; ops of its own are none of TensorFlow's."""

from compiler.tf import RECORDS
from xlabench.tensorflow.runtime.steps import COPY, MERGES, Plan


def test_plans_share_nothing():
    one, other = Plan(), Plan()
    one.slots.append(1)
    one.copies["a", "b"] = 1
    assert other == Plan()
    assert (other.slots, other.copies, other.may_die) == ([], {}, False)


def test_what_copies_is_no_op_of_tensorflows_and_merges_wait_for_one_input():
    assert COPY not in RECORDS
    assert [op for op in sorted(MERGES) if not op.startswith("_")] == ["Merge", "RefMerge"]
