"""A failure as a bundle keeps it, and whether its parts belong together: a bundle may come from a stranger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import compiler
from compiler import edit
from xlabench.cases import inputs
from xlabench.cases.layouts import ALIGNED
from xlabench.errors import BenchError
from xlabench.judging.bounds import Bounds
from xlabench.judging.tolerance import Array, TolerancePolicy


@dataclass(frozen=True, slots=True)
class Original:
    """A program with its inputs as they were before anything was reduced."""

    module_text: str
    inputs: Sequence[Array]


@dataclass(frozen=True, slots=True)
class Failure:
    """What a bundle keeps: a program, its inputs, what was expected and what came (nothing, if it crashed).

    `bounds` are found when the bundle is written, where nothing else is given to judge by; `custom_calls` are the
    meanings that the program's calls had then, for people to read: nothing is loaded because of them.  `layout` names
    how the inputs lay in memory (`xlabench.cases.layouts`), and an engine that `takes_all` may not refuse the program.
    Of one that `is_unanswered` nobody who is believed had an answer: there are no results, and only how the engine ends
    can be asked again.
    """

    module_text: str
    inputs: Sequence[Array]
    expected: Sequence[Array]
    actual: Sequence[Array]
    engine: str
    reference: str
    seed: int | None
    verdict: str
    message: str
    policy: TolerancePolicy = TolerancePolicy()  # noqa: RUF009 - frozen
    original: Original | None = None
    bounds: tuple[Bounds, ...] | None = None
    custom_calls: tuple[str, ...] = ()
    layout: str = ALIGNED
    takes_all: bool = False
    is_unanswered: bool = False


def check(failure: Failure, folder: Path) -> None:
    """Refuse parts that do not belong together: what came of them would pass for a failure of the engine.

    Raises:
        BenchError: they do not.
    """
    try:
        module = compiler.parse(failure.module_text, filename="module.hlo")
        compiler.verify(module)
        inputs.check(failure.inputs, module, source="inputs.npz")
        expected = list(failure.expected)
        results = [leaf for leaf in edit.leaves(module.entry.root.shape) if leaf.element_type.name in inputs.DTYPES]
        results *= compiler.times_given(module)
        if failure.is_unanswered and results:
            _require_an_end(failure)
            return
        if len(expected) != len(results):
            raise BenchError(f"expected.npz: {len(expected)} results, but {module.name} gives {len(results)}")
        for number, (array, shape) in enumerate(zip(expected, results, strict=True)):
            if array.dtype != inputs.DTYPES[shape.element_type.name] or not _may_be(array.shape, shape):
                given = f"{array.dtype.name}[{','.join(map(str, array.shape))}]"
                raise BenchError(f"expected.npz: result {number} is {given}, but {module.name} gives {shape}")
    except (BenchError, compiler.ParseError, compiler.VerifyError) as error:
        said = str(error).encode("utf-8", "backslashreplace").decode()  # it may quote names in another encoding
        raise BenchError(f"{folder}: {said}") from error


def _require_an_end(failure: Failure) -> None:
    """Refuse results that nobody had an answer to hold them against."""
    if failure.expected or failure.bounds:
        raise BenchError("expected.npz: there are results, but the manifest says that nobody had an answer")
    if failure.verdict == "wrong":
        raise BenchError("expected.npz: nobody had an answer, so that no result can be wrong")


def _may_be(dims: tuple[int, ...], shape: edit.ArrayShape) -> bool:
    """Whether an array may have these dimensions: those of the shape, of which dynamic ones are bounds."""
    dynamic = shape.dynamic or (False,) * shape.rank
    return len(dims) == shape.rank and all(
        size <= bound if is_bound else size == bound
        for size, bound, is_bound in zip(dims, shape.dims, dynamic, strict=True)
    )
