"""Plans of convolutions: the index that fills vectors, the register tile, what is packed; nothing here emits code.

Every convolution is a sum over *steps* (input features of a group x points of the window) for every *position* (batch x
spatial) and output feature.  The input is read through a padded copy of a band of it, small enough for L2, in which
position and step are plain strides; so padding and negative edges cost one pass over the input and the inner loops know
nothing of them.  Where nothing is padded the input itself serves.  A dilated input is taken apart into phases, which
read one copy (`convolution_phases`).

Three forms differ in what vectors hold: output *features* (the weights are vectors, the input is scalars), *positions*
along the minor dimension (the other way round), and *lanes*, for groups of a single feature each, where both are.

The order in which one result is summed depends on shapes and target only, so any number of threads gives equal bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from compiler.backends.cpu.kernels.convolution.phases import Phase, copied, phases
from compiler.backends.cpu.kernels.convolution.vnni import Narrowed
from compiler.backends.cpu.kernels.gemm.micro import OWN_REGISTERS
from compiler.backends.cpu.kernels.gemm.product import ELEMENT_BYTES
from compiler.codegen import element
from compiler.codegen.llvm_ir import FLOAT_TYPES
from compiler.codegen.product import accumulation_type
from compiler.ir.attributes import ConvolutionDimensions, Window, WindowDimension
from compiler.ir.module import Instruction

Form: TypeAlias = Literal["features", "places", "lanes"]

_LANES = 16
"""Lanes of a vector, where forms are compared."""
_TOLD_PRODUCTS = 2048
"""Products of vectors in a register tile beside which computing where rows lie is little: with 600 it is a thirtieth
(Zen 4, over shapes)."""


class TileSize(NamedTuple):
    """Lanes of a vector, and the vectors and rows that registers hold of a result."""

    lanes: int
    vectors: int
    rows: int


@dataclass(frozen=True, slots=True)
class Walk:
    """A dimension of positions in a kernel: its dimension of the result, size, strides in the copy and the result.

    `box` is how many of it a register tile covers.  Of a phase it is what that phase has of it.
    """

    dim: int
    count: int
    patch: int
    out: int
    box: int = 1


@dataclass(frozen=True, slots=True)
class Step:
    """A dimension of the sum: its size, strides in the copy and in the weights, and its dimension of the kernel."""

    count: int
    patch: int
    weight: int
    dim: int


@dataclass(frozen=True, slots=True)
class Source:
    """A dimension of the copy.

    Its element `p` is element `(first + p - low) / dilate` of the input's dimension of `size`, zero where that is none;
    `role` says what `first` is, and `repeat` how often an input element comes.
    """

    extent: int
    size: int
    role: Literal["batch", "feature", "space"]
    low: int = 0
    dilate: int = 1
    stride: int = 1
    banded: bool = False
    repeat: int = 1

    @property
    def is_padded(self) -> bool:
        """Whether elements of it may lie outside the input."""
        return self.role == "space"

    @property
    def is_whole(self) -> bool:
        """Whether it is the input's dimension as it is."""
        plain = self.low == 0 and self.dilate == 1 and self.repeat == 1 and not self.banded
        return plain and self.extent == self.size


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes, strides and types of a convolution.

    `groups` are walked one by one; in form `lanes` there are none.  Per group there are `inputs` features to sum over
    and `outputs` to compute, for `batch` elements of the batch.  Positions and taps fall into `phases`, more than one
    where the input is dilated; `copied` is the window over the copy that all of them read.  Of what is `narrowed`,
    `inputs` are words.
    """

    instruction: Instruction
    labels: ConvolutionDimensions
    window: Window
    phases: tuple[Phase, ...]
    copied: Window
    type: str
    form: Form
    groups: int
    inputs: int
    outputs: int
    batch: int
    lane_dim: int | None
    narrowed: Narrowed | None = None

    @property
    def lhs(self) -> Instruction:
        """The operand that is the input."""
        return self.instruction.operands[0]

    @property
    def rhs(self) -> Instruction:
        """The operand that is the weights."""
        return self.instruction.operands[1]

    @property
    def size(self) -> int:
        """Bytes of a number as it is summed."""
        return ELEMENT_BYTES[self.type]

    @property
    def taps(self) -> int:
        """Points of the window, of the phase that has most of them."""
        return max(math.prod(phase_dim.taps for phase_dim in phase) for phase in self.phases)

    @property
    def output_counts(self) -> dict[int, int]:
        """The number of positions along each spatial dimension of the result, at most in a phase."""
        return {dim: phase_dim.count for dim, phase_dim in zip(self.labels.output_spatial, self.phases[0], strict=True)}

    @property
    def starts(self) -> bool:
        """Whether sums start from zero times the taps of other phases, which may be NaN, or from a correction."""
        return self.corrected or (len(self.phases) > 1 and self.type in FLOAT_TYPES)

    @property
    def corrected(self) -> bool:
        """Whether sums start from minus what they have too much as the input's bytes were moved."""
        return self.narrowed is not None and self.narrowed.words.flip != 0

    def extent(self, dim: int) -> int:
        """The size of a dimension of the input, features counted as they are multiplied."""
        size = self.lhs.array.dims[dim]
        return self.narrowed.count(size) if self.narrowed and dim == self.labels.input_feature else size

    @property
    def batch_is_outer(self) -> bool:
        """Whether elements of the batch lie one behind the other, so that each is worked on alone."""
        return self.labels.input_batch == 0 and self.lane_dim != 0

    @property
    def batch_groups(self) -> int:
        """Groups that the batch is cut into."""
        return int(self.instruction.attributes.get("batch_group_count", 1))


