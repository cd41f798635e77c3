"""The inputs of a program: from a recipe, from a seed alone, or from an `.npz` file.

A *recipe* is `NAME.json` beside `NAME.hlo`: a seed, and for each parameter its shape, element type and generator, by
the keys in `xlabench.cases.recipe_keys`.  The same recipe gives the same bits everywhere: parameter number N draws from
a PCG64 stream of its own, seeded with (seed, N), in float64, and is rounded to its type once.

Without a recipe floats are standard normal and integers small, so that a loop which takes its bound from a parameter
ends; parameters used as indices stay inside what they index (`xlabench.cases.index_ranges`).
"""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import compiler
from xlabench.cases.index_ranges import index_limits, unchecked_indices
from xlabench.cases.recipe_keys import check_recipe
from xlabench.environment import memory_bytes
from xlabench.errors import BenchError, Undecidable, did_you_mean
from xlabench.judging.perturb import rounds
from xlabench.judging.tolerance import DType, TolerancePolicy

Array = NDArray[Any]
Shape = tuple[int, ...]
Module = Any

_ALIGNMENT = 64
_INTEGER_SPAN = 10
_iinfo: Any = ml_dtypes.iinfo  # knows NumPy's own integers as well; untyped


_NAMES = {
    "pred": "bool",
    **{
        f"{kind}{bits}": f"{name}{bits}"
        for kind, name in (("s", "int"), ("u", "uint"))
        for bits in (2, 4, 8, 16, 32, 64)
    },
    "f4e2m1fn": "float4_e2m1fn",
    "f6e2m3fn": "float6_e2m3fn",
    "f6e3m2fn": "float6_e3m2fn",
    "f8e3m4": "float8_e3m4",
    "f8e4m3": "float8_e4m3",
    "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0fnu": "float8_e8m0fnu",
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}
DTYPES: Mapping[str, DType] = {hlo: np.dtype(getattr(ml_dtypes, name, name)) for hlo, name in _NAMES.items()}
"""The NumPy type of each element type, by its name in HLO text."""


@dataclass(frozen=True, slots=True)
class ParameterRecipe:
    """How one parameter is made; `generator` is its kind and the kind's arguments."""

    name: str
    shape: Shape
    dtype: DType
    generator: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How all parameters of a program are made, and the tolerance that its results deserve."""

    seed: int
    parameters: tuple[ParameterRecipe, ...]
    rtol: float | None = None
    atol: float | None = None

    def make(self, seed: int | None = None) -> list[Array]:
        """The inputs, from the recipe's seed or another."""
        seed = self.seed if seed is None else seed
        return [_make_asked(parameter, seed, number) for number, parameter in enumerate(self.parameters)]

    def policy(self, module: Module) -> TolerancePolicy:
        """How to judge the results; bounds of zero ask for the same bits.

        Where integers depend on rounding, `rtol` is also the share of them that may differ.
        """
        share = (self.rtol or 0.0) if rounds(module) else 0.0
        return TolerancePolicy(self.rtol, self.atol, scaled=bool(self.rtol or self.atol), discrete_share=share)


