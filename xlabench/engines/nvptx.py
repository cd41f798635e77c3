"""The NVPTX back end: on a GPU, in the simulator (`nvptx:sim`), or assembled only (`nvptx:ptxas`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xlabench.engines.compiled import COMMON_OPTIONS, CompiledEngine, create_compiled
from xlabench.engines.spec import SWITCH, Option

ARCH = Option("an architecture such as sm_90", str)

OPTIONS: Mapping[str, Option] = {
    **COMMON_OPTIONS,
    "atomics": SWITCH,
    "arch": ARCH,
    "check_races": SWITCH,
    "share_all": SWITCH,
    "persistent": SWITCH,
}
DEVICES: tuple[str, ...] = ("sim", "ptxas")


def create(spec: str, options: Mapping[str, Any], *, dump_to: str) -> CompiledEngine:
    """The NVPTX back end with these options.

    Args:
        spec: the engine's, as it is written.
        options: fields of `CompileOptions`.
        dump_to: the folder for dumps, "" for none.
    """
    return create_compiled(spec, "nvptx", options, dump_to)
