"""Random numbers, through which nothing goes."""

from __future__ import annotations

from compiler.tf2xla.record import Differentiate, no_gradient

_NAMES = (
    *("RandomUniform", "RandomStandardNormal", "TruncatedNormal"),
    *("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal", "StatelessRandomUniformInt"),
    *("Multinomial", "StatelessMultinomial", "RandomShuffle"),
    *("StatelessRandomUniformFullInt", "StatelessRandomUniformV2", "StatelessRandomNormalV2"),
    *("StatelessTruncatedNormalV2", "StatelessRandomUniformIntV2", "StatelessRandomUniformFullIntV2"),
)
GRADIENTS: dict[str, Differentiate] = dict.fromkeys(_NAMES, no_gradient)
