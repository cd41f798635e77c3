"""Sort kernels: every line along the sorted dimension by a stable bottom-up merge sort, lines shared between threads.

A line is copied into the thread's own workspace, merged back and forth between two halves of it, and stored.  A merge
step is free of branches: both candidates are loaded, the comparator decides, and one is stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin
from compiler.codegen import element, elemental, nest
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, I64, PTR, Builder, Module, Value, integer
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir.module import Instruction
from compiler.ir.types import ElementType

_COMPARISON_NS = 4.0


def emit(module: Module, kernel: Kernel, threads: int) -> EmittedKernel:
    """Emit a sort kernel for calls with up to that many threads."""
    (sort,) = kernel.roots
    sorter = _Sorter(module, kernel, sort)
    lines, length = sorter.lines, sorter.length
    work = _COMPARISON_NS * lines * length * max(1, math.ceil(math.log2(max(2, length))))
    name = sorter.emit()
    return EmittedKernel(kernel, (name,), sorter.workspace_bytes * threads, lines > 1, work)


class _Sorter:
    def __init__(self, module: Module, kernel: Kernel, sort: Instruction) -> None:
        self.module = module
        self.kernel = kernel
        self.sort = sort
        (dimension,) = sort.attributes["dimensions"]
        dims = sort.operands[0].array.dims
        self.length: int = dims[dimension]
        self.inner = math.prod(dims[dimension + 1 :])
        self.lines = math.prod(dims[:dimension]) * self.inner
        self.types: list[ElementType] = [operand.array.element_type for operand in sort.operands]
        self.sizes: list[int] = [-(-type_.size_bytes * self.length // 64) * 64 for type_ in self.types]

    @property
    def workspace_bytes(self) -> int:
        """Two copies of a line, for one thread."""
        return 2 * sum(self.sizes)

    def emit(self) -> str:
        """Emit the function."""
        merge = self._merge_function() if self.length > 1 else ""
        builder = Builder(begin(self.module, self.kernel))
        if self.lines and self.length:
            part = nest.share(builder, self.lines, THREAD, THREADS)
            base = builder.gep(
                "i8", arguments(self.kernel).workspace, builder.mul(THREAD, integer(self.workspace_bytes))
            )
            halves = self._halves(builder, base)
            with builder.loop(part.start, part.stop, name="line") as loop:
                self._load(builder, loop.index, halves[0])
                width, turn = 1, 0
                while width < self.length:
                    pointers = [*halves[turn], *halves[1 - turn], integer(width)]
                    builder.call(f"@{merge}", "void", pointers)
                    width, turn = 2 * width, 1 - turn
                self._store(builder, loop.index, halves[turn])
        builder.ret()
        return builder.function.name

    def _halves(self, builder: Builder, base: Value) -> tuple[list[Value], list[Value]]:
        offset = 0
        halves: tuple[list[Value], list[Value]] = [], []
        for half in halves:
            for size in self.sizes:
                half.append(builder.gep("i8", base, integer(offset)))
                offset += size
        return halves

    def _position(self, builder: Builder, line: Value, number: Value) -> Value:
        """The linear index of an element of a line."""
        inner = integer(self.inner)
        outer = builder.binary("udiv", line, inner)
        rest = builder.binary("urem", line, inner)
        row = builder.add(builder.mul(outer, integer(self.length)), number)
        return builder.add(builder.mul(row, inner), rest)

    def _load(self, builder: Builder, line: Value, target: Sequence[Value]) -> None:
        dims = self.sort.operands[0].array.dims
        with builder.loop(integer(0), integer(self.length), nonempty=True) as loop:
            emission = Emission(builder)
            linear = emission.opaque(self._position(builder, line, loop.index), math.prod(dims))
            indices = nest.coordinates(emission, linear, dims)
            values = elemental_of(self.kernel, emission)
            for operand, type_, pointer in zip(self.sort.operands, self.types, target, strict=True):
                address = builder.gep(element.storage_type(type_), pointer, loop.index)
                element.store(builder, type_, values.value(operand, indices), address)

    def _store(self, builder: Builder, line: Value, source: Sequence[Value]) -> None:
        kernel = self.kernel
        with builder.loop(integer(0), integer(self.length), nonempty=True) as loop:
            emission = Emission(builder)
            linear = emission.opaque(self._position(builder, line, loop.index), self.lines * self.length)
            outputs = arguments(kernel).outputs
            for shape, pointer, output in zip(kernel.outputs, source, outputs, strict=True):
                address = builder.gep(element.storage_type(shape.element_type), pointer, loop.index)
                store(emission, shape, element.load(builder, shape.element_type, address), output, linear)

    def _merge_function(self) -> str:
        """`void merge(from..., to..., i64 width)`: merge all pairs of neighbouring runs of that width."""
        count = len(self.types)
        names = [*(f"from{n}" for n in range(count)), *(f"to{n}" for n in range(count))]
        parameters = [*((f"{PTR} noalias", name) for name in names), (I64, "width")]
        function = self.module.function(f"{self.kernel.name}.merge", "void", parameters, linkage="internal")
        builder = Builder(function)
        *pointers, width = function.arguments
        length, double = integer(self.length), builder.binary("shl", width, integer(1))
        pairs = builder.binary("udiv", builder.add(length, builder.sub(double, integer(1))), double)
        with builder.loop(integer(0), pairs, name="pair", nonempty=True) as pair:
            start = builder.mul(pair.index, double)
            middle = builder.intrinsic("smin.i64", [builder.add(start, width), length])
            end = builder.intrinsic("smin.i64", [builder.add(start, double), length])
            with builder.loop(start, end, carried=[start, middle], name="merge", nonempty=True) as step:
                left, right = step.carried
                takes_right = self._take(builder, pointers, step.index, (left, middle), (right, end))
                taken = builder.cast("zext", takes_right, I64)
                kept = builder.sub(integer(1), taken)
                step.carry(builder.add(left, kept), builder.add(right, taken))
        builder.ret()
        return function.name

    def _take(
        self,
        builder: Builder,
        pointers: Sequence[Value],
        to: Value,
        left: tuple[Value, Value],
        right: tuple[Value, Value],
    ) -> Value:
        """Store the lesser of the two runs' next elements; the left one unless the right one goes strictly before."""
        count = len(self.types)
        present = [builder.compare("slt", position, end) for position, end in (left, right)]
        places = [builder.select(has, position, to) for has, (position, _) in zip(present, (left, right), strict=True)]
        candidates = [
            [
                element.load(builder, type_, builder.gep(element.storage_type(type_), pointer, place))
                for type_, pointer in zip(self.types, pointers[:count], strict=True)
            ]
            for place in places
        ]
        values = [value for pair in zip(candidates[1], candidates[0], strict=True) for value in pair]
        (before,) = elemental.apply(Emission(builder), self.sort.attributes["to_apply"], values)
        left_over = builder.binary("xor", present[0], Value(I1, "true"))
        takes_right = builder.binary("and", present[1], builder.binary("or", left_over, before))
        for type_, pointer, l_value, r_value in zip(self.types, pointers[count:], *candidates, strict=True):
            address = builder.gep(element.storage_type(type_), pointer, to)
            element.store(builder, type_, builder.select(takes_right, r_value, l_value), address)
        return takes_right
