"""Programs of any number of instructions, for what compiling costs as programs grow.

Equal layers are what models are: many instructions, few that differ.  Mixed elementwise instructions, each of values
made shortly before, have hardly two alike, and are one chain that fusion may cut anywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable

_LAYER = """
  dot{n} = f32[16,16] dot(x{n}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  bias{n} = f32[16,16] broadcast(b), dimensions={{1}}
  sum{n} = f32[16,16] add(dot{n}, bias{n})
  act{n} = f32[16,16] tanh(sum{n})
  x{after} = f32[16,16] add(act{n}, x{n})"""
_PER_LAYER = 5
_UNARY = ("abs", "negate", "tanh", "sine", "floor", "sqrt")
_BINARY = ("add", "multiply", "subtract", "maximum", "minimum", "divide")
_REACH = 8


def equal_layers(instructions: int) -> str:
    """A chain of layers, alike and of the same weights."""
    layers = instructions // _PER_LAYER
    body = "".join(_LAYER.format(n=n, after=n + 1) for n in range(layers))
    return (
        "ENTRY main {\n  x0 = f32[16,16] parameter(0)  w = f32[16,16] parameter(1)  b = f32[16] parameter(2)"
        f"{body}\n  ROOT out = f32[16,16] abs(x{layers})\n}}\n"
    )


def mixed_elementwise(instructions: int) -> str:
    """Elementwise instructions drawn with a fixed seed, each of values made shortly before."""
    drawn = random.Random(instructions)
    lines = ["  x0 = f32[256] parameter(0)"]
    for n in range(1, instructions):
        last, other = f"x{n - 1}", f"x{drawn.randrange(max(0, n - _REACH), n)}"
        if drawn.random() < 1 / 3:
            lines.append(f"  x{n} = f32[256] {drawn.choice(_UNARY)}({last})")
        else:
            lines.append(f"  x{n} = f32[256] {drawn.choice(_BINARY)}({last}, {other})")
    return "ENTRY main {\n" + "\n".join(lines) + f"\n  ROOT out = f32[256] abs(x{instructions - 1})\n}}\n"


KINDS: dict[str, Callable[[int], str]] = {"equal layers": equal_layers, "mixed elementwise": mixed_elementwise}
"""What makes a program of about as many instructions."""
