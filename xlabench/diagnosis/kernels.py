"""What in a wrong kernel is wrong: as little of it as will do, and whether it matters what that computes.

A kernel is known by the opcodes in it.  Of many most have nothing to do with the failure, so it is reduced, alone on
its right operands.  Then something plainer is put in its place: an elementwise kernel with results of the same shape,
or with as many as threads work on them where several work on one, or the same loop with a sum for what it combines.
Where that fails alike, no opcode is to blame but what all kernels of the kind share; and all findings that such a bug
brings about have this in common, whatever they compute.  Of a function that is made of simpler steps the steps are
asked themselves: one that is wrong is to blame, whichever function showed it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

import compiler
from compiler import edit
from compiler.ops import Trait, having
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.combiners import COMBINING
from xlabench.diagnosis.probe import Judgement, Prober
from xlabench.diagnosis.reduce import reduce
from xlabench.judging.tolerance import Array, is_inexact

_MOST_PROBES = 60
_LANES = 32  # that work on one result together, on GPUs
_MOST_ELEMENTS = 1 << 16  # of a plain program, which has to be run
_PERIOD = 7  # of values that tell places apart; what is misplaced, is so by an even number of places
_CLASSES = {"flaky": "wrong"}  # what reads garbage is the one or the other by chance
_NO_WORK = having(Trait.STRUCTURAL) | {"fusion"}
_MADE_OF_OTHERS = having(Trait.ELEMENTWISE) & having(Trait.APPROXIMATE)
_SIMPLE = having(Trait.ELEMENTWISE) & (having(Trait.EXACT) | having(Trait.SIGNED_ZEROS)) - having(Trait.APPROXIMATE)
_SUM = """HloModule plain

sum {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  ROOT c = {kind}[] add(a, b)
}}

