"""`xlabench train`: a model that learns, one HLO program per step, on any engine.

Step N takes the N-th batch of a shuffled order that depends on the seed alone, so that every engine walks the same path
and their loss curves can be laid over each other.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

import compiler
from suites.models import data, mnist
from suites.models.data import Dataset, Digits
from xlabench import atomic
from xlabench.commands.examples import examples
from xlabench.engines import Array, Engine, Program, build, engine, execute
from xlabench.errors import BenchError
from xlabench.timeline import Span, Timeline

MODELS = ("mnist-softmax",)
_REPORTS = 10


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command, as given."""

    model: str
    data_dir: Path | None
    steps: int
    batch: int
    engine: str
    seed: int
    timeline: Path
    as_json: bool


@dataclass(frozen=True, slots=True)
class Training:
    """What was learned, and the loss of every step."""

    weights: list[Array]
    losses: list[float]


_EXAMPLES = """
xlabench train mnist-softmax --steps 200 --engine cpu:fusion=off
    watch the loss without fusion
"""


@click.command(
    short_help="Train a small model, step by step on one engine.",
    epilog=examples(_EXAMPLES),
)
@click.argument("model", type=click.Choice(MODELS))
@click.option("--data-dir", type=click.Path(path_type=Path), help="Folder of IDX files.  [default: synthetic digits]")
@click.option("--steps", type=click.IntRange(1), default=1000, show_default=True, help="Batches to learn from.")
@click.option("--batch", type=click.IntRange(1), default=100, show_default=True, help="Digits of a batch.")
@click.option("--engine", default="cpu", show_default=True, metavar="SPEC", help="What runs the steps.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the order of the batches.")
@click.option(
    "--timeline",
    type=click.Path(path_type=Path),
    default="timeline.ctf.json",
    show_default=True,
    help="File that says what ran when.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def command(**options: Any) -> None:
    """Train MODEL and print the loss and the test accuracy; write a timeline that Perfetto opens."""
    request = Request(**options)
    _check_writable(request.timeline)
    subject = engine(request.engine)
    dataset = data.synthetic() if request.data_dir is None else data.load(request.data_dir)
    if request.batch > dataset.train.count:
        raise BenchError(f"a batch of {request.batch}, but there are {dataset.train.count} digits; give a smaller one")
    say = _silent if request.as_json else click.echo
    say(f"{request.model} on {subject.spec}: {dataset.source}, {dataset.train.count} to train, seed {request.seed}")
    timeline = Timeline()
    step = _compile(subject, mnist.train_step(request.batch), timeline)
    test = _compile(subject, mnist.evaluation(request.batch), timeline)
    training = _train(request, (subject, step), dataset.train, timeline, say)
    with timeline.span("evaluate", "evaluate"):
        accuracy = _accuracy((subject, test), training.weights, dataset.test, request.batch)
    failure = _keep(timeline, request.timeline)
    where = "" if failure else f"; timeline in {request.timeline}"
    say(f"accuracy {accuracy:.4f} on {dataset.test.count} test digits{where}")
    if request.as_json:
        report = _to_json(request, subject, dataset, training, accuracy)
        print(json.dumps(report | {"timeline": None} if failure else report))
    if failure:
        click.echo(f"xlabench: {failure}", err=True)
        click.get_current_context().exit(failure.exit_code)


def _keep(timeline: Timeline, path: Path) -> BenchError | None:
    """Write the timeline; why it could not be written does not keep back what was learned."""
    try:
        atomic.write(path, timeline.to_json())
    except BenchError as error:
        return error
    return None


def _silent(_message: str) -> None:
    """Print nothing."""


def _check_writable(path: Path) -> None:
    """Learn before the training, not after it, that its record cannot be kept."""
    if path.is_dir():
        raise BenchError(f"{path}: is a folder; give a file for the timeline")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise BenchError(f"{path}: its folder cannot be written to; give another file for the timeline")


def _compile(subject: Engine, text: str, timeline: Timeline) -> Program:
    with timeline.span("parse", "compile"):
        module = compiler.parse(text, filename="<model>")
    with timeline.span("verify", "compile"):
        compiler.verify(module)
    with timeline.span(f"compile {module.name}", "compile"):
        program = build(subject, module)
    phases = getattr(program, "phases", ())
    timeline.spans += [Span(name, "compile", start, duration, "host") for name, start, duration in phases]
    return program


def _train(request: Request, on: tuple[Engine, Program], digits: Digits, timeline: Timeline, say: Any) -> Training:
    subject, step = on
    weights = [np.zeros((mnist.PIXELS, mnist.CLASSES), np.float32), np.zeros(mnist.CLASSES, np.float32)]
    labels = digits.one_hot()
    losses: list[float] = []
    arguments: list[Array] = []
    interval = max(1, request.steps // _REPORTS)
    batches = _batches(digits.count, request.batch, request.seed)
    for number, chosen in zip(range(1, request.steps + 1), batches, strict=False):
        arguments = [*weights, digits.images[chosen], labels[chosen]]
        with timeline.span(f"step {number}", "step"):
            *weights, loss = execute(subject, step, arguments).results
        losses.append(float(loss))
        if number % interval == 0 or number == 1:
            say(f"step {number:5d}  loss {losses[-1]:.6f}")
    _profile(step, arguments, request.steps, timeline)
    return Training(weights, losses)


def _batches(count: int, batch: int, seed: int) -> Iterator[Array]:
    """Positions of each batch, without end; every epoch is shuffled anew, its remainder left out."""
    epoch = 0
    while True:
        order = np.random.default_rng([seed, epoch]).permutation(count)
        for start in range(0, count - batch + 1, batch):
            yield order[start : start + batch]
        epoch += 1


def _profile(step: Program, arguments: list[Array], number: int, timeline: Timeline) -> None:
    """Run the last step once more with a clock on each kernel, where the engine can do that."""
    profile = getattr(step, "profile", None)
    if profile is None:
        return
    with timeline.span(f"step {number}, kernel by kernel", "step"):
        kernels = profile(*arguments)
    timeline.spans += [
        Span(name, "kernel", start, duration, f"thread {thread}") for name, start, duration, thread in kernels
    ]


def _accuracy(on: tuple[Engine, Program], weights: list[Array], digits: Digits, batch: int) -> float:
    """The share of test digits that are recognised; the last batch is filled up with rows that do not count."""
    subject, program = on
    labels = digits.one_hot()
    correct = 0.0
    for start in range(0, digits.count, batch):
        missing = max(0, start + batch - digits.count)
        rows = [np.pad(rows_[start : start + batch], ((0, missing), (0, 0))) for rows_ in (digits.images, labels)]
        correct += float(execute(subject, program, [*weights, *rows]).results[0])
    return correct / digits.count


def _to_json(
    request: Request, subject: Engine, dataset: Dataset, training: Training, accuracy: float
) -> dict[str, Any]:
    return {
        "model": request.model,
        "engine": subject.spec,
        "data": dataset.source,
        "seed": request.seed,
        "steps": request.steps,
        "batch": request.batch,
        "losses": [loss if math.isfinite(loss) else None for loss in training.losses],
        "accuracy": accuracy,
        "timeline": str(request.timeline),
    }
