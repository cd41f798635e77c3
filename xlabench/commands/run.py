"""`xlabench run`: one program, two engines, one verdict; as XLA's `run_hlo_module` does.

The worker is started before anything heavy is loaded here, so that both processes load at the same time.
"""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from xlabench.commands.examples import examples
from xlabench.commands.judging_options import (
    judging_options,
    number,
    require_nothing_given,
    shapes_option,
    signature_option,
)
from xlabench.worker import ENGINES, Worker

_EXAMPLES = """
xlabench run softmax.hlo
    compiled for this CPU, against the reference
xlabench run step.hlo.gz --engine cpu:fusion=off --reference cpu --seed 7
    one engine against another, on other inputs
xlabench run softmax.hlo --engine cpu --twin
    the same program on integers, where no tolerance hides a wrong index
xlabench run failure.zip --engine cpu:opt=0
    does another engine fail as well?
xlabench run step.hlo --engine nvptx:sim --dump-to dump --bundle failure.zip
    look into it, and keep it if it fails
xlabench run model.pb --engine clusters:on=cpu
    a graph of TensorFlow's in clusters; ops:on=cpu is op by op
xlabench run saved/ --signature predict
    one of a SavedModel's signatures that is not serving_default
xlabench run saved/ --shapes image:4x224x224x3
    sizes that the model leaves open; --shapes 4 says one for each of them
"""


@click.command(
    short_help="Run an HLO file or a graph on two engines and compare.",
    epilog=examples(_EXAMPLES),
)
@click.argument("file", metavar="FILE|BUNDLE", type=click.Path(path_type=Path))
@click.option("--engine", default="cpu", show_default=True, metavar="SPEC", help="The engine under test.")
@click.option("--module", type=click.IntRange(1), metavar="N", help="The module to run, of a file that holds several.")
@signature_option
@shapes_option
@click.option("--seed", type=click.IntRange(0), help="Seed of the inputs.  [default: the recipe's, else 0]")
@click.option("--inputs", type=click.Path(path_type=Path), help="Take the inputs from an .npz file.")
@click.option(
    "--rtol", type=click.FloatRange(0), callback=number, help="Relative bound.  [default: the recipe's, else by type]"
)
@click.option(
    "--atol", type=click.FloatRange(0), callback=number, help="Absolute bound.  [default: the recipe's, else by type]"
)
@click.option("--fill-elided", type=click.IntRange(0), metavar="SEED", help="Make up constants that the file left out.")
@click.option(
    "--twin", is_flag=True, help="Run the integer twin in its place: the same graph without rounding, equal to the bit."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--dump-to", type=click.Path(path_type=Path), help="Folder for the engine's intermediate forms.")
@click.option(
    "--bundle", type=click.Path(path_type=Path), help="Keep a failure as a repro bundle here, .zip or folder."
)
@judging_options(300.0)
@click.option("--in-process", is_flag=True, help="Run the engines in this process, unwatched, as a debugger wants it.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Run FILE or BUNDLE on an engine and on a reference, on the same inputs, and compare the results.

    FILE is HLO text, or where jaxlib is installed StableHLO, MHLO, a file of jax.export or a protocol buffer;
    compressed by gzip or not; or a graph of TensorFlow's: the folder of a SavedModel, or a GraphDef (.pb, .pbtxt) with
    tfcompile's NAME.config.pbtxt beside it for what is fed and fetched.  A graph runs whole, or on the engines `ops`
    and `clusters` op by op and in clusters.  Sizes that are open, as a model's batch is, follow from the inputs, or
    are those of --shapes; which were taken stands on standard error.  Inputs come from --inputs,
    which for an export may hold all arguments of its function or those that it uses, from the recipe FILE.json beside
    FILE.hlo, or from the seed.  A BUNDLE, a folder or a .zip, brings its inputs, and its engine and its reference are
    run unless others are given.  An engine that crashes, hangs or takes too much memory is a verdict: exit codes 3
    (compile), 4 (crash) and 5 (timeout).  Options for our engines are also read from XLA_FLAGS.
    """
    as_json, in_process, mebibytes = (options.pop(name) for name in ("as_json", "in_process", "memory_limit"))
    memory_bytes = mebibytes << 20 if mebibytes else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with nullcontext() if in_process else Worker(memory_bytes=memory_bytes, preload=ENGINES) as worker:
        if worker is not None:
            worker.start()
        running, presentation = import_module("xlabench.running"), import_module("xlabench.presentation")
        if running.is_bundle(options["file"]):
            options |= _of_bundle(ctx, options)
        report = running.run(running.Request(**options), worker, os.environ)
    for note in report.notes:
        click.echo(f"xlabench: {note}", err=True)
    if as_json:
        print(json.dumps(presentation.to_json(options["file"], report), allow_nan=False))
    else:
        presentation.show(report)
    ctx.exit(report.judgement.exit_code)


def _of_bundle(ctx: click.Context, options: dict[str, Any]) -> dict[str, str]:
    """The engines of a bundle, where none was given."""
    require_nothing_given(options["file"], options)
    failure = import_module("xlabench.bundles.bundle").load(options["file"])
    names = [name for name in ("engine", "reference") if ctx.get_parameter_source(name) is ParameterSource.DEFAULT]
    return {name: getattr(failure, name) for name in names}
