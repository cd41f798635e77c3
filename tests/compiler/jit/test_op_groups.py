"""Names of groups stand for the ops in them, and what is neither is refused with what was meant."""

import pytest

from compiler.diagnostics import InputError
from compiler.jit.op_groups import GROUPS, checked, ops_to_cluster


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_is_its_ops_and_part_of_all(group):
    assert ops_to_cluster([group]) == GROUPS[group]
    assert ops_to_cluster([group]) <= ops_to_cluster(["FUSIBLE"])
    assert all(checked(op, "ops_to_cluster") == op for op in GROUPS[group])


def test_ops_and_groups_add_up():
    assert ops_to_cluster(["SORT", "MatMul"]) == {"TopKV2", "MatMul"}
    assert ops_to_cluster([]) == frozenset()


@pytest.mark.parametrize(("word", "meant"), [("MatMull", "MatMul"), ("FUSIBEL", "FUSIBLE")])
def test_a_misspelt_word_is_refused_with_what_was_meant(word, meant):
    with pytest.raises(InputError, match=f"passed to --tf_xla_ops_to_cluster is not supported by XLA.*{meant}"):
        ops_to_cluster([word])