def strides(dims: tuple[int, ...] | list[int]) -> list[int]:
    """Row-major strides."""
    return [math.prod(dims[d + 1 :]) for d in range(len(dims))]


def in_words(shape: Shape, narrowed: Narrowed | None) -> Shape:
    """The convolution on words in place of elements, if there are any and features of a group make whole ones."""
    if narrowed is None or shape.form == "lanes" or len(shape.phases) > 1:
        return shape
    if shape.groups > 1 and shape.inputs % narrowed.words.group:
        return shape
    return replace(shape, inputs=narrowed.count(shape.inputs), narrowed=narrowed)


def shape_of(convolution: Instruction) -> Shape:
    """The numbers of a convolution and the form that suits it."""
    labels: ConvolutionDimensions = convolution.attributes["dim_labels"]
    rhs = convolution.operands[1].array.dims
    window = convolution.attributes.get("window", ()) or (WindowDimension(),) * len(labels.input_spatial)
    batch_groups = int(convolution.attributes.get("batch_group_count", 1))
    groups = int(convolution.attributes.get("feature_group_count", 1)) * batch_groups
    inputs = rhs[labels.kernel_input_feature]
    outputs = convolution.array.dims[labels.output_feature] // groups
    batch = convolution.array.dims[labels.output_batch]
    type_ = element.value_type(accumulation_type(convolution))
    apart = phases(window, [convolution.array.dims[dim] for dim in labels.output_spatial])
    walked = window, apart, copied(window, apart)
    lane = _lane_dim(convolution, labels, _Counts(groups, inputs, outputs, batch), batch_groups)
    if lane is not None:
        lanes = convolution.array.dims[labels.output_feature]
        return Shape(convolution, labels, *walked, type_, "lanes", 1, inputs, lanes, batch, lane)
    shape = Shape(convolution, labels, *walked, type_, "features", groups, inputs, outputs, batch, None)
    return replace(shape, form="places") if _suits_positions(shape) else shape


class _Counts(NamedTuple):
    """Groups, features of the input and of the result in one, and elements of the batch."""

    groups: int
    inputs: int
    outputs: int
    batch: int


def _lane_dim(
    convolution: Instruction, labels: ConvolutionDimensions, counts: _Counts, batch_groups: int
) -> int | None:
    """The minor dimension of the input that numbers groups of one feature or batch element, which then fill vectors."""
    groups, inputs, outputs, batch = counts
    last = convolution.operands[0].array.rank - 1
    if groups == 1 or convolution.array.dims[labels.output_feature] == 1:
        return None
    if batch_groups == 1 and inputs == 1 and labels.input_feature == last:
        return last
    single = batch_groups > 1 and batch == 1 and outputs == 1
    return last if single and labels.input_batch == last else None


def _suits_positions(shape: Shape) -> bool:
    """Whether positions adjacent in the result are so in the input, and fill vectors about as well as features do."""
    labels, window, outputs = shape.labels, shape.copied, shape.outputs
    out, last = shape.output_counts, shape.instruction.array.rank - 1
    if last not in labels.input_spatial:
        return False
    number = labels.input_spatial.index(last)
    dimension = window[number]
    if labels.output_spatial[number] != last or dimension.stride != 1:
        return False
    run = outputs_ = out[last]
    if last - 1 in labels.input_spatial:
        above = labels.input_spatial.index(last - 1)
        rows = out[labels.output_spatial[above]] if window[above].stride == 1 else 1
        run, outputs_ = run + (rows - 1) * (run + (dimension.size - 1) * dimension.rhs_dilate), run * rows
    return 2 * outputs_ / _rounded_up(run, _LANES) >= outputs / _rounded_up(outputs, min(_LANES, outputs))


