"""JAX functions as HLO text: what JAX lowers them to, with what it says of them.

The text keeps the function's name as the module's, the arguments' names (in metadata as JAX writes them, `p['w'][0]`,
and in the parameters' names with `_` for what may not stand there), and of every instruction the lines it comes from,
so that what is found in it leads back to them.  Nobody imports this file before it is needed, since JAX takes a second
to load.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
from jax.errors import JaxRuntimeError
from jaxlib import _jax

import compiler
from xlabench.errors import BenchError

_OPEN_SIZES = re.compile(r"tensor<[\dx]*\?")


def of_jax(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """The HLO text that a JAX function lowers to; a function that is not jitted keeps the arguments it does not use.

    The arguments settle the sizes that an exported function left open.

    Raises:
        BenchError: jaxlib cannot convert what it lowers to.
    """
    jitted = function if hasattr(function, "lower") else jax.jit(function, keep_unused=True)
    source = jitted.lower(*arguments).as_text(debug_info=True)
    try:
        is_open = _OPEN_SIZES.search(source) is not None
        lowered = _jax.mlir.refine_polymorphic_shapes(source.encode()) if is_open else source.encode()
        return compiler.frontends.lowered_text(lowered)
    except (JaxRuntimeError, ValueError, compiler.InputError) as error:
        raise BenchError(f"jaxlib cannot convert what JAX lowers it to: {error}") from error