def load_recipe(path: Path) -> Recipe:
    """Read a recipe; what is wrong with it is said with its place.

    Raises:
        BenchError: it is none, or cannot be read.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BenchError(f"{path}: not a recipe: {error}; give a JSON object with seed and params") from error
    try:
        check_recipe(path, content)
        parameters = tuple(_parameter(path, number, entry) for number, entry in enumerate(content["params"]))
        recipe = Recipe(int(content["seed"]), parameters, content.get("rtol"), content.get("atol"))
        TolerancePolicy(recipe.rtol, recipe.atol)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BenchError(f"{path}: not a recipe: {_reason(error)}; give a JSON object with seed and params") from error
    if recipe.seed < 0:
        raise BenchError(f"{path}: a seed of {recipe.seed}; give one from 0 on")
    return recipe


def recipe_beside(program: Path) -> Recipe | None:
    """The recipe of a program file, None if it has none."""
    path = program.with_suffix(".json")
    return load_recipe(path) if path.is_file() else None


def _taken(module: Module) -> list[Any]:
    """The entry parameters that a run takes arrays for: all of them, as often as they are given."""
    parameters: list[Any] = module.entry.parameters
    return parameters * compiler.times_given(module)


def unused_said(module: Module) -> str:
    """Which arguments of its function an export takes, to stand behind other words; "" where it takes all."""
    said: str = compiler.frontends.exported.unused_said(module.attributes)
    return said


def check(arrays: Sequence[Array], module: Module, *, source: str) -> None:
    """Raise `BenchError` unless the arrays are what the entry computation takes.

    Args:
        arrays: what is to be given to it.
        module: the program.
        source: what messages call them.
    """
    parameters = _taken(module)
    if len(arrays) != len(parameters):
        raise BenchError(
            f"{source}: {len(arrays)} inputs, but {module.name} takes {len(parameters)}{unused_said(module)}"
        )
    for number, (array, parameter) in enumerate(zip(arrays, parameters, strict=True)):
        dims, dtype = _array_shape(parameter)
        if array.shape != dims or array.dtype != dtype:
            raise BenchError(
                f"{source}: input {number} is {array.dtype.name}{list(array.shape)}, but parameter "
                f"{parameter.name} is {parameter.shape}; give {dtype.name}{list(dims)}"
            )


def generate(module: Module, seed: int) -> list[Array]:
    """Inputs for a program that has no recipe.

    Raises:
        Undecidable: they need more memory than this machine has.
    """
    need = sum(math.prod(dims) * dtype.itemsize for dims, dtype in map(_array_shape, _taken(module)))
    have = memory_bytes()
    if have is not None and need > have:
        raise Undecidable(f"the inputs of {module.name} need {need} bytes, this machine has {have}; use smaller shapes")
    limits, unchecked = index_limits(module), unchecked_indices(module)
    made = []
    for number, parameter in enumerate(_taken(module)):
        dims, dtype = _array_shape(parameter)
        generator = _generator_for(dtype, limits.get(parameter.parameter_number))
        if unchecked.get(parameter.parameter_number):
            generator["kind"] = "sorted_int"
        made.append(_make(ParameterRecipe(parameter.name, dims, dtype, generator), seed, number))
    return made


def load_npz(path: Path, module: Module) -> list[Array]:
    """Inputs from a file: by the parameters' names if it has them all, else by position.

    Of a function that `jax.export` left arguments out of the file may have those too, and of a graph those whose values
    are written into its program.
    """
    parameters, named = _taken(module), read_npz(path)
    if all(parameter.name in named for parameter in parameters) and len(named) == len(parameters):
        named = {parameter.name: named[parameter.name] for parameter in parameters}
    arrays = compiler.frontends.exported.only_kept(list(named.values()), module.attributes, len(parameters))
    if len(arrays) == len(parameters):
        arrays = [
            restore(array, _array_shape(parameter)[1]) for array, parameter in zip(arrays, parameters, strict=True)
        ]
    check(arrays, module, source=str(path))
    return [aligned(array) for array in arrays]


def read_npz(path: Path) -> dict[str, Array]:
    """The arrays of a file, by name.

    Raises:
        BenchError: the file cannot be read, or is no whole archive of arrays.
    """
    try:
        return _members(path)
    except OSError as error:
        raise BenchError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, AttributeError, TypeError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise BenchError(f"{path}: not a whole .npz file: {error}; make it with numpy.savez") from error


def _members(path: Path) -> dict[str, Array]:
    with path.open("rb") as file:
        if file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX:
            raise ValueError("it holds one bare array")
        file.seek(0)
        # Not numpy.load: of a file that is no archive it says that it were pickled, and advises to load it unsafely.
        with np.lib.npyio.NpzFile(file, allow_pickle=False) as archive:
            named = {name: archive[name] for name in archive.files}
    if not all(isinstance(array, np.ndarray) for array in named.values()):
        raise ValueError("not all of its members are arrays")
    return named


def is_npy_type(dtype: DType) -> bool:
    """Whether `.npy` files can say the type: NumPy's own, not those that `ml_dtypes` adds."""
    return dtype.isbuiltin == 1


def restore(array: Array, dtype: DType) -> Array:
    """Give an array the type that `.npz` files cannot say: those of `ml_dtypes` come back as raw bytes."""
    is_raw = array.dtype.kind == "V" or (array.dtype.kind == "u" and not is_npy_type(dtype))
    return array.view(dtype) if is_raw and array.dtype.itemsize == dtype.itemsize else array


