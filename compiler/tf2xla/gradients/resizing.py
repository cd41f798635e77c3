"""Images in other sizes: each op has one for its gradient."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.tf2xla.gradients.spreading import sizes
from compiler.tf2xla.record import Differentiate, no_gradient
from compiler.tf2xla.terms import Built, Gradient, Output


def _stated(node: Built) -> dict[str, object]:
    return {name: node.attribute(name) for name in ("align_corners", "half_pixel_centers")}


def _nearest(node: Built, g: Output) -> Output:
    size = sizes(node["images"]).op("StridedSlice", [1], [3], [1])
    return g.op("ResizeNearestNeighborGrad", size, **_stated(node))


def _of_image(op: str) -> Differentiate:
    return lambda node, g: g.op(op, node["images"], **_stated(node))


def _scaled(node: Built, g: Output) -> Output:
    stated = {name: node.attribute(name) for name in ("kernel_type", "antialias")}
    image = node["images"].op("Cast", DstT=g.type.base)
    return g.op("ScaleAndTranslateGrad", image, node["scale"], node["translation"], **stated)


def _cropped(node: Built, g: Output) -> Sequence[Gradient]:
    """To the image, unless it is of whole numbers, and to the boxes."""
    image, where = node["image"], (node["boxes"], node["box_ind"])
    of_image = None
    if str(image.type.base) in ("float16", "float32", "float64"):
        stated = {"T": image.type.base, "method": node.attribute("method")}
        of_image = g.op("CropAndResizeGradImage", *where, image.op("Shape"), **stated)
    return [of_image, g.op("CropAndResizeGradBoxes", image, *where)]


GRADIENTS: dict[str, Differentiate] = {
    "ResizeNearestNeighbor": _nearest,
    "ScaleAndTranslate": _scaled,
    "CropAndResize": _cropped,
    "ResizeBilinear": _of_image("ResizeBilinearGrad"),
    "ResizeBilinearGrad": no_gradient,
    "ResizeBicubic": _of_image("ResizeBicubicGrad"),
}
