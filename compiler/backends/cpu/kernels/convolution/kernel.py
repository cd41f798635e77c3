"""Convolution kernels, with an elementwise epilogue: the strategies, in order of preference.

A window of single elements is a plain matrix product.  Others are implicit ones, on a padded copy of the input: what
fills their vectors hangs on the shape (`plan`), how they are walked is `choice`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from compiler.backends.cpu.kernels.convolution import choice
from compiler.backends.cpu.kernels.convolution.memory import Layout, emit_packing
from compiler.backends.cpu.kernels.convolution.nest import emit_nest
from compiler.backends.cpu.kernels.convolution.plan import Form
from compiler.backends.cpu.kernels.convolution.plan import Plan as PhasePlan
from compiler.backends.cpu.kernels.dot.kernel import plan_of
from compiler.backends.cpu.kernels.dot.product import Product
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy
from compiler.backends.strategy import Declined, Detail
from compiler.codegen.llvm_ir import Module
from compiler.codegen.product import pointwise
from compiler.diagnostics import UnsupportedError
from compiler.ir.module import Instruction


class ConvolutionGiven(Given):
    """A kernel around a convolution."""

    @cached_property
    def convolution(self) -> Instruction:
        """The convolution instruction of the kernel.

        Raises:
            UnsupportedError: the kernel is a fusion of another form.
        """
        found = self.kernel.of_opcode("convolution")
        if len(found) != 1 or len(self.kernel.roots) != 1 or self.kernel.roots[0].array.dims != found[0].array.dims:
            raise UnsupportedError("a fusion of this form around convolution", "the CPU back end", self.kernel.name)
        return found[0]

    @cached_property
    def plans(self) -> list[PhasePlan]:
        """The plan of each phase."""
        return choice.plans(self.kernel, self.convolution, self.machine, self.threads)


def _pointwise(given: ConvolutionGiven) -> Plan | Declined:
    """The plan where a window of single elements makes a product of matrices."""
    factors = pointwise(given.convolution)
    if factors is None:
        return Declined("windows have more elements than one")
    return plan_of(given, Product(given.kernel, given.convolution, *factors))


def _as(form: Form) -> Callable[[ConvolutionGiven], Plan | Declined]:
    """The plan of a form, if the convolution has it."""

    def decide(given: ConvolutionGiven) -> Plan | Declined:
        if not choice.walks(given.kernel, given.convolution, given.machine):
            return Declined("there is no dimension to go along with windows")
        first = given.plans[0]
        if first.shape.form != form:
            return Declined(f"vectors of {first.shape.form} are filled better")
        return _implicit(given, given.plans)

    return decide


def _implicit(given: ConvolutionGiven, plans: Sequence[PhasePlan]) -> Plan:
    layout, kernel, first = Layout.of(plans), given.kernel, plans[0]

    def emit(module: Module) -> Functions:
        packing = () if first.weights_direct else (emit_packing(module, kernel, plans, layout),)
        return *packing, emit_nest(module, kernel, plans, layout)

    copied = {"input": first.patch_direct, "weights": first.weights_direct, "sums": first.out_direct}
    details: dict[str, Detail] = {
        "tile": [first.rows, first.vectors * first.lanes],
        "band": first.band,
        "block": first.block,
        "phases": len(plans),
        "copied": [name for name, is_direct in copied.items() if not is_direct],
    }
    if first.shape.narrowed:
        details["words"] = first.shape.narrowed.words.instruction
    shared, own = layout.shared, layout.own
    return given.finely(given.plan(emit, given.cost_ns, shared_bytes=shared, thread_bytes=own, details=details), own)


CONVOLUTION = Kind(
    (
        Strategy("matrix product", _pointwise),
        Strategy("vectors of features", _as("features")),
        Strategy("vectors of places", _as("places")),
        Strategy("vectors of lanes", _as("lanes")),
    ),
    ConvolutionGiven,
)
"""Convolution kernels."""
