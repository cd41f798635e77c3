"""Convolutions, windows and normalisation of images: each has an op for its gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.tf2xla.record import Differentiate
from compiler.tf2xla.terms import Built, Gradient, Output

_CONVOLVED = ("strides", "padding", "explicit_paddings", "use_cudnn_on_gpu", "data_format", "dilations")
_POOLED = ("ksize", "strides", "padding", "explicit_paddings", "data_format")


def _with(node: Built, op: str, *inputs: Output, among: Sequence[str]) -> Output:
    """An op with the same attributes, as far as it has them."""
    stated = {name: node.attribute(name) for name in among if name in node.signature.attributes}
    if op.endswith("GradGrad"):
        stated.pop("explicit_paddings", None)
    return node.add(op, *inputs, **stated)


def _convolution(prefix: str, version: str = "") -> dict[str, Differentiate]:
    """A convolution, whose gradients are two others, and theirs, which are the same three again."""
    to_image, to_filter = f"{prefix}BackpropInput{version}", f"{prefix}BackpropFilter{version}"

    def made(node: Built, op: str, *inputs: Output) -> Output:
        return _with(node, op, *inputs, among=_CONVOLVED)

    def forward(node: Built, g: Output) -> Sequence[Gradient]:
        x, kernel = node.inputs
        return [made(node, to_image, x.op("Shape"), kernel, g), made(node, to_filter, x, kernel.op("Shape"), g)]

    def of_image(node: Built, g: Output) -> Sequence[Gradient]:
        kernel, before = node["filter"], node["out_backprop"]
        return [None, made(node, to_filter, g, kernel.op("Shape"), before), made(node, prefix, g, kernel)]

    def of_filter(node: Built, g: Output) -> Sequence[Gradient]:
        x, before = node["input"], node["out_backprop"]
        return [made(node, to_image, x.op("Shape"), g, before), None, made(node, prefix, x, g)]

    return {prefix: forward, to_image: of_image, to_filter: of_filter}


def _greatest(op: str) -> Differentiate:
    def formula(node: Built, g: Output) -> Output:
        return _with(node, op, node["input"], node.output, g, among=_POOLED)

    return formula


def _greatest_back(op: str) -> Differentiate:
    def formula(node: Built, g: Output) -> Sequence[Gradient]:
        x, y = node["orig_input"], node["orig_output"]
        return [x.op("ZerosLike"), y.op("ZerosLike"), _with(node, op, x, y, g, among=_POOLED)]

    return formula


def _greatest_of_given(node: Built, g: Output) -> Output:
    given = (node["ksize"], node["strides"])
    return _with(node, "MaxPoolGradV2", node["input"], node.output, g, *given, among=_POOLED)


def _greatest_of_given_back(node: Built, g: Output) -> Sequence[Gradient]:
    x, y = node["orig_input"], node["orig_output"]
    given = (node["ksize"], node["strides"])
    back = _with(node, "MaxPoolGradGradV2", x, y, g, *given, among=_POOLED)
    return [x.op("ZerosLike"), y.op("ZerosLike"), back]


def _mean(op: str) -> Differentiate:
    def formula(node: Built, g: Output) -> Output:
        return _with(node, op, node.inputs[0].op("Shape"), g, among=_POOLED)

    return formula


def _mean_back(op: str) -> Differentiate:
    return lambda node, g: [None, _with(node, op, g, among=_POOLED)]


def _normalised(version: str) -> Callable[..., Sequence[Gradient]]:
    """By what was kept of the batch where it was trained, else by the mean and variance that were given."""

    def formula(node: Built, g: Output, *_others: Output) -> Sequence[Gradient]:
        is_training = node.attribute("is_training")
        kept = [node.gives[f"reserve_space_{n}"][0] for n in (1, 2)] if is_training else node.inputs[3:5]
        more = [node.gives["reserve_space_3"][0]] if version == "V3" else []
        stated = {name: node.attribute(name) for name in ("epsilon", "data_format", "is_training")}
        scale = node["scale"]
        back = node.maker.add(f"FusedBatchNormGrad{version}", g, node["x"], scale, *kept, *more, **stated)
        return [*back.outputs[:3], None, None]

    return formula


def _placed(node: Built, g: Output, _of_positions: Gradient) -> Output:
    among = ("ksize", "strides", "padding", "include_batch_in_index")
    return _with(node, "MaxPoolGradWithArgmax", node["input"], g, node.outputs[1], among=among)


def _dilated(node: Built, g: Output) -> Sequence[Output]:
    among = ("strides", "rates", "padding")
    given = node["input"], node["filter"], g
    to_image, to_filter = (_with(node, f"Dilation2DBackprop{to}", *given, among=among) for to in ("Input", "Filter"))
    return to_image, to_filter


def _local(node: Built, g: Output) -> Output:
    names = ("depth_radius", "bias", "alpha", "beta")
    return _with(node, "LRNGrad", g, node["input"], node.output, among=names)


GRADIENTS: dict[str, Differentiate] = {
    "Dilation2D": _dilated,
    "MaxPoolWithArgmax": _placed,
    **_convolution("Conv2D"),
    **_convolution("DepthwiseConv2dNative"),
    **_convolution("Conv3D", "V2"),
    "MaxPool": _greatest("MaxPoolGrad"),
    "MaxPoolV2": _greatest_of_given,
    "MaxPoolGradV2": _greatest_of_given_back,
    "MaxPool3D": _greatest("MaxPool3DGrad"),
    "MaxPoolGrad": _greatest_back("MaxPoolGradGrad"),
    "MaxPoolGradGrad": _greatest_back("MaxPoolGrad"),
    "MaxPool3DGrad": _greatest_back("MaxPool3DGradGrad"),
    "MaxPool3DGradGrad": _greatest_back("MaxPool3DGrad"),
    "AvgPool": _mean("AvgPoolGrad"),
    "AvgPool3D": _mean("AvgPool3DGrad"),
    "AvgPoolGrad": _mean_back("AvgPool"),
    "AvgPool3DGrad": _mean_back("AvgPool3D"),
    **{f"FusedBatchNorm{version}": _normalised(version) for version in ("", "V2", "V3")},
    "LRN": _local,
}
