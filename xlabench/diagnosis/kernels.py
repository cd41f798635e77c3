"""What in a wrong kernel is wrong: as little of it as will do, and whether it matters what that computes.

A kernel is known by the opcodes in it.  Of many most have nothing to do with the failure, so it is reduced, alone on
its right operands.  Then something plainer is put in its place: an elementwise kernel with results of the same shape,
or the same loop with a sum for what it combines.  Where that fails alike, no opcode is to blame but what all kernels of
the kind share; and all findings that such a bug brings about have this in common, whatever they compute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import compiler
from compiler import edit
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.combiners import COMBINING
from xlabench.diagnosis.probe import Judgement, Prober
from xlabench.diagnosis.reduce import reduce
from xlabench.judging.tolerance import Array

_MOST_PROBES = 60
_PERIOD = 7  # of values that tell places apart; what is misplaced, is so by an even number of places
_CLASSES = {"flaky": "wrong"}  # what reads garbage is the one or the other by chance
_NO_WORK = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "fusion"})
_ELEMENTWISE = """HloModule plain

ENTRY main {{
  which = pred[{dims}] parameter(0)
  one = {kind}[{dims}] parameter(1)
  other = {kind}[{dims}] parameter(2)
  ROOT result = {kind}[{dims}] {written}
}}
"""
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


def guilty(prober: Prober, kernel: Case, wanted: Judgement, hear: Callable[[str, str], None]) -> str:
    """The opcodes that a wrong kernel cannot do without; `any elementwise`, `any reduce`... where none is to blame.

    `hear` is told what stood in the kernel's place, and the verdict on that.
    """

    def fails_alike(case: Case, witness: str = "") -> bool:
        verdict = prober.judge(case).verdict
        if witness:
            hear(witness, verdict)
        return class_of(verdict) == class_of(wanted.verdict)

    if "+" in opcodes(kernel.module) and wanted.verdict != "timeout":
        kernel = reduce(kernel, fails_alike, prober.record, max_probes=_MOST_PROBES).case
    for kind, plain in _plainer(kernel):
        if fails_alike(plain, f"a plain {kind} kernel in its place"):
            return f"any {kind}"
    return opcodes(kernel.module)


def _plainer(kernel: Case) -> Iterator[tuple[str, Case]]:
    """Kernels to put in the place of one, the plainest first, and what they stand for."""
    results = [i for i in kernel.module.entry.instructions if i.opcode not in _NO_WORK and _is_array(i)]
    for instruction in results[-1:]:
        yield from _valid("elementwise", _elementwise(instruction))
    for instruction in results:
        if instruction.opcode == "dot":
            yield from _valid("reduce", _sum_like(instruction))
        elif _combines(instruction):
            yield from _valid(instruction.opcode, _summing(kernel.module, instruction))


def _is_array(instruction: Any) -> bool:
    return isinstance(instruction.shape, edit.ArrayShape)


def _combines(instruction: Any) -> bool:
    """Whether a sum can stand for what it does with pairs of its elements."""
    bodies = instruction.called_computations() if instruction.opcode in COMBINING else ()
    return any(len(body.parameters) == 2 and body.root.shape == body.parameters[0].shape for body in bodies)


def _elementwise(instruction: Any) -> compiler.Module:
    """A kernel with a result of the same shape; not by the same opcode, which may be to blame."""
    kind = instruction.shape.element_type.name
    written = "select(which, one, other)"
    if instruction.opcode == "select":
        written = f"{'or' if kind == 'pred' else 'add'}(one, other)"
    return compiler.parse(_ELEMENTWISE.format(kind=kind, dims=_written(instruction.shape.dims), written=written))


def _sum_like(dot: Any) -> compiler.Module:
    """Sums as long, and as many, as those of a product."""
    kept, left = dot.shape.dims, dot.operands[0].shape.dims
    length = math.prod(left[number] for number in dot.attributes.get("lhs_contracting_dims", ()))
    dims = _written((*kept, length))
    kind = dot.shape.element_type.name
    return compiler.parse(_SUM.format(kind=kind, dims=dims, kept=_written(kept), last=len(kept)))


def _summing(module: compiler.Module, instruction: Any) -> compiler.Module:
    """The instruction alone, with a sum for what it combines."""
    alone = edit.isolate(module, edit.place_of(instruction)).module
    constants = [edit.place_of(i) for i in alone.entry.instructions if i.opcode == "constant"]
    root = edit.place_of(alone.entry.root)
    return edit.sum_up(edit.to_parameters(alone, constants).module, [root]).module


def _written(dims: tuple[int, ...]) -> str:
    return ",".join(map(str, dims))


def _valid(kind: str, module: compiler.Module) -> Iterator[tuple[str, Case]]:
    """A program with inputs that tell places apart, and zeros for scalars; nothing where there is no such program."""
    try:
        compiler.verify(module)
    except compiler.VerifyError:
        return
    yield kind, Case(module, tuple(_values(parameter.array) for parameter in module.entry.parameters))


def _values(shape: edit.ArrayShape) -> Array:
    dims, dtype = shape.dims, shape.element_type.dtype
    return (np.arange(math.prod(dims)) % _PERIOD if dims else np.zeros(1)).astype(dtype).reshape(dims)
