"""Windows over images: which dimensions are which, and how much is added at the edges.

SAME adds as much as makes one result for each step of the stride, at the end one more where the number is odd; VALID
adds nothing; EXPLICIT says it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.tf2xla.operation import Operation

_FORMATS = {b"NHWC": (0, (1, 2), 3), b"NCHW": (0, (2, 3), 1), b"NDHWC": (0, (1, 2, 3), 4), b"NCDHW": (0, (2, 3, 4), 1)}


@dataclass(frozen=True, slots=True)
class Layout:
    """Which dimensions of an image are batch, places and channels."""

    batch: int
    spatial: tuple[int, ...]
    channel: int

    def of(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Of one number for each dimension those of places."""
        return tuple(sizes[axis] for axis in self.spatial)

    def to(self, spatial: Sequence[int], other: int = 1) -> tuple[int, ...]:
        """One number for each dimension, given those of places."""
        numbers = [other] * (len(spatial) + 2)
        for axis, number in zip(self.spatial, spatial, strict=True):
            numbers[axis] = number
        return tuple(numbers)


def layout_of(operation: Operation, dims: Sequence[int]) -> Layout:
    """The dimensions of an image, by the attribute `data_format`.

    Raises:
        InputError: the image has not as many.
        UnsupportedError: it is none of the formats that have a meaning here.
    """
    stated = operation.attribute("data_format")
    if stated not in _FORMATS:
        raise operation.unsupported(f"no lowering has the data format {stated.decode(errors='replace')}")
    batch, spatial, channel = _FORMATS[stated]
    rank = len(spatial) + 2
    operation.require(len(dims) == rank, lambda: f"its images have {rank} dimensions, not the sizes {list(dims)}")
    return Layout(batch, spatial, channel)


@dataclass(frozen=True, slots=True)
class Along:
    """A window along one dimension of an image: its size, steps, distances of its elements, and what is added."""

    size: int
    stride: int
    dilation: int
    low: int
    high: int
    image: int

    @property
    def extent(self) -> int:
        """From the first to the last element."""
        return (self.size - 1) * self.dilation + 1

    @property
    def output_size(self) -> int:
        """How many there are."""
        return max(0, (self.image + self.low + self.high - self.extent) // self.stride + 1)


def numbers_of(operation: Operation, name: str, layout: Layout) -> tuple[int, ...]:
    """The numbers for places of an attribute, or of an input of that name; batch and channels must have 1.

    Args:
        operation: the node.
        name: of the attribute, or of the input.
        layout: which dimensions are batch, channels and places.

    Raises:
        UnsupportedError: they have another.
    """
    stated = operation.attribute(name) if name in operation.signature.attributes else operation.integers(name)
    rank = len(layout.spatial) + 2
    operation.require(len(stated) == rank, lambda: f"its {name} must be {rank} numbers, not {list(stated)}")
    operation.require(min(stated) > 0, lambda: f"its {name} must be positive: {list(stated)}")
    if stated[layout.batch] != 1 or stated[layout.channel] != 1:
        raise operation.unsupported(f"its {name} {list(stated)} reach over batches or channels")
    return layout.of(stated)


def windows(
    operation: Operation, layout: Layout, image: Sequence[int], sizes: Sequence[int], dilations: Sequence[int] = ()
) -> list[Along]:
    """The window along each dimension of places.

    Args:
        operation: the node.
        layout: which dimensions are batch, channels and places.
        image: sizes of the array.
        sizes: of the window, along places.
        dilations: of the window, along places; 1 if there are none.
    """
    strides = numbers_of(operation, "strides", layout)
    sizes_ = layout.of(image)
    dilations = dilations or (1,) * len(sizes_)
    extents = [(size - 1) * dilation + 1 for size, dilation in zip(sizes, dilations, strict=True)]
    edges = _edges(operation, layout, sizes_, extents, strides)
    return [
        Along(size, stride, dilation, low, high, one)
        for size, stride, dilation, (low, high), one in zip(sizes, strides, dilations, edges, sizes_, strict=True)
    ]


def _edges(
    operation: Operation, layout: Layout, sizes_: Sequence[int], extents: Sequence[int], strides: Sequence[int]
) -> list[tuple[int, int]]:
    kind = operation.attribute("padding")
    if kind == b"EXPLICIT" and "explicit_paddings" in operation.signature.attributes:
        stated = operation.attribute("explicit_paddings")
        rank = len(layout.spatial) + 2
        operation.require(len(stated) == 2 * rank, f"explicit_paddings must be {2 * rank} numbers")
        operation.require(min(stated) >= 0, lambda: f"paddings must not be negative: {list(stated)}")
        return [(stated[2 * axis], stated[2 * axis + 1]) for axis in layout.spatial]
    operation.require(kind in (b"SAME", b"VALID"), f"its padding must be SAME or VALID, not {kind!r}")
    found = []
    for image, extent, stride in zip(sizes_, extents, strides, strict=True):
        total = max(0, (-(-image // stride) - 1) * stride + extent - image) if kind == b"SAME" else 0
        found.append((total // 2, total - total // 2))
        operation.require(
            image + total >= extent, lambda: f"its window of {extents} is larger than images of {list(sizes_)}"
        )
    return found