def _rounded_up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


class PartialSums(NamedTuple):
    """A buffer of sums: how far apart what is walked over lies in it, and features, and how many sums it holds."""

    walks: list[int]
    feature: int
    size: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Every decision about one phase of a convolution; phases differ in `walks`, `steps` and where they begin.

    In the copy that is at `patch_start`, in the result at `out_start`, among packed weights at `weight_start`.  Vectors
    have `lanes`; a tile is `vectors` wide.  `walks` are the positions within one item of work in the order of the
    copy's strides, the one numbered `banded` being cut into bands of `band`; `sources` are the copy's dimensions.
    `block` input features are summed at a time.  `flat` is the number of positions in one run of form `output_counts`.
    """

    shape: Shape
    lanes: int
    vectors: int
    rows: int
    walks: tuple[Walk, ...]
    banded: int
    band: int
    block: int
    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    patch_direct: bool
    weights_direct: bool
    out_direct: bool
    flattened: int
    flat: int
    phase: Phase
    patch_start: int
    out_start: int
    weight_start: int

    @property
    def columns(self) -> int:
        """Numbers along a tile's vectors."""
        return self.vectors * self.lanes

    @property
    def panel(self) -> int:
        """Output features of one panel of weights."""
        return self.rows if self.shape.form == "places" else self.columns

    @property
    def panels(self) -> int:
        """Panels of output features in a group."""
        return -(-self.shape.outputs // self.panel)

    @property
    def last_panel(self) -> int:
        """Output features of the last panel."""
        return self.shape.outputs - (self.panels - 1) * self.panel

    @property
    def bands(self) -> int:
        """Bands of the banded dimension."""
        return -(-self.walks[self.banded].count // self.band)

    @property
    def outer_batch(self) -> int:
        """Elements of the batch that are worked on one by one."""
        return self.shape.batch if self.shape.batch_is_outer else 1

    @property
    def items(self) -> int:
        """Pieces of work that threads share."""
        return self.shape.groups * self.outer_batch * self.bands

    @property
    def blocks(self) -> int:
        """Blocks of input features."""
        return self.shape.inputs // self.block if self.block else 1

    @property
    def patch_elements(self) -> int:
        """The copy's size, with what tiles may read behind it."""
        return math.prod(source.extent for source in self.sources) + 2 * self.columns

    @property
    def panel_elements(self) -> int:
        """The size of a panel of packed weights for one block of features."""
        return math.prod(step.count for step in self.steps) * self.panel

    @property
    def tile_products(self) -> int:
        """Products of vectors in a register tile."""
        return self.rows * self.vectors * math.prod(step.count for step in self.steps)

    def apart(self, out_strides: Sequence[int]) -> tuple[int, int] | None:
        """How far the rows of register tiles lie apart in the patch and in the result; None where they know that.

        Args:
            out_strides: of each walk in the result, or in the sums.
        """
        boxes = [(walk.patch, out) for walk, out in zip(self.walks, out_strides, strict=True) if walk.box > 1]
        whole = self.panel % self.lanes == self.last_panel % self.lanes == 0
        may_be_told = self.rows <= OWN_REGISTERS and self.tile_products >= _TOLD_PRODUCTS
        # Of lanes every product is loaded: told where, tiles of six rows take a fifth longer.
        if self.shape.form != "features" or len(boxes) > 1 or not whole or not may_be_told:
            return None
        return boxes[0] if boxes else (0, 0)

    @property
    def weight_elements(self) -> int:
        """The size of all packed weights of the phase."""
        return 0 if self.weights_direct else self.shape.groups * self.panels * self.blocks * self.panel_elements

    def partial_sums(self) -> PartialSums:
        """The buffer of sums."""
        counts = [self.band if n == self.banded else w.count for n, w in enumerate(self.walks)]
        if self.shape.form != "places":
            width = self.panels * self.columns
            return PartialSums([s * width for s in strides(counts)], 1, math.prod(counts) * width)
        run = -(-self.flat // self.columns) * self.columns
        outer = counts[: -self.flattened]
        inner = [walk.patch for walk in self.walks[-self.flattened :]]
        total = math.prod(outer) * run
        return PartialSums([s * run for s in strides(outer)] + inner, total, self.panels * self.panel * total)
