"""TF_XLA_FLAGS: every flag, how values are spelled, and what is wrong about others."""

import pytest

from compiler.diagnostics import InputError
from compiler.jit.flags import DEFAULTS, UNLIMITED, Flags, flags_of, parse_flags

STATED = [
    ("", {}),
    ("--tf_xla_auto_jit=2", {"auto_jit": 2, "auto_jit_single_gpu": 2}),
    ("--tf_xla_auto_jit=-1", {"auto_jit": -1, "auto_jit_single_gpu": -1}),
    ("--tf_xla_auto_jit=single-gpu(1)", {"auto_jit_single_gpu": 1}),
    ("--tf_xla_auto_jit=fusible", {"auto_jit": 1, "auto_jit_single_gpu": 1, "ops_to_cluster": ("FUSIBLE",)}),
    ("--tf_xla_min_cluster_size=1\n--tf_xla_max_cluster_size=9", {"min_cluster_size": 1, "max_cluster_size": 9}),
    ("--tf_xla_ops_to_cluster=PW,RED", {"ops_to_cluster": ("PW", "RED")}),
    ("'--tf_xla_cluster_exclude_ops=Where, Sum'", {"cluster_exclude_ops": ("Where", "Sum")}),
    ("--tf_xla_clustering_fuel=7 --tf_xla_clustering_fuel=8", {"clustering_fuel": 8}),
    ("--tf_xla_cpu_global_jit", {"cpu_global_jit": True}),
    ("--tf_xla_enable_lazy_compilation=false", {"enable_lazy_compilation": False}),
    ("--xla_generate_hlo_graph=.* --xla_hlo_graph_path=/t", {"generate_hlo_graph": ".*", "hlo_graph_path": "/t"}),
]
WRONG = [
    ("--tf_xla_auto_jot=2", "unknown flag --tf_xla_auto_jot; did you mean --tf_xla_auto_jit"),
    ("--tf_xla_auto_jit=3", "takes -1, 0, 1, 2, fusible"),
    ("--tf_xla_min_cluster_size=few", "takes a number"),
    ("--tf_xla_max_cluster_size=4294967296", "from 0 to"),
    ("--tf_xla_cpu_global_jit=maybe", "takes true or false"),
    ("--tf_xla_persistent_cache_directory=/t", "kept executables: set XLABENCH_CACHE"),
    ("--tf_introduce_floating_point_jitter_amount=1", "numbers added to tensors"),
    ("--tf_xla_auto_jit='2", "No closing quotation"),
    ("no-such-file", "names a file with flags"),
]


@pytest.mark.parametrize(("text", "said"), STATED)
def test_flags_say(text, said):
    assert flags_of({"TF_XLA_FLAGS": text}) == Flags(**said)


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_is_wrong_is_named(text, said):
    with pytest.raises(InputError) as raised:
        parse_flags(text)
    assert said in str(raised.value)


def test_a_file_may_hold_flags(tmp_path):
    path = tmp_path / "flags"
    path.write_text("--tf_xla_clustering_debug\n--tf_xla_clustering_fuel=-3\n", encoding="utf-8")
    assert parse_flags(str(path)) == Flags(clustering_debug=True, clustering_fuel=0)
    assert (flags_of({}), DEFAULTS.clustering_fuel) == (DEFAULTS, UNLIMITED)
