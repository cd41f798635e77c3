"""Random numbers, through which nothing goes but to the parameters of gamma distributions."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.tf2xla.gradients.spreading import unspread
from compiler.tf2xla.record import Differentiate, no_gradient
from compiler.tf2xla.terms import Built, Gradient, Output

_NAMES = (
    *("RandomUniform", "RandomStandardNormal", "TruncatedNormal"),
    *("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal", "StatelessRandomUniformInt"),
    *("Multinomial", "StatelessMultinomial", "RandomShuffle"),
    *("StatelessRandomUniformFullInt", "StatelessRandomUniformV2", "StatelessRandomNormalV2"),
    *("StatelessTruncatedNormalV2", "StatelessRandomUniformIntV2", "StatelessRandomUniformFullIntV2"),
)


def _gamma(node: Built, g: Output) -> Sequence[Gradient]:
    """To the parameters, as if a number were moved with the share of the distribution that is below it."""
    alpha, number = node["alpha"], node.output
    slope = alpha.op("RandomGammaGrad", number) * g
    return [*[None] * (len(node.inputs) - 1), unspread(node, (alpha, slope), (number, None))[0]]


GRADIENTS: dict[str, Differentiate] = {
    **dict.fromkeys(_NAMES, no_gradient),
    **dict.fromkeys(("RandomGamma", "StatelessRandomGammaV2", "StatelessRandomGammaV3"), _gamma),
}
