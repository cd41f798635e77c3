"""Pipelines: which passes run, in which order, and what happens between them.

`PASSES` is the table of all passes, `PIPELINES` that of named sequences.  Between passes one observer sees the module:
that is how dumps, timing and blame are done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from compiler.diagnostics import InputError, did_you_mean
from compiler.expansion.wiring import in_any_order
from compiler.ir.decisions import rewritten
from compiler.ir.module import Module
from compiler.ir.rewrite import Fuel, Rewrite
from compiler.options import CompileOptions
from compiler.passes import (
    algebraic_simplification,
    async_expander,
    batch_norm_expander,
    collective_expander,
    complex_solver_expander,
    conditional_simplification,
    constant_folding,
    copy_insertion,
    cse,
    data_movement_simplification,
    dce,
    device_expander,
    dynamic_padder,
    flatten_calls,
    fusion,
    gpu_library_expander,
    grouped_dot_expander,
    in_place_updates,
    index_tables,
    lapack_expander,
    lapack_loop_expander,
    layout_normalization,
    loop_interchange,
    loop_invariant_code_motion,
    loop_simplification,
    loop_unrolling,
    marker_removal,
    precision_unification,
    reduction_normalization,
    rng_expander,
    scan_expander,
    scatter_sorting,
    schedule,
    sparse_product_expander,
    topk_expander,
    transpose_folding,
    tuple_simplification,
    window_simplification,
)
from compiler.precision import is_mixed
from compiler.verifier import verify

Pass = Callable[[Module, Fuel], bool]
"""A pass: valid module in, valid module out; returns whether it changed anything."""

PASSES: dict[str, Pass] = {
    "precision-unification": precision_unification.run,
    "layout-normalization": layout_normalization.run,
    "async-expander": async_expander.run,
    "gpu-library-expander": gpu_library_expander.run,
    "collective-expander": collective_expander.run,
    "marker-removal": marker_removal.run,
    "rng-expander": rng_expander.run,
    "scan-expander": scan_expander.run,
    "device-expander": device_expander.run,
    "dynamic-padder": dynamic_padder.run,
    "flatten-calls": flatten_calls.run,
    "reduction-normalization": reduction_normalization.run,
    "topk-expander": topk_expander.run,
    "batch-norm-expander": batch_norm_expander.run,
    "grouped-dot-expander": grouped_dot_expander.run,
    "sparse-product-expander": sparse_product_expander.run,
    "lapack-expander": lapack_expander.run,
    "lapack-loop-expander": lapack_loop_expander.run,
    "complex-solver-expander": complex_solver_expander.run,
    "tuple-simplification": tuple_simplification.run,
    "algebraic-simplification": algebraic_simplification.run,
    "data-movement-simplification": data_movement_simplification.run,
    "window-simplification": window_simplification.run,
    "constant-folding": constant_folding.run,
    "cse": cse.run,
    "dce": dce.run,
    "conditional-simplification": conditional_simplification.run,
    "loop-simplification": loop_simplification.run,
    "loop-unrolling": loop_unrolling.run,
    "transpose-folding": transpose_folding.run,
    "scatter-sorting": scatter_sorting.run,
    "index-tables": index_tables.run,
    "loop-invariant-code-motion": loop_invariant_code_motion.run,
    "loop-interchange": loop_interchange.run,
    "fusion": fusion.run,
    "in-place-updates": in_place_updates.run,
    "copy-insertion": copy_insertion.run,
    "schedule": schedule.run,
}
"""Every pass by the name it has in options, dumps and records."""

_EXPANDERS = (
    "sparse-product-expander",
    "lapack-expander",
    "topk-expander",
    "batch-norm-expander",
    "grouped-dot-expander",
    "complex-solver-expander",
)
# Before calls are inlined: instructions still have the names that decide what `rng` draws, and bodies are copied later.
_UNIFICATION = "precision-unification"
_EARLY = (
    _UNIFICATION,
    "layout-normalization",
    "async-expander",
    "gpu-library-expander",
    "collective-expander",
    "marker-removal",
    "rng-expander",
    "scan-expander",
    "device-expander",
    "dynamic-padder",
    "flatten-calls",
    "reduction-normalization",
)

_LOOPS = "lapack-loop-expander"

REQUIRED = frozenset({*_EARLY, *_EXPANDERS, _LOOPS, "copy-insertion", "schedule"})
"""Passes that back ends rely on: they cannot be disabled."""

OPTIONAL = tuple(name for name in PASSES if name not in REQUIRED)
"""Passes without any of which programs mean the same."""

_LEAVE = ("tuple-simplification", "dce")
_SIMPLIFY = (
    "algebraic-simplification",
    "data-movement-simplification",
    "window-simplification",
    "constant-folding",
    "cse",
    "tuple-simplification",
    "conditional-simplification",
    "loop-simplification",
    "loop-unrolling",
    "dce",
)
_MOST_ROUNDS = 8
"""Rounds of a stage that runs until nothing changes: programs of the suites take seven at most; of 400 generated ones
eleven, in which a reshape goes up through a hundred elementwise ops, would take more (11-25)."""
_TIDYING = frozenset({"dce"})
"""What also removes what rules of passes made in vain, which is no change."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Passes that run in turn, once or until none of them changes anything."""

    name: str
    passes: tuple[str, ...]
    until_stable: bool = False


