"""Products of matrices alone, without a dot around them."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.cpu.kernels.gemm import amx
from compiler.backends.cpu.kernels.gemm.kernel import Product, ProductOnTiles
from compiler.backends.cpu.kernels.gemm.plan import plan
from compiler.backends.cpu.kernels.gemm.product import Gemm
from compiler.backends.cpu.machine import Machine
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Module


def emit(module: Module, name: str, gemm: Gemm, target: Target, parameters: Sequence[tuple[str, str]]) -> int:
    """Define the function of a product, on tile registers where those suit it; the workspace that a thread needs."""
    machine = Machine.of(target)
    form = ProductOnTiles(gemm) if amx.suits(gemm, machine) else Product(plan(gemm, machine))
    form.emit(module, name, parameters)
    return form.thread_bytes