ENTRY main {{
  terms = {kind}[{dims}] parameter(0)
  start = {kind}[] parameter(1)
  ROOT result = {kind}[{kept}] reduce(terms, start), dimensions={{{last}}}, to_apply=sum
}}
"""


def class_of(verdict: str) -> str:
    """What of a verdict does not depend on chance."""
    return _CLASSES.get(verdict, verdict)


def opcodes(module: compiler.Module) -> str:
    """What a kernel computes: what is in it, each opcode once."""
    return "+".join(sorted({i.opcode for i in module.instructions()} - _NO_WORK))


def guilty(prober: Prober, kernel: Case, wanted: Judgement, on_verdict: Callable[[str, str], None]) -> str:
    """The opcodes that a wrong kernel cannot do without; `any elementwise`, `any reduce`... where none is to blame.

    Args:
        prober: asks the engine.
        kernel: a program of one kernel, and its inputs.
        wanted: the judgement on it.
        on_verdict: is told what stood in the kernel's place, and the verdict on that.
    """

    def fails_alike(case: Case, witness: str = "") -> bool:
        verdict = prober.judge(case).verdict
        if witness:
            on_verdict(witness, verdict)
        return class_of(verdict) == class_of(wanted.verdict)

    if "+" in opcodes(kernel.module) and wanted.verdict != "timeout":
        kernel = reduce(kernel, fails_alike, prober.record, max_probes=_MOST_PROBES).case
    for size, kind, text in _plainer(kernel):
        plain = _case(text)
        if plain and fails_alike(plain, f"a plain {size}{kind} kernel in its place"):
            return f"any {kind}"
    return _wrong_step(prober, kernel, wanted, on_verdict) or opcodes(kernel.module)


def _wrong_step(prober: Prober, kernel: Case, wanted: Judgement, on_verdict: Callable[[str, str], None]) -> str:
    """The first simple opcode that is wrong itself on what a wrong function is given, of either sign; "" for none."""
    if opcodes(kernel.module) not in _MADE_OF_OTHERS or class_of(wanted.verdict) != "wrong":
        return ""
    given = next((array for array in kernel.inputs if is_inexact(array.dtype) and array.size), None)
    if given is None:
        return ""
    shape = next(
        p.array for p, array in zip(kernel.module.entry.parameters, kernel.inputs, strict=True) if array is given
    )
    steps = {step: line for step in sorted(_SIMPLE) if (line := _step(step, shape))}
    module = compiler.parse(_steps(shape, steps.values()))
    for array in (given, -given):  # what a step is given within a function may be of another sign
        judgement = prober.judge(Case(module, (array, np.roll(array, 1))))
        on_verdict(f"each of {len(steps)} simple steps in its place", judgement.verdict)
        if class_of(judgement.verdict) == "wrong" and judgement.wrong:
            return list(steps)[judgement.wrong[0]]
    return ""


def _step(opcode: str, shape: edit.ArrayShape) -> str:
    """The call of an opcode on one array or two of a shape; "" where it takes neither, or gives another shape."""
    for operands in ("x", "x, y"):
        call = f"{shape.element_type.name}[{_written(shape.dims)}] {opcode}({operands})"
        if _case(_steps(shape, [call])):
            return call
    return ""


def _steps(shape: edit.ArrayShape, calls: Iterable[str]) -> str:
    array = f"{shape.element_type.name}[{_written(shape.dims)}]"
    lines = [f"s{number} = {call}" for number, call in enumerate(calls)]
    results = ", ".join(line.partition(" ")[0] for line in lines)
    given = [f"x = {array} parameter(0)", f"y = {array} parameter(1)"]
    return "\n".join(["HloModule steps", "ENTRY main {", *given, *lines, f"ROOT all = tuple({results})", "}"])


def is_wrong_where_results_lie(prober: Prober, kernel: Case, wanted: Judgement) -> bool:
    """Whether any kernel with several results of the same shapes is wrong, while one with one of them is not.

    Args:
        prober: who asks the engine.
        kernel: a kernel alone on its operands.
        wanted: what it shows.
    """
    root = kernel.module.entry.root
    if root.opcode != "tuple" or not all(map(_is_array, root.operands)):
        return False
    one, whole = (_case(_elementwise(*map(_like, results))) for results in (root.operands[:1], root.operands))
    if one is None or whole is None or class_of(prober.judge(whole).verdict) != class_of(wanted.verdict):
        return False
    return class_of(prober.judge(one).verdict) != class_of(wanted.verdict)


class _Plainer(NamedTuple):
    """A plainer program than a kernel: its size in a word, what it stands for, and its text."""

    size: str
    kind: str
    text: str


def _plainer(kernel: Case) -> Iterator[_Plainer]:
    """What to put in the place of a kernel, the plainest first."""
    working = [i for i in kernel.module.entry.instructions if i.opcode not in _NO_WORK]
    for instruction in working[-1:]:
        opcode, shapes = instruction.opcode, tuple(edit.leaves(instruction.shape))
        for size, more in (("", ()), ("larger ", (_LANES,)), ("large ", (_LANES, _LANES))):
            results = [(opcode, shape.with_dims((*shape.dims, *more))) for shape in shapes]
            if results and sum(shape.size for _, shape in results) <= _MOST_ELEMENTS:
                yield _Plainer(size, "elementwise", _elementwise(*results))
    for instruction in filter(_is_array, working):
        if instruction.opcode == "dot":
            yield _Plainer("", "reduce", _sum_like(instruction))
        elif _combines(instruction):
            yield _Plainer("", instruction.opcode, _summing(kernel.module, instruction))


def _is_array(instruction: Any) -> bool:
    return isinstance(instruction.shape, edit.ArrayShape)


def _combines(instruction: Any) -> bool:
    """Whether a sum can stand for what it does with pairs of its elements."""
    bodies = instruction.called_computations() if instruction.opcode in COMBINING else ()
    return any(len(body.parameters) == 2 and body.root.shape == body.parameters[0].shape for body in bodies)


def _like(result: Any) -> tuple[str, edit.ArrayShape]:
    return result.opcode, result.array


def _elementwise(*results: tuple[str, edit.ArrayShape]) -> str:
    """One kernel with results of the same shapes; not by the same opcode, which may be to blame."""
    is_taken = any(opcode == "select" for opcode, _ in results)
    given, lines = dict[str, str](), list[str]()
    for number, (_, shape) in enumerate(results):
        kind, dims = shape.element_type.name, _written(shape.dims)
        # What several results share makes one kernel of them.
        operands = {f"which{dims.replace(',', '_')}": "pred", f"one{number}": kind, f"other{number}": kind}
        names = list(operands)[is_taken:]
        given |= {name: f"{operands[name]}[{dims}]" for name in names}
        opcode = "select" if not is_taken else "or" if kind == "pred" else "add"
        lines.append(f"r{number} = {kind}[{dims}] {opcode}({', '.join(names)})")
    parameters = [f"{name} = {type_} parameter({n})" for n, (name, type_) in enumerate(given.items())]
    lines.append(f"ROOT all = tuple({', '.join(f'r{number}' for number in range(len(results)))})")
    return "\n".join(["HloModule plain", "ENTRY main {", *parameters, *lines, "}"])


def _sum_like(dot: Any) -> str:
    """Sums as long, and as many, as those of a product."""
    kept, left = dot.shape.dims, dot.operands[0].shape.dims
    length = math.prod(left[number] for number in dot.attributes.get("lhs_contracting_dims", ()))
    dims = _written((*kept, length))
    kind = dot.shape.element_type.name
    return _SUM.format(kind=kind, dims=dims, kept=_written(kept), last=len(kept))


def _summing(module: compiler.Module, instruction: Any) -> str:
    """The instruction alone, with a sum for what it combines."""
    alone = edit.isolate(module, edit.id_of(instruction)).module
    constants = [edit.id_of(i) for i in alone.entry.instructions if i.opcode == "constant"]
    root = edit.id_of(alone.entry.root)
    return compiler.to_text(edit.sum_up(edit.to_parameters(alone, constants).module, [root]).module)


def _written(dims: tuple[int, ...]) -> str:
    return ",".join(map(str, dims))


def _case(text: str) -> Case | None:
    """A program with inputs that tell places apart; None where it is none, as with opcodes that lack a type."""
    try:
        module = compiler.parse(text)
        compiler.verify(module)
    except compiler.CompilerError:
        return None
    return Case(module, tuple(_values(p.array, number) for number, p in enumerate(module.entry.parameters)))


def _values(shape: edit.ArrayShape, first: int) -> Array:
    numbers = np.arange(first, first + shape.size) % _PERIOD if shape.rank else np.zeros(1)
    return numbers.astype(shape.element_type.dtype).reshape(shape.dims)