_ENTER = Stage("enter", (*_EARLY, *_EXPANDERS, *_LEAVE))
_REST = (
    Stage("simplification", _SIMPLIFY, until_stable=True),
    Stage("dots", ("transpose-folding", "dce")),
    Stage("fusion", ("index-tables", "loop-invariant-code-motion", "loop-interchange", "fusion", "dce")),
)

_LOWER = Stage("lower", ("in-place-updates", "copy-insertion", "dce", "schedule"))

PIPELINES: dict[str, tuple[Stage, ...]] = {
    "simplify": (_ENTER, _REST[0]),
    "optimize": (_ENTER, *_REST),
    "compile": (_ENTER, *_REST, _LOWER),
    "compile-nvptx": (
        Stage("enter", (*_EARLY, _LOOPS, *_EXPANDERS, "scatter-sorting", *_LEAVE)),
        *_REST,
        _LOWER,
    ),
}
"""Named pipelines; `compile` is what the CPU's back end runs, `optimize` stops short of what only back ends need."""


@dataclass(frozen=True, slots=True)
class Step:
    """One run of one pass, as the observer sees it: `before` the pass that follows, "" at the end.

    `rewrites` counts all that have been done so far, by this pass and those before it.
    """

    number: int
    pipeline: str
    after: str
    before: str
    changed: bool
    module: Module
    rewrites: int


Observer = Callable[[Step], None]


@dataclass(slots=True)
class Run:
    """A record of a pipeline's work: the rewrites in order, and the passes that changed something.

    `settled` are passes that changed nothing, with how many had changed something before: until another one does, they
    need not run again.
    """

    fuel: Fuel
    changed: list[str] = field(default_factory=list)
    settled: dict[str, int] = field(default_factory=dict)

    @property
    def rewrites(self) -> list[Rewrite]:
        """Every rewrite in order."""
        return self.fuel.rewrites


def ignore(_: Step) -> None:
    """The observer that does nothing."""


def without_library_calls(module: Module) -> Module:
    """A program without calls of libraries for GPUs: the module itself, or what stands for one that has some."""
    if not gpu_library_expander.applies(module):
        return module
    written_out = module.clone()
    run(written_out, stages_of(("gpu-library-expander",)), CompileOptions())
    return written_out


def on_one_device(module: Module) -> Module:
    """A program for several devices as one for one device that does the work of all, as back ends take it."""
    single = module.clone()
    run(single, stages_of(("async-expander", "device-expander")), CompileOptions())
    return single


def on_one_device_in_any_order(module: Module) -> Module:
    """The same with sums and products of devices as reductions: what a bound of all orders is made of."""
    single = module.clone()
    run(single, stages_of(("async-expander",)), CompileOptions())
    device_expander.put_side_by_side(single, in_any_order)
    return single


