"""A compilation seen from inside: the module after each pass that changed it, and every rewrite by number.

Snapshots are programs like any other, so the interpreter can say of each whether it still means the same; that, and not
whether the symptom goes away without a pass, is what tells the guilty pass from the one that only brought it to light.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.ir.module import Module
from compiler.ir.rewrite import Fuel, Rewrite
from compiler.options import CompileOptions
from compiler.pipeline import PIPELINES, Step, run


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The module after one run of a pass; `rewrites` counts those done so far."""

    number: int
    pass_name: str
    rewrites: int
    module: Module


@dataclass(frozen=True, slots=True)
class Trace:
    """The module after each pass, and the rewrites.

    Attributes:
        snapshots: after each pass that changed the module, whatever the pass says of itself.
        rewrites: every rewrite in order; number N is the last that fuel N allows.
        broken_pass: the pass that raised, "" if none did; the trace ends before it.
        error: what it raised.
    """

    snapshots: tuple[Snapshot, ...]
    rewrites: tuple[Rewrite, ...]
    broken_pass: str = ""
    error: str = ""


def trace(
    module: Module,
    options: CompileOptions,
    *,
    entering: Callable[[str], None] = lambda _: None,
    withhold_required: bool = False,
) -> Trace:
    """Run the passes of a compilation on a copy of the module and keep what each made of it.

    Without fuel even
    required rewrites can be withheld, since no back end sees the module; a later pass may then raise for want of them.

    Args:
        module: stays as it is.
        options: of the compilation.
        entering: hears the name of each pass before it runs, so that one that never ends is known too.
        withhold_required: whether fuel limits required rewrites too.
    """
    current, last = module.clone(), module
    fuel = Fuel(options.fuel, withholds_required=withhold_required)
    snapshots: list[Snapshot] = []

    def observe(step: Step) -> None:
        nonlocal last
        if step.module != last:
            last = step.module.clone()
            snapshots.append(Snapshot(step.number, step.after, step.rewrites, last))

    broken, message = "", ""
    try:
        run(current, PIPELINES["compile"], options, observe=observe, fuel=fuel, entering=entering)
    except Exception as error:  # noqa: BLE001 - whatever a pass raises, the question here is which pass it was
        broken, message = fuel.pass_name, f"{type(error).__name__}: {error}"
    return Trace(tuple(snapshots), tuple(fuel.rewrites), broken, message)
