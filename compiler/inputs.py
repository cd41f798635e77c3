"""Values that a program needs from outside: inputs by hand, and what its text left out of constants.

Inputs are read from an `.npz` file or drawn.  Each parameter leaf draws from a stream of its own, seeded with
(seed, number), so the same seed gives the same bits whatever else the program takes.  Floats are standard normal,
integers small and pred a coin: enough to look at a program.  Recipes, index ranges and bounds are the harness's
business, not the compiler's.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import InputError, UnsupportedError
from compiler.frontends.exported import only_kept, unused_said
from compiler.ir.literal import Literal
from compiler.ir.module import Module
from compiler.ir.shape import UNBOUNDED, ArrayShape
from compiler.ir.types import PRED, Kind
from compiler.plan import check_bytes, input_shapes

Array = NDArray[Any]


def draw(module: Module, seed: int) -> list[Array]:
    """Inputs for every leaf of the entry's parameters on every device, from a seed; dynamic sizes are their bounds."""
    shapes = input_shapes(module)
    check_bytes(module, sum(max(shape.size_bytes, 0) for shape in shapes), by="the generator of inputs")
    return [_draw(shape, np.random.default_rng((seed, number))) for number, shape in enumerate(shapes)]


def settle_elided(module: Module, seed: int | None) -> int:
    """Give every elided constant a value drawn from the seed, in place, and count them; without a seed refuse any."""
    elided = [i for i in module.instructions() if i.opcode == "constant" and i.literal.elided]
    for number, constant in enumerate(elided):
        if seed is None:
            reason = "its value was left out of the text ({...}); print it in full, or give --fill-elided SEED"
            raise UnsupportedError(f"the constant {constant.name}", "this compiler", reason)
        constant.attributes["literal"] = _fill(constant.literal, np.random.default_rng((seed, number)))
    return len(elided)


def _fill(literal: Literal, generator: np.random.Generator) -> Literal:
    if literal.elements is not None:
        return Literal(literal.shape, elements=tuple(_fill(element, generator) for element in literal.elements))
    if literal.array is not None or not isinstance(literal.shape, ArrayShape):
        return literal
    return Literal(literal.shape, _draw(literal.shape, generator))


def _draw(shape: ArrayShape, generator: np.random.Generator) -> Array:
    element_type = shape.element_type
    if element_type.kind is Kind.OPAQUE or UNBOUNDED in shape.dims:
        raise UnsupportedError(f"an input of type {shape}", "the generator of inputs")
    if element_type is PRED:
        return generator.random(shape.dims) < 0.5
    if element_type.is_integer:
        low, high = (-4, 4) if element_type.is_signed else (0, 8)
        # The narrowest types hold only some of these.
        limit = 1 << (element_type.bits - 1)
        return generator.integers(max(low, -limit), min(high, limit), shape.dims).astype(element_type.dtype)
    values: Array = generator.standard_normal(shape.dims)
    if element_type.is_complex:
        values = values + 1j * generator.standard_normal(shape.dims)
    return np.asarray(values, dtype=element_type.dtype)


def read_npz(path: Path) -> dict[str, Array]:
    """The arrays of a file by their names, in its order.

    Raises:
        InputError: the file cannot be read, or is not whole.
    """
    try:
        # Not numpy.load: of a file that is no archive it says that it were pickled, and advises to load it unsafely.
        with path.open("rb") as file, np.lib.npyio.NpzFile(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, AttributeError, TypeError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a whole .npz file ({error}); make it with numpy.savez") from error


def assigned(named: dict[str, Array], module: Module, path: Path) -> list[Array]:
    """A file's arrays as inputs: by the parameters' names if it has them all, else in the order of the file.

    Of a function that `jax.export` left arguments out of the file may have those too.

    Args:
        named: arrays by their names in the file.
        module: the program.
        path: of the file, for messages.

    Raises:
        InputError: there are more arrays, or fewer, than parameters.
    """
    names = [parameter.name for parameter in module.entry.parameters]
    arrays = [named[name] for name in names] if all(name in named for name in names) else list(named.values())
    shapes = input_shapes(module)
    arrays = only_kept(arrays, module.attributes, len(shapes))
    if len(arrays) != len(shapes):
        taken = f"{module.name} takes {len(shapes)}: {', '.join(names)}{unused_said(module.attributes)}"
        raise InputError(f"{path}: has {len(arrays)} arrays, {taken}")
    return [_restore(array, shape) for array, shape in zip(arrays, shapes, strict=True)]


def _restore(array: Array, shape: ArrayShape) -> Array:
    """Give an array the type that `.npz` files cannot say: those of `ml_dtypes` come back as raw bytes."""
    dtype = shape.element_type.dtype
    is_raw = array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize
    return array.view(dtype) if is_raw else array