def aligned(array: Array) -> Array:
    """A C-contiguous copy whose data start on a cache line, so that no engine is timed on a split one."""
    raw = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    offset = -raw.ctypes.data % _ALIGNMENT
    copy: Array = raw[offset : offset + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _array_shape(parameter: Any) -> tuple[Shape, DType]:
    """Dimensions and type of a parameter, which must be an array: no file and no recipe holds anything else."""
    shape = parameter.shape
    if not hasattr(shape, "dims"):
        raise BenchError(
            f"parameter {parameter.name} is {shape}; inputs can be made for arrays only, pass its leaves as parameters"
        )
    if shape.element_type.name not in DTYPES:
        raise BenchError(
            f"parameter {parameter.name} is {shape}; inputs can be made of these types only: {', '.join(DTYPES)}"
        )
    return shape.dims, DTYPES[shape.element_type.name]


def _parameter(path: Path, number: int, entry: Mapping[str, Any]) -> ParameterRecipe:
    name, generator = entry.get("name", f"parameter {number}"), entry["gen"]
    dtype = entry["dtype"]
    if dtype not in DTYPES:
        hint = did_you_mean(str(dtype), DTYPES)
        raise BenchError(f"{path}: {name}: unknown dtype {dtype!r}{hint}; known are {', '.join(DTYPES)}")
    return ParameterRecipe(name, tuple(int(size) for size in entry["shape"]), DTYPES[dtype], generator)


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def _generator_for(dtype: DType, index_limit: int | None) -> dict[str, Any]:
    """The generator of a parameter that nobody described."""
    if index_limit is not None:
        largest = min(index_limit, int(_iinfo(dtype).max))
        return {"kind": "int", "lo": 0, "hi": largest + 1}
    if dtype.kind == "b":
        return {"kind": "bool", "p": 0.5}
    if dtype.kind in "fc" or "float" in dtype.name:
        return {"kind": "normal"}
    limits = _iinfo(dtype)
    return {
        "kind": "int",
        "lo": max(-_INTEGER_SPAN, int(limits.min)),
        "hi": min(_INTEGER_SPAN, int(limits.max)) + 1,
    }


def _make_asked(parameter: ParameterRecipe, seed: int, number: int) -> Array:
    """Make what a recipe asks for, which may be nothing that can be made."""
    try:
        return _make(parameter, seed, number)
    except (TypeError, ValueError, ArithmeticError, LookupError, MemoryError) as error:
        asked = f"{dict(parameter.generator)} of {parameter.dtype.name}{list(parameter.shape)}"
        raise BenchError(f"recipe: {parameter.name} cannot be made by {asked}: {error}; correct the recipe") from error


def _make(parameter: ParameterRecipe, seed: int, number: int) -> Array:
    rng = np.random.default_rng([seed, number])
    made = GENERATORS[parameter.generator["kind"]](rng, parameter)
    with np.errstate(over="ignore"):
        return aligned(np.asarray(made).astype(parameter.dtype))


Generator = Callable[[np.random.Generator, ParameterRecipe], Any]


def _normal(rng: np.random.Generator, parameter: ParameterRecipe) -> Any:
    std, mean = parameter.generator.get("std", 1.0), parameter.generator.get("mean", 0.0)
    real = rng.standard_normal(parameter.shape) * std + mean
    if parameter.dtype.kind != "c":
        return real
    return real + 1j * rng.standard_normal(parameter.shape) * std


def _uniform(rng: np.random.Generator, parameter: ParameterRecipe) -> Any:
    return rng.uniform(parameter.generator["lo"], parameter.generator["hi"], parameter.shape)


def _int(rng: np.random.Generator, parameter: ParameterRecipe) -> Any:
    return rng.integers(parameter.generator["lo"], parameter.generator["hi"], parameter.shape)


def _sorted_int(rng: np.random.Generator, parameter: ParameterRecipe) -> Any:
    return np.sort(_int(rng, parameter), axis=-1)


def _onehot(rng: np.random.Generator, parameter: ParameterRecipe) -> Any:
    made = np.zeros(parameter.shape)
    classes = parameter.shape[-1]
    rows = made.size // classes
    made.reshape(-1, classes)[np.arange(rows), rng.integers(0, classes, rows)] = 1
    return made


def _bool(rng: np.random.Generator, parameter: ParameterRecipe) -> Any:
    return rng.random(parameter.shape) < parameter.generator["p"]


def _full(_rng: np.random.Generator, parameter: ParameterRecipe) -> Any:
    return np.full(parameter.shape, parameter.generator["value"])


def _linspace(_rng: np.random.Generator, parameter: ParameterRecipe) -> Any:
    return np.linspace(parameter.generator["lo"], parameter.generator["hi"], parameter.shape[0])


def _choice(rng: np.random.Generator, parameter: ParameterRecipe) -> Any:
    return rng.choice(parameter.generator["values"], parameter.shape)


def _key(rng: np.random.Generator, parameter: ParameterRecipe) -> Any:
    return rng.integers(0, 1 << 32, parameter.shape)


def _spd(rng: np.random.Generator, parameter: ParameterRecipe) -> Any:
    """Symmetric and positive definite, the eigenvalues spread over [1, cond]."""
    orthogonal, _ = np.linalg.qr(rng.standard_normal(parameter.shape))
    eigenvalues = np.geomspace(1.0, parameter.generator["cond"], parameter.shape[-1])
    made = (orthogonal * eigenvalues) @ np.swapaxes(orthogonal, -1, -2)
    return (made + np.swapaxes(made, -1, -2)) / 2


def _lower_tri(rng: np.random.Generator, parameter: ParameterRecipe) -> Any:
    """Lower triangular and well conditioned: small below a diagonal in [1, 2]."""
    size = parameter.shape[-1]
    below = np.tril(rng.standard_normal(parameter.shape) / math.sqrt(size), -1)
    return below + np.eye(size) * rng.uniform(1, 2, (*parameter.shape[:-1], 1))


GENERATORS: Mapping[str, Generator] = {
    "normal": _normal,
    "uniform": _uniform,
    "int": _int,
    "sorted_int": _sorted_int,
    "onehot": _onehot,
    "bool": _bool,
    "full": _full,
    "linspace": _linspace,
    "choice": _choice,
    "key": _key,
    "spd": _spd,
    "lower_tri": _lower_tri,
}
"""How a parameter is drawn, by the `kind` in its recipe."""
