"""The CPU back end: one native program per module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xlabench.engines.compiled import COMMON_OPTIONS, CompiledEngine, create_compiled
from xlabench.engines.spec import NAMES, SWITCH, THREADS, Option

OPTIONS: Mapping[str, Option] = {
    **COMMON_OPTIONS,
    "threads": THREADS,
    "share_all": SWITCH,
    "backwards": SWITCH,
    "without": NAMES,
    "check_memory": SWITCH,
    "check_bounds": SWITCH,
}
DEVICES: tuple[str, ...] = ()


def create(spec: str, options: Mapping[str, Any], *, dump_to: str) -> CompiledEngine:
    """The CPU back end with these options.

    Args:
        spec: the engine's, as it is written.
        options: fields of `CompileOptions`.
        dump_to: the folder for dumps, "" for none.
    """
    return create_compiled(spec, "cpu", options, dump_to)
