"""Packing as routines: what copies a factor in vectors is told where it lies, and is the same in every program.

Such code is loads and stores, of which addresses are a small share: it loses nothing by being told how far lines lie
apart and how long they are.  To generate it takes as long as everything else that a product is made of, so that a
process does it once for each size of register tile.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.backends.cpu.kernels.gemm.pack import Packer, Panels, Rows, Steps
from compiler.backends.cpu.kernels.gemm.product import Operand, Source
from compiler.backends.cpu.kernels.gemm.share import Range
from compiler.codegen.llvm_ir import I64, PTR, Builder, Function, Module, Value, integer, write_once

_ATTRIBUTES = "noinline nounwind"


def pack_as_routine(b: Builder, factor: Panels | Rows, steps: Steps, lines: Range, target: Value) -> bool:
    """Have a range of panels, or of rows, packed by a routine; False where none does what this factor needs.

    Args:
        b: where it is called.
        factor: what is packed.
        steps: the batch and the steps along k.
        lines: the first panel or row, and the one behind the last.
        target: the address for the first step of the first one.
    """
    source = _source(factor)
    if source is None:
        return False
    name = _name(factor, source)
    if not b.module.has_function(name):
        write_once(b.module, name, lambda module: _define(module, name, factor, source))
    size = factor.panel_elements if isinstance(factor, Panels) else factor.pitch
    most = _most(factor) if isinstance(factor, Panels) else 0
    told = [lines.start, lines.stop, steps.start, steps.count, *map(integer, (source.apart, size, most))]
    b.call(f"@{name}", "void", [source.array.base(b, steps.batch), target, *told])
    return True


def _source(factor: Panels | Rows) -> Source | None:
    """What a routine would read; None where elements are left over that go one by one, or are transposed."""
    operand = factor.operand
    if operand.run:
        return None
    if isinstance(factor, Rows):
        return operand.source if factor.whole else None
    whole = factor.copies and factor.last == factor.width and factor.width % factor.lanes == 0
    return operand.source if whole else None


def _most(panels: Panels) -> int:
    """The row behind which no panel starts."""
    return (panels.count - 1) * panels.width if panels.most is None else panels.most


def _name(factor: Panels | Rows, source: Source) -> str:
    if isinstance(factor, Rows):
        return f"gemm.rows.{factor.type}x{factor.lanes}{source.form}"
    ahead = f".ahead{factor.ahead}" if factor.ahead else ""
    return f"gemm.pack.{factor.type}x{factor.lanes}.{factor.width}{source.form}{ahead}"


def _define(module: Module, name: str, factor: Panels | Rows, source: Source) -> None:
    """Define `void NAME(ptr source, ptr target, i64 first, stop, start, count, apart, size, most)`."""
    names = "first", "stop", "start", "count", "apart", "size", "most"
    parameters = [(f"{PTR} noalias readonly", "source"), (f"{PTR} noalias", "target"), *((I64, n) for n in names)]
    function = module.function(name, "void", parameters, linkage="internal", attributes=_ATTRIBUTES)
    function.routine = name
    _emit(function, factor, source)


def _emit(function: Function, factor: Panels | Rows, source: Source) -> None:
    start, target, first, stop, step, count, apart, size, most = function.arguments
    b = Builder(function)
    operand: Operand = source.told(start, apart)
    steps, lines = Steps(integer(0), step, count), Range(first, stop)
    if isinstance(factor, Rows):
        replace(factor, operand=operand, told_pitch=size).copy(b, steps, lines, target)
    else:
        panels = replace(factor, operand=operand, told_size=size, told_most=most)
        Packer(function.name, panels, target).pack(b, steps, lines, target)
    b.ret()
