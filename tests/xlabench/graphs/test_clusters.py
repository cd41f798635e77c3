"""A spec of clusters stands for flags of TensorFlow's."""

import pytest

from xlabench.errors import BenchError
from xlabench.graphs.clusters import create, flags_of


@pytest.mark.parametrize(
    ("spec", "flags"),
    [
        ("clusters", {}),
        ("clusters:min=2,max=5,fuel=7", {"min_cluster_size": 2, "max_cluster_size": 5, "clustering_fuel": 7}),
        ("clusters:lazy=on", {"enable_lazy_compilation": True}),
        ("clusters:defer=on", {"always_defer_compilation": True}),
    ],
)
def test_options_are_flags(spec, flags):
    found = flags_of(spec)
    assert (found.auto_jit, found.cpu_global_jit) == (2, True)
    assert {name: getattr(found, name) for name in flags} == flags


def test_there_is_no_room_for_a_dump():
    with pytest.raises(BenchError, match="dump with the engine that it runs on"):
        create("clusters", {}, dump_to="folder")
