"""Tables of keys in sessions: filled once, and looked up on the host, strings as well as numbers."""

import numpy as np
import pytest

import xlabench.tensorflow as tf
from compiler.tf2xla import RECORDS
from xlabench.tensorflow.runtime.lookup import TABLES

raw_ops = tf.raw_ops
pytestmark = pytest.mark.usefixtures("graph")


def filled(keys, values, name="words"):
    table = raw_ops.HashTableV2(key_dtype=keys.dtype, value_dtype=values.dtype, shared_name=name)
    return table, raw_ops.LookupTableImportV2(table_handle=table, keys=keys, values=values)


@pytest.mark.parametrize(
    ("keys", "wanted", "expected"),
    [([3, 1], [[1, 2], [3, 3]], [[10, -1], [30, 30]]), (["c", "a"], [["a", "b"], ["c", "c"]], [[10, -1], [30, 30]])],
)
def test_keys_are_looked_up_when_the_table_is_filled(keys, wanted, expected):
    table, fill = filled(tf.constant(keys), tf.constant([30.0, 10.0]))
    found = raw_ops.LookupTableFindV2(table_handle=table, keys=tf.constant(wanted), default_value=tf.constant(-1.0))
    size = raw_ops.LookupTableSizeV2(table_handle=table)
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized"):
            session.run(found)
        session.run(fill)
        session.run(fill)
        values, count = session.run([found, size])
    np.testing.assert_array_equal(values, np.array(expected, np.float32), strict=True)
    assert count == 2


@pytest.mark.parametrize(
    ("keys", "error", "said"),
    [
        ([1, 1], "FailedPreconditionError", "different value for same key"),
        ([4, 5], "FailedPreconditionError", "already initialized with different data"),
        ([], "InvalidArgumentError", "cannot be empty"),
    ],
)
def test_what_no_table_holds_is_refused(keys, error, said):
    _, first = filled(tf.constant([1, 2]), tf.constant([3, 4]))
    _, second = filled(tf.constant(keys, tf.int32), tf.constant([3, 4][: len(keys)], tf.int32))
    with tf.Session() as session:
        session.run(first)
        with pytest.raises(getattr(tf.errors, error), match=said):
            session.run(second)


def test_every_op_on_tables_has_a_kernel():
    assert {one for one in RECORDS if "Table" in one} == set(TABLES)
