"""Dot kernels: an HLO `dot`, with whatever is fused before and behind it, as a matrix product.

The dimensions of a dot fall into four groups, batch, rows, columns and depth; each is walked by one linear index.
What is fused before the dot is evaluated while its operands are packed (`dot_operand`), the epilogue where a result
element is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from compiler.backends.cpu.kernels.dot.product import Product
from compiler.backends.cpu.kernels.emitted import parameters
from compiler.backends.cpu.kernels.gemm import amx, split
from compiler.backends.cpu.kernels.gemm.kernel import Product as GemmProduct
from compiler.backends.cpu.kernels.gemm.kernel import ProductOnTiles
from compiler.backends.cpu.kernels.gemm.plan import Form, plan
from compiler.backends.cpu.kernels.gemm.plan import Plan as GemmPlan
from compiler.backends.cpu.kernels.gemm.product import Gemm
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy, first_of
from compiler.backends.cpu.machine import Machine
from compiler.backends.strategy import Declined, Detail
from compiler.codegen import signature
from compiler.codegen.in_place import same_element
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Module
from compiler.codegen.product import factor
from compiler.diagnostics import UnsupportedError


@dataclass(frozen=True)
class ProductGiven(Given):
    """A kernel around a product, with that product and the plan for it."""

    product: Product

    @cached_property
    def gemm(self) -> Gemm:
        """The product of matrices."""
        return self.product.gemm()

    @cached_property
    def planned(self) -> GemmPlan:
        """The plan of the product as a whole, in vectors."""
        return plan(self.gemm, self.machine)

    def whole(self, form: GemmProduct | ProductOnTiles, **details: Detail) -> Plan:
        """The plan of a single function."""

        def emit(module: Module) -> Functions:
            name = module.free_name(self.kernel.name)
            form.emit(module, name, self.parameters)
            return (name,)

        own = form.thread_bytes
        return self.finely(self.plan(emit, self.cost_ns, thread_bytes=own, details=details), own)

    @property
    def parameters(self) -> signature.Parameters:
        """The pointers to which the product's callbacks refer."""
        return parameters(self.kernel)[:-3]


def _on_tiles(given: ProductGiven) -> Plan | Declined:
    """Sums in tile registers."""
    suits = amx.suits(given.gemm, given.machine)
    return given.whole(ProductOnTiles(given.gemm)) if suits else Declined(suits.reason)


def _split(given: ProductGiven) -> Plan | Declined:
    """Parts of long sums, and another function that adds them up."""
    whole = given.gemm
    pays = split.pays(whole, given.planned)
    if not pays:
        return Declined(pays.reason)
    chunk_count = split.chunk_count(whole)
    shared = split.partial_bytes(whole, chunk_count)
    chunked = GemmProduct(plan(split.partial(whole, chunk_count), given.machine), shared)

    def emit(module: Module) -> Functions:
        name = module.free_name(given.kernel.name)
        chunked.emit(module, name, given.parameters)
        split.emit_sum(module, f"{name}.sum", whole, chunk_count, given.parameters)
        return name, f"{name}.sum"

    details: dict[str, Detail] = {"parts": chunk_count, **_details(chunked.plan)}
    own = chunked.thread_bytes
    return given.finely(given.plan(emit, given.cost_ns, shared_bytes=shared, thread_bytes=own, details=details), own)


_RATHER: dict[Form, str] = {
    "stream": "there are more than a few rows, or none of them is read in order",
    "zero": "there is something to sum, or no result",
    "empty": "there are results",
}
"""Why products do not have the forms that numbers of rows alone decide about."""


def _as(form: Form) -> Callable[[ProductGiven], Plan | Declined]:
    """The plan of a form, if the product has it."""

    def decide(given: ProductGiven) -> Plan | Declined:
        planned = given.planned
        if planned.form != form:
            return Declined(_RATHER.get(form, planned.why))
        return given.whole(GemmProduct(planned), **_details(planned))

    return decide


def _details(planned: GemmPlan) -> dict[str, Detail]:
    """The sizes that a product was given."""
    found: dict[str, Detail] = {"extent": [planned.gemm.batch, planned.gemm.m, planned.gemm.n, planned.gemm.k]}
    if planned.form in ("dot", "tile"):
        found["tile"] = [planned.rows, planned.columns if planned.form == "tile" else planned.vectors]
    if planned.form == "tile":
        found["block"] = [planned.row_block * planned.rows, planned.column_block * planned.columns, planned.depth]
        direct = {"lhs": planned.lhs_direct, "rhs": planned.rhs_direct, "out": planned.out_direct}
        found["packed"] = [name for name, is_direct in direct.items() if not is_direct]
    if planned.gemm.words:
        found["words"] = planned.gemm.words.instruction
    return found


PRODUCTS: tuple[Strategy[ProductGiven, Functions], ...] = (
    Strategy("tile registers", _on_tiles, in_place=True),
    Strategy("split sums", _split, in_place=True),
    Strategy("register tiles", _as("tile"), in_place=True),
    Strategy("sums along vectors", _as("dot"), in_place=True),
    Strategy("rows streamed", _as("stream"), in_place=True),
    Strategy("zeros", _as("zero"), in_place=True),
    Strategy("nothing", _as("empty"), in_place=True),
)
"""How products of matrices are computed: an epilogue reads what it needs of an operand's element before the store."""


def given_of(kernel: Kernel, machine: Machine, threads: int) -> ProductGiven:
    """A dot kernel with its operands, as strategies are given it.

    Args:
        kernel: one with a single dot, whose shape is that of the result.
        machine: what it is computed on.
        threads: of a call, at most.

    Raises:
        UnsupportedError: the kernel is a fusion of another form.
    """
    dots = kernel.of_opcode("dot")
    if len(dots) != 1 or len(kernel.roots) != 1 or kernel.roots[0].array.dims != dots[0].array.dims:
        raise UnsupportedError("a fusion of this form around dot", "the CPU back end", kernel.name)
    product = Product(kernel, dots[0], factor(dots[0], 0), factor(dots[0], 1))
    return ProductGiven(kernel, machine, threads, product)


def plan_of(given: Given, product: Product) -> Plan:
    """The plan of a kernel that a product amounts to."""
    chosen = first_of(PRODUCTS, ProductGiven(given.kernel, given.machine, given.threads, product))
    return replace(chosen.plan, inner=chosen, details={})


DOT = Kind(PRODUCTS, given_of, same_element)
"""Dot kernels."""
