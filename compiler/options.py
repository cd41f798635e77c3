"""Everything that can be asked of a compilation, in one frozen record."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """How to compile; equal options on an equal module give the same code.

    Attributes:
        fusion: run the fusion passes; False makes every HLO instruction a kernel with a buffer of its own.
        threads: threads a call may use; 0 means all processors this process may run on.
        opt: LLVM's optimisation level, 0 to 3.
        device: for the NVPTX back end: "" (a GPU), "sim" (the simulator) or "ptxas" (assemble only).
        arch: for the NVPTX back end: the architecture, e.g. "sm_90".
        fuel: do only that many rewrites; None for all.
        disable_passes: names of passes to skip.
        verify_each: verify the module after every pass that changed it.
        dump_to: folder for dumps under XLA's names; "" for none.
        dump_pass_re: dump around passes whose name matches this regular expression.
        fill_elided: seed for the values of elided constants; None refuses to compile them.
    """

    fusion: bool = True
    threads: int = 0
    opt: int = 3
    device: str = ""
    arch: str = "sm_90"
    fuel: int | None = None
    disable_passes: tuple[str, ...] = ()
    verify_each: bool = False
    dump_to: str = ""
    dump_pass_re: str = ""
    fill_elided: int | None = None