def stages_of(names: Sequence[str]) -> tuple[Stage, ...]:
    """A pipeline from a list of passes, or from the name of one pipeline.

    Raises:
        InputError: a name is unknown.
    """
    if len(names) == 1 and names[0] in PIPELINES:
        return PIPELINES[names[0]]
    unknown = [name for name in names if name not in PASSES]
    if unknown:
        known = [*PASSES, *PIPELINES]
        hint = did_you_mean(unknown[0], known)
        raise InputError(f"unknown pass {unknown[0]!r}{hint}; passes and pipelines are: {', '.join(known)}")
    return (Stage("passes", tuple(names)),)


def run(
    module: Module,
    stages: Sequence[Stage],
    options: CompileOptions,
    *,
    observe: Observer = ignore,
    fuel: Fuel | None = None,
    entering: Callable[[str], None] = lambda _: None,
) -> Run:
    """Run stages on a module, in place.

    Args:
        module: is changed.
        stages: names of passes, each once or until nothing changes.
        options: of the compilation.
        observe: is told of the module after each pass.
        fuel: what may be rewritten, which can be read even after a pass has raised; None for what the options say.
        entering: hears the name of each pass before it runs.
    """
    check_options(options)
    result = Run(Fuel(options.fuel) if fuel is None else fuel)
    skipped = {name for name in options.disable_passes if name not in REQUIRED}
    if not options.fusion:
        # Every instruction has a kernel and a buffer of its own.
        skipped |= {"loop-interchange", "fusion", "in-place-updates"}
    if options.atomics:
        # Updates need no order where they may come in any.
        skipped.add("scatter-sorting")
    number = 0
    if stages and stages[0].passes[:1] != (_UNIFICATION,) and any(map(is_mixed, module.instructions())):
        # No other pass knows mixed precision.
        stages = (Stage("unification", (_UNIFICATION,)), *stages)
    for stage in stages:
        names = [name for name in stage.passes if name not in skipped]
        for _ in range(_MOST_ROUNDS if stage.until_stable else 1):
            stable = True
            for position, name in enumerate(names):
                entering(name)
                changed = _run_pass(module, name, result, options)
                stable &= not changed
                following = names[position + 1] if position + 1 < len(names) else ""
                observe(Step(number, stage.name, name, following, changed, module, len(result.rewrites)))
                number += 1
            if stable:
                break
    rewritten(result.rewrites)
    return result


def _run_pass(module: Module, name: str, result: Run, options: CompileOptions) -> bool:
    result.fuel.pass_name = name
    if result.settled.get(name) == len(result.changed) and name not in _TIDYING:
        return False
    changed = PASSES[name](module, result.fuel)
    if not changed:
        result.settled[name] = len(result.changed)
    if changed:
        result.changed.append(name)
        if options.verify_each:
            verify(module, context=f"after pass {name}")
    return changed


def check_options(options: CompileOptions) -> None:
    """Refuse options that name what does not exist."""
    for name in options.disable_passes:
        if name not in PASSES:
            hint = did_you_mean(name, PASSES)
            raise InputError(f"cannot disable unknown pass {name!r}{hint}; passes are: {', '.join(PASSES)}")
        if name in REQUIRED:
            raise InputError(f"pass {name!r} cannot be disabled: the back ends rely on it")
    if options.fuel is not None and options.fuel < 0:
        raise InputError(f"fuel={options.fuel}: give a number of rewrites, 0 or more")
    if options.threads < 0:
        raise InputError(f"threads={options.threads}: give a number of threads, or 0 for all processors")
    if not 0 <= options.opt <= 3:
        raise InputError(f"opt={options.opt}: optimisation levels are 0 to 3")
    try:
        re.compile(options.dump_pass_re)
    except re.error as error:
        raise InputError(f"dump_pass_re={options.dump_pass_re!r} is not a regular expression: {error}") from error
