"""What the commands that look into a failure share: the program, its inputs, and who is asked about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click

import compiler
from compiler import aot
from xlabench import environment, jobs
from xlabench.bundles import bundle
from xlabench.bundles.failure import Failure
from xlabench.cases import inputs, programs
from xlabench.cases.layouts import ALIGNED
from xlabench.cases.open_sizes import OpenSizes
from xlabench.commands.judging_options import (
    custom_call_option,
    memory_option,
    require_nothing_given,
    shapes_option,
    signature_option,
    timeout_option,
)
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.graph_blame import is_of_graphs
from xlabench.diagnosis.probe import Setup
from xlabench.engines import engine, is_complete
from xlabench.judging.tolerance import TolerancePolicy

_OPTIONS = (
    click.option("--engine", metavar="SPEC", help="The engine under test.  [default: the bundle's, else cpu]"),
    click.option(
        "--reference", metavar="SPEC", help="The engine that is right.  [default: the bundle's, else reference]"
    ),
    click.option("--module", type=click.IntRange(1), metavar="N", help="The module, of a file that holds several."),
    signature_option,
    shapes_option,
    click.option("--fill-elided", type=click.IntRange(0), metavar="SEED", help="Make up constants that were left out."),
    click.option("--seed", type=click.IntRange(0), help="Seed of the inputs.  [default: the recipe's, else 0]"),
    click.option("--inputs", type=click.Path(path_type=Path), help="Take the inputs from an .npz file."),
    timeout_option(60.0),
    memory_option(),
    custom_call_option,
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."),
)


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The argument and the options that say which failure is looked into."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return click.argument("target", metavar="FILE|BUNDLE", type=click.Path(path_type=Path))(function)


@dataclass(frozen=True, slots=True)
class Target:
    """A case, and who is asked about it."""

    path: Path
    case: Case
    setup: Setup
    seed: int | None


def load(options: dict[str, Any], *, is_engine_asked: bool = True) -> Target:
    """Read what the options name: a folder or a zip archive is a bundle, another file a program.

    Where no engine is asked, none need be there.
    """
    path: Path = options["target"]
    spec, believed, timeout_s = options["engine"], options["reference"], options["timeout"]
    if bundle.is_bundle(path):
        require_nothing_given(path, options)
        failure = bundle.load(path)
        given = _of_bundle(failure)
        spec, believed = spec or failure.engine, believed or failure.reference
    else:
        chosen = {name: options[name] for name in ("module", "signature")}
        shapes = OpenSizes.parse(options["shapes"])
        module = programs.read(path, given=options["inputs"], shapes=shapes, **chosen)
        shapes.show()
        compiler.settle_elided(module, options["fill_elided"])
        given = _of_file(path, module, options["seed"], options["inputs"])
    subject, reference = (
        (engine(spec or "cpu").spec, engine(believed or "reference").spec) if is_engine_asked else ("", "")
    )
    case = given.case
    if subject and not is_of_graphs(subject):
        case = Case(aot.without_graph(case.module), case.inputs)
    limit = options["memory_limit"]
    setup = Setup(
        subject,
        reference,
        given.policy,
        timeout_s,
        jobs.ENGINES,
        memory_bytes=limit << 20 if limit else environment.memory_bytes(),
        takes_all=given.takes_all and is_complete(subject),
        layout=given.layout,
    )
    return Target(path, case, setup, given.seed)


def _verified(text: str) -> compiler.Module:
    module = compiler.parse(text, filename="module.hlo")
    compiler.verify(module)
    return module


class _Given(NamedTuple):
    """A program with its inputs, how results are judged, and the seed of the inputs, None where they were given.

    Of a bundle also how the inputs lie in memory, and whether its engine may refuse nothing.
    """

    case: Case
    policy: TolerancePolicy
    seed: int | None
    layout: str = ALIGNED
    takes_all: bool = False


def _of_bundle(failure: Failure) -> _Given:
    case = Case(_verified(failure.module_text), tuple(failure.inputs))
    return _Given(case, failure.policy, failure.seed, failure.layout, failure.takes_all)


def _of_file(path: Path, module: compiler.Module, seed: int | None, given: Path | None) -> _Given:
    recipe = inputs.recipe_beside(path)
    policy = TolerancePolicy(recipe.rtol, recipe.atol) if recipe else TolerancePolicy()
    if given is not None:
        return _Given(Case(module, tuple(inputs.load_npz(given, module))), policy, None)
    if recipe is not None:
        arrays = recipe.make(seed)
        inputs.check(arrays, module, source=str(path.with_suffix(".json")))
        return _Given(Case(module, tuple(arrays)), policy, recipe.seed if seed is None else seed)
    return _Given(Case(module, tuple(inputs.generate(module, seed or 0))), policy, seed or 0)
