"""The flags that TensorFlow reads of `TF_XLA_FLAGS`, and what they ask of clustering and of what runs clusters.

    TF_XLA_FLAGS="--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit" python train.py

Flags are separated by white space, quoted where a value holds some; a value that does not begin with `-` is the name of
a file with flags.  A bare flag is true.  TensorFlow ends the process at a flag that it does not know, since a flag that
does nothing looks like clustering that does nothing: here it is an error, with the flags that are as like it.  The two
spellings of TensorFlow 1 that documents still name ask for drawings of HLO, and are kept.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from compiler.diagnostics import InputError, did_you_mean

VARIABLE = "TF_XLA_FLAGS"
"""The environment variable that holds the flags."""
UNLIMITED = (1 << 63) - 1
"""Fuel that never ends."""

_LARGEST_CLUSTER = (1 << 31) - 1
"""The default of `tf_xla_max_cluster_size`: the greatest s32 (TensorFlow, flags.cc)."""


@dataclass(frozen=True, slots=True)
class Flags:
    """What `TF_XLA_FLAGS` says, under the flags' names without `tf_xla_`.

    Attributes:
        auto_jit: 0 leaves it to the session, -1 is off, 1 and 2 are on.
        auto_jit_single_gpu: the same for graphs with nodes on exactly one GPU.
        min_cluster_size: ops that a cluster has at least, constants and identities not counted.
        max_cluster_size: nodes that a cluster has at most.
        ops_to_cluster: the only ops to cluster: names, or groups of `op_groups`; empty for all.
        cluster_exclude_ops: ops never to cluster.
        clustering_fuel: how many nodes may become candidates.
        clustering_debug: dump graphs before and after clustering.
        cpu_global_jit: cluster on CPUs where the session, or `auto_jit`, asks for clustering.
        deterministic_cluster_names: names that follow from the graph, not from how many were clustered before it.
        disable_deadness_safety_checks_for_debugging: cluster what may be dead at different times (unsound).
        disable_resource_variable_safety_checks_for_debugging: cluster reads after writes of variables (unsound).
        enable_lazy_compilation: a cluster may run op by op at first; without, it is always compiled.
        print_cluster_outputs: print what clusters give.
        check_cluster_input_numerics, check_cluster_output_numerics: end at infinities and NaNs there.
        always_defer_compilation: never compile what may run op by op.
        async_compilation: compile beside the run what may run op by op, and run it so until that is done.
        enable_xla_devices: whether the devices XLA_CPU and XLA_GPU are there.
        generate_hlo_graph: a pattern: draw the HLO modules whose names match it.
        hlo_graph_path: the folder for these drawings.
    """

    auto_jit: int = 0
    auto_jit_single_gpu: int = 0
    min_cluster_size: int = 4
    max_cluster_size: int = _LARGEST_CLUSTER
    ops_to_cluster: tuple[str, ...] = ()
    cluster_exclude_ops: tuple[str, ...] = ()
    clustering_fuel: int = UNLIMITED
    clustering_debug: bool = False
    cpu_global_jit: bool = False
    deterministic_cluster_names: bool = False
    disable_deadness_safety_checks_for_debugging: bool = False
    disable_resource_variable_safety_checks_for_debugging: bool = False
    enable_lazy_compilation: bool = True
    print_cluster_outputs: bool = False
    check_cluster_input_numerics: bool = False
    check_cluster_output_numerics: bool = False
    always_defer_compilation: bool = False
    async_compilation: bool = False
    enable_xla_devices: bool = True
    generate_hlo_graph: str = ""
    hlo_graph_path: str = ""


DEFAULTS = Flags()


def flags_of(environment: Mapping[str, str]) -> Flags:
    """The flags that an environment asks for.

    Raises:
        InputError: a flag is unknown, or its value makes no sense.
    """
    return parse_flags(environment.get(VARIABLE, ""))


def parse_flags(text: str, flags: Flags = DEFAULTS) -> Flags:
    """Flags, later ones over earlier ones and over those given.

    Raises:
        InputError: a flag is unknown, its value makes no sense, or a file with flags cannot be read.
    """
    text = text.strip()
    if text and text[0] not in "-'\"":
        try:
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            said = f"{VARIABLE} begins with no -, and so names a file with flags, which cannot be read"
            raise InputError(f"{text}: {said}: {error}") from error
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{VARIABLE}: {error}") from error
    for word in words:
        flags = _with(flags, word)
    return flags


def _with(flags: Flags, word: str) -> Flags:
    name, equals, value = word.partition("=")
    if name in _UNHEARD:
        said = f"it is about {_UNHEARD[name]}, of which there is nothing here; leave it out"
        raise InputError(f"{VARIABLE}: {name} is a flag of TensorFlow's, but {said}")
    if name not in _READERS:
        raise InputError(f"{VARIABLE}: unknown flag {name}" + did_you_mean(name, _READERS))
    field, read = _READERS[name]
    changed = read(name, value if equals else None)
    return replace(flags, **(changed if isinstance(changed, dict) else {field: changed}))


def _wrong(name: str, value: str | None, wanted: str) -> InputError:
    return InputError(f"{VARIABLE}: {name}={value or ''}: it takes {wanted}")


def _flag(name: str, value: str | None) -> bool:
    if value is None or value.lower() in ("true", "1"):
        return True
    if value.lower() in ("false", "0"):
        return False
    raise _wrong(name, value, "true or false")


def _number(name: str, value: str | None) -> int:
    if value is None or not re.fullmatch(r"-?[0-9]{1,19}", value, re.ASCII):
        raise _wrong(name, value, "a number")
    return int(value)


def _size(name: str, value: str | None) -> int:
    number = _number(name, value)
    if not 0 <= number <= _LARGEST_CLUSTER:
        raise _wrong(name, value, f"a number from 0 to {_LARGEST_CLUSTER}")
    return number


def _fuel(name: str, value: str | None) -> int:
    return min(max(_number(name, value), 0), UNLIMITED)


def _names(_name: str, value: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (value or "").split(",") if word.strip())


def _text(_name: str, value: str | None) -> str:
    return value or ""


def _auto_jit(name: str, value: str | None) -> dict[str, object]:
    """A level, that of graphs on one GPU, or `fusible`: level 1 for ops that XLA fuses."""
    if value == "fusible":
        return {"auto_jit": 1, "auto_jit_single_gpu": 1, "ops_to_cluster": ("FUSIBLE",)}
    single = re.fullmatch(r"single-gpu\((-1|0|1|2)\)", value or "")
    if single:
        return {"auto_jit_single_gpu": int(single[1])}
    if value not in ("-1", "0", "1", "2"):
        raise _wrong(name, value, "-1, 0, 1, 2, fusible or single-gpu(N)")
    return {"auto_jit": int(value), "auto_jit_single_gpu": int(value)}


_Reader = Callable[[str, str | None], Any]
_OWN: Mapping[str, _Reader] = {
    "auto_jit": _auto_jit,
    "min_cluster_size": _size,
    "max_cluster_size": _size,
    "ops_to_cluster": _names,
    "cluster_exclude_ops": _names,
    "clustering_fuel": _fuel,
    **dict.fromkeys(
        (
            "clustering_debug",
            "cpu_global_jit",
            "deterministic_cluster_names",
            "disable_deadness_safety_checks_for_debugging",
            "disable_resource_variable_safety_checks_for_debugging",
            "enable_lazy_compilation",
            "print_cluster_outputs",
            "check_cluster_input_numerics",
            "check_cluster_output_numerics",
            "always_defer_compilation",
            "async_compilation",
            "enable_xla_devices",
        ),
        _flag,
    ),
}
_OLD: Mapping[str, _Reader] = {"generate_hlo_graph": _text, "hlo_graph_path": _text}
_READERS: Mapping[str, tuple[str, _Reader]] = {
    f"--{prefix}{field}": (field, read)
    for prefix, readers in (("tf_xla_", _OWN), ("xla_", _OLD))
    for field, read in readers.items()
}
_ABOUT = {
    "kept executables: set XLABENCH_CACHE instead": """
        persistent_cache_directory persistent_cache_device_types persistent_cache_prefix persistent_cache_read_only
        disable_strict_signature_checks
    """,
    "devices that compile op by op": "compile_on_demand use_device_api_for_compile_on_demand",
    "how TensorFlow's runtime holds devices": """
        use_device_api use_device_api_for_auto_jit use_device_api_for_xla_launch enable_device_api_for_gpu
    """,
    "modules that other programs have lowered": "call_module_disabled_checks",
    "TensorFlow's own folding of constants": "disable_constant_folding",
}
_UNHEARD = {f"--tf_xla_{name}": about for about, names in _ABOUT.items() for name in names.split()}
_UNHEARD |= {
    "--tf_introduce_floating_point_jitter_to_tensors": "numbers added to tensors: add them in the graph, or use --twin",
    "--tf_introduce_floating_point_jitter_amount": "numbers added to tensors: add them in the graph, or use --twin",
    "--tf_mlir_enable_mlir_bridge": "another way to HLO",
    "--tf_mlir_bridge_safe_mode": "another way to HLO",
}
