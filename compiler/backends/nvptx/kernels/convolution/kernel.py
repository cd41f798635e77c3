"""Convolution kernels: a batch of matrix products whose left operand is never made, or a thread for each element.

A result is a position and an output feature, a term a tap of the window and an input feature; so the positions are
rows, the output features columns and the terms the depth of a product of the window's patches and the weights.  Which
element of the input a patch holds is index arithmetic where slices are loaded (`tile_slice`); what lies in the padding
is zero.  Groups of features are the batch.  Groups too narrow for a tile, as in depthwise convolutions, are summed
directly, a few long sums by warps, and so are groups of the batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from compiler.analysis.decision import Decision, unless
from compiler.backends.nvptx.kernels.dot import kernel as dot
from compiler.backends.nvptx.kernels.dot import strip, team, tile
from compiler.backends.nvptx.kernels.dot.matrix_product import (
    FactorPosition,
    Product,
    ResultPosition,
    of_dot,
    run_of,
    taken_apart,
)
from compiler.backends.nvptx.kernels.loop import kernel as loop
from compiler.backends.nvptx.kernels.strategy import Given, Kind, Plan, Strategy
from compiler.backends.strategy import Declined
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Value
from compiler.codegen.movement import Indices, Values
from compiler.codegen.product import Factor, pointwise
from compiler.codegen.windows import covered
from compiler.diagnostics import UnsupportedError
from compiler.ir.attributes import ConvolutionDimensions, Window
from compiler.ir.module import Instruction
from compiler.ir.windows import window_of

_LEAST = 16
"""Positions, output features and terms of each group from which on tiles are not mostly empty."""
_SHARED_SUM, _MANY_LANES = 64, 1 << 18
"""Terms from which on threads share a sum, two for each lane of a warp; and threads that an H100 holds at once, about:
where there is an element for each of these, nobody has to share."""


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
            raise UnsupportedError("a fusion of this form around convolution", "the NVPTX back end", self.kernel.name)
        return found[0]

    @cached_property
    def product(self) -> Product:
        """The product that it amounts to, of patches and weights."""
        return _Geometry(self.convolution).product(self.kernel)

    @property
    def has_product(self) -> Decision:
        """Whether it is computed as that."""
        grouped = self.convolution.attributes.get("batch_group_count", 1) > 1
        return unless(grouped, "the batch is cut into groups")

    @property
    def shares_sums(self) -> Decision:
        """Whether threads share the sum of an element."""
        many = self.product.size >= _MANY_LANES
        return self.has_product and unless(many, f"{_MANY_LANES} elements or more keep a GPU busy with a thread each")

    @property
    def is_large(self) -> bool:
        """Whether the product fills tiles."""
        return min(self.product.rows, self.product.columns, self.product.depth) >= _LEAST


def _pointwise(given: ConvolutionGiven) -> Plan | Declined:
    """The plan where a window of single elements makes a product of matrices."""
    factors = pointwise(given.convolution)
    if factors is None:
        return Declined("windows have more elements than one")
    product = of_dot(given.kernel, given.convolution, _without_window(given.convolution, *factors))
    return dot.plan_of(given, product)


def _tiles(given: ConvolutionGiven) -> Plan | Declined:
    """The plan of tiles of patches and weights."""
    if not given.has_product or not given.is_large:
        return Declined(given.has_product.reason or f"fewer than {_LEAST} rows, columns or terms")
    if dot.is_small(given.product, given.gpu):
        return Declined(
            "there is so little to multiply that waiting for slices takes longer than loading factors again"
        )
    return tile.plan(given.product, given.gpu)


def _strips(given: ConvolutionGiven) -> Plan | Declined:
    """The plan of a block for each strip of neighbouring positions or features."""
    return strip.plan(given.product, _SHARED_SUM) if given.shares_sums else Declined(given.shares_sums.reason)


def _blocks(given: ConvolutionGiven) -> Plan | Declined:
    """The plan of a block for each element."""
    product = given.product
    return dot.block_per_element(product, _SHARED_SUM) if given.shares_sums else Declined(given.shares_sums.reason)


def _warps(given: ConvolutionGiven) -> Plan | Declined:
    """The plan of a warp for each element."""
    product = given.product
    return dot.warp_per_element(product, _SHARED_SUM) if given.shares_sums else Declined(given.shares_sums.reason)


def _threads(given: ConvolutionGiven) -> Plan | Declined:
    """The plan of a thread for each of few elements: waiting for factors counts more there than finding them."""
    return team.plan_of_threads(given.product) if given.shares_sums else Declined(given.shares_sums.reason)


CONVOLUTION = Kind(
    (
        Strategy("matrix product", _pointwise),
        Strategy("tiles", _tiles),
        Strategy("a block for each strip", _strips),
        Strategy("a block for each element", _blocks),
        Strategy("a warp for each element", _warps),
        Strategy("a thread for each element", _threads),
        Strategy("element by element", loop.plan_of),
    ),
    ConvolutionGiven,
)
"""Convolution kernels."""


def _without_window(convolution: Instruction, left: Factor, right: Factor) -> tuple[Factor, Factor]:
    """Factors, the weights without the window's dimensions, of one element each, which the result does not have.

    Of weights that come first the other factor has the batch; the operand does not tell, it may be the same twice.
    """
    labels: ConvolutionDimensions = convolution.attributes["dim_labels"]
    free = (labels.kernel_output_feature,)
    return (replace(left, free=free), right) if right.batch else (left, replace(right, free=free))


class _Geometry:
    """The dimensions of a convolution by the part that they play in the product."""

    def __init__(self, convolution: Instruction) -> None:
        self.instruction = convolution
        self.labels: ConvolutionDimensions = convolution.attributes["dim_labels"]
        self.window: Window = window_of(convolution, len(self.labels.input_spatial))
        self.input, self.weights = convolution.operands[:2]
        self.groups: int = convolution.attributes.get("feature_group_count", 1)
        labels, dims = self.labels, convolution.array.dims
        self.features: int = dims[labels.output_feature] // self.groups
        self.free_dims = tuple(d for d in range(len(dims)) if d != labels.output_feature)
        self.free_sizes = [dims[d] for d in self.free_dims]
        # Terms in the order in which the larger operand has them side by side, if it does.
        is_last = labels.input_feature == self.input.array.rank - 1
        taps = [*labels.kernel_spatial, labels.kernel_input_feature]
        self.terms = taps if is_last else sorted(taps)
        self.term_sizes = [self.weights.array.dims[d] for d in self.terms]

    def product(self, kernel: Kernel) -> Product:
        """The convolution as a batch of products: rows are what lies further apart in the result."""
        patches, weights = _Patches(self), _Weights(self)
        is_last = self.labels.output_feature == self.instruction.array.rank - 1

        def indices_of(emission: Emission, at: ResultPosition) -> Indices:
            group, row, column = at
            free, feature = (row, column) if is_last else (column, row)
            found = dict(zip(self.free_dims, taken_apart(emission, free, self.free_sizes), strict=True))
            found[self.labels.output_feature] = group.times(self.features) + feature
            return tuple(found[d] for d in range(len(found)))

        sides = (patches, weights) if is_last else (weights, patches)
        return Product(kernel, self.instruction, sides, self.groups, math.prod(self.term_sizes), indices_of)

    def terms_at(self, emission: Emission, depth: Index) -> dict[int, Index]:
        """The tap and the input feature of a term, by dimension of the weights."""
        return dict(zip(self.terms, taken_apart(emission, depth, self.term_sizes), strict=True))


@dataclass(frozen=True, slots=True)
class _Patches:
    """The elements of the input under the window at every position."""

    geometry: _Geometry
    divides: bool = True

    @property
    def instruction(self) -> Instruction:
        """The input."""
        return self.geometry.input

    @property
    def count(self) -> int:
        """Positions of the window."""
        return math.prod(self.geometry.free_sizes)

    @property
    def is_deep(self) -> bool:
        """Whether input features lie side by side."""
        return self.geometry.labels.input_feature == self.instruction.array.rank - 1

    @property
    def run(self) -> int:
        """How many terms lie side by side: positions overlap, wherever they begin."""
        geometry = self.geometry
        return run_of(geometry.weights.array.dims[geometry.labels.kernel_input_feature]) if self.is_deep else 1

    def at(self, values: Values, position: FactorPosition) -> tuple[Indices, list[Value | None]]:
        """The element of the input, and whether it is not padding."""
        geometry, labels, (group, free, depth) = self.geometry, self.geometry.labels, position
        emission = values.emission
        free_indices = taken_apart(emission, free, geometry.free_sizes)
        where = {
            d: emission.opaque(emission.value(index), size)
            for d, index, size in zip(geometry.free_dims, free_indices, geometry.free_sizes, strict=True)
        }
        # As values that are in range, which conditions rely on.
        terms = {
            d: emission.opaque(emission.value(index), geometry.weights.array.dims[d])
            for d, index in geometry.terms_at(emission, depth).items()
        }
        sizes = [self.instruction.array.dims[d] for d in labels.input_spatial]
        positions = [where[d] for d in labels.output_spatial]
        source, conditions = covered(
            values, geometry.window, sizes, positions, [terms[d] for d in labels.kernel_spatial]
        )
        found = dict(zip(labels.input_spatial, source, strict=True))
        inputs = geometry.weights.array.dims[labels.kernel_input_feature]
        found[labels.input_batch] = where[labels.output_batch]
        found[labels.input_feature] = group.times(inputs) + terms[labels.kernel_input_feature]
        return tuple(found[d] for d in range(len(found))), conditions


@dataclass(frozen=True, slots=True)
class _Weights:
    """The weights of every output feature."""

    geometry: _Geometry
    divides: bool = False

    @property
    def instruction(self) -> Instruction:
        """The weights."""
        return self.geometry.weights

    @property
    def count(self) -> int:
        """Output features of a group."""
        return self.geometry.features

    @property
    def is_deep(self) -> bool:
        """Whether terms lie side by side, and not output features."""
        return self.geometry.labels.kernel_output_feature != self.instruction.array.rank - 1

    @property
    def run(self) -> int:
        """How many of them lie side by side, aligned."""
        last = self.instruction.array.rank - 1
        if not self.is_deep:
            return run_of(self.geometry.features)
        return run_of(self.instruction.array.dims[last]) if self.geometry.terms[-1] == last else 1

    def at(self, values: Values, position: FactorPosition) -> tuple[Indices, list[Value | None]]:
        """The indices of a weight."""
        labels, (group, free, depth) = self.geometry.labels, position
        found = self.geometry.terms_at(values.emission, depth)
        found[labels.kernel_output_feature] = group.times(self.geometry.features) + free
        return tuple(found[d] for d in range(len(found))), []
