"""Initializers: functions of sizes and a type, that a variable's first value is made by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import constant
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.ops import arrays, random

_MATRIX = 2


class Initializer:
    """A function of sizes and a type."""

    _dtype: Any

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """One with the arguments that `get_config` gave."""
        return cls(**config)

    def get_config(self) -> dict[str, Any]:
        """Its arguments."""
        found = {name.lstrip("_"): value for name, value in vars(self).items()}
        return found | {"dtype": as_dtype(self._dtype).name}


class Zeros(Initializer):
    """Zeros."""

    def __init__(self, dtype: Any = "float32") -> None:
        self._dtype = dtype

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The value."""
        return arrays.zeros(shape, dtype or self._dtype)


class Ones(Initializer):
    """Ones."""

    def __init__(self, dtype: Any = "float32") -> None:
        self._dtype = dtype

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The value."""
        return arrays.ones(shape, dtype or self._dtype)


class Constant(Initializer):
    """A value, or one number everywhere."""

    def __init__(self, value: Any = 0, dtype: Any = "float32", verify_shape: bool = False) -> None:
        self._value = value
        self._dtype = dtype
        self._verify_shape = verify_shape

    def get_config(self) -> dict[str, Any]:
        """Its value and type."""
        return {"value": self._value, "dtype": as_dtype(self._dtype).name}

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The value."""
        return constant(self._value, dtype or self._dtype, shape, verify_shape=self._verify_shape)


class _Random(Initializer):
    """Random numbers between, or around, two numbers, which have names."""

    NAMES: tuple[str, str] = ("mean", "stddev")

    def __init__(self, first: float, second: float, seed: int | None, dtype: Any) -> None:
        self._numbers = first, second
        self._seed = seed
        self._dtype = dtype

    def get_config(self) -> dict[str, Any]:
        """Its arguments."""
        numbers = dict(zip(self.NAMES, self._numbers, strict=True))
        return {**numbers, "seed": self._seed, "dtype": as_dtype(self._dtype).name}


class RandomNormal(_Random):
    """Normal random numbers."""

    def __init__(self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = "float32") -> None:
        super().__init__(mean, stddev, seed, dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The value."""
        return random.random_normal(shape, *self._numbers, dtype=dtype or self._dtype, seed=self._seed)


class TruncatedNormal(_Random):
    """Normal random numbers, at most two deviations from their mean."""

    def __init__(self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = "float32") -> None:
        super().__init__(mean, stddev, seed, dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The value."""
        return random.truncated_normal(shape, *self._numbers, dtype=dtype or self._dtype, seed=self._seed)


class RandomUniform(_Random):
    """Uniform random numbers."""

    NAMES = ("minval", "maxval")

    def __init__(
        self, minval: float = 0.0, maxval: float = 1.0, seed: int | None = None, dtype: Any = "float32"
    ) -> None:
        super().__init__(minval, maxval, seed, dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The value."""
        return random.random_uniform(shape, *self._numbers, dtype=dtype or self._dtype, seed=self._seed)


class VarianceScaling(Initializer):
    """Random numbers whose spread follows from how many inputs and outputs a layer has."""

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = "float32",
    ) -> None:
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode}")
        self._scale, self._mode, self._distribution = scale, mode, distribution.lower()
        self._seed, self._dtype = seed, dtype

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The value."""
        fan_in, fan_out = _fans(TensorShape(shape).as_list())
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self._mode]
        scale = self._scale / max(1.0, fan)
        wanted = dtype or self._dtype
        if self._distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return random.random_uniform(shape, -limit, limit, dtype=wanted, seed=self._seed)
        if self._distribution == "untruncated_normal":
            return random.random_normal(shape, 0.0, math.sqrt(scale), dtype=wanted, seed=self._seed)
        return random.truncated_normal(shape, 0.0, math.sqrt(scale) / _SPREAD, dtype=wanted, seed=self._seed)


_SPREAD = 0.87962566103423978
"""The deviation of a normal distribution cut at two deviations."""


def _fans(dims: list[Any]) -> tuple[float, float]:
    if not dims:
        return 1, 1
    if len(dims) == 1:
        return dims[0], dims[0]
    field = math.prod(dims[:-2])
    return dims[-2] * field, dims[-1] * field


def glorot_uniform(seed: int | None = None, dtype: Any = "float32") -> VarianceScaling:
    """Uniform random numbers for layers as Glorot has them."""
    return VarianceScaling(1.0, "fan_avg", "uniform", seed, dtype)


def glorot_normal(seed: int | None = None, dtype: Any = "float32") -> VarianceScaling:
    """Normal random numbers for layers as Glorot has them."""
    return VarianceScaling(1.0, "fan_avg", "truncated_normal", seed, dtype)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Normal random numbers for layers as He has them."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform random numbers for layers as He has them."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Normal random numbers for layers as LeCun has them."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform random numbers for layers as LeCun has them."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def _sizes(shape: Any) -> list[int]:
    return [int(one) for one in TensorShape(shape)]


class UniformUnitScaling(Initializer):
    """Uniform random numbers that keep the scale of what a layer is given."""

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = "float32") -> None:
        self._factor, self._seed, self._dtype = factor, seed, dtype

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The value."""
        inputs = math.prod(_sizes(shape)[:-1])
        limit = math.sqrt(3 / max(inputs, 1.0)) * self._factor
        return random.random_uniform(shape, -limit, limit, dtype=dtype or self._dtype, seed=self._seed)


class Orthogonal(Initializer):
    """A matrix with orthogonal columns, or rows where there are fewer of these, of random directions."""

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = "float32") -> None:
        self._gain, self._seed, self._dtype = gain, seed, dtype

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The value.

        Raises:
            ValueError: `shape` has less than two dimensions.
        """
        sizes = _sizes(shape)
        if len(sizes) < _MATRIX:
            raise ValueError(
                "The tensor to initialize, specified by argument `shape` must be at least two-dimensional. Received "
                f"shape={shape}"
            )
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        flat = [max(rows, columns), min(rows, columns)]
        drawn = random.random_normal(flat, dtype=dtype or self._dtype, seed=self._seed)
        directions, lengths = apply("Qr", [drawn], {"full_matrices": False}).outputs
        made = directions * output_of("Sign", output_of("DiagPart", lengths))
        made = arrays.transpose(made) if rows < columns else made
        return self._gain * output_of("Reshape", made, sizes)


class Identity(Initializer):
    """The identity matrix, times a number."""

    def __init__(self, gain: float = 1.0, dtype: Any = "float32") -> None:
        self._gain, self._dtype = gain, dtype

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The value.

        Raises:
            ValueError: `shape` is not that of a matrix.
        """
        sizes = _sizes(shape)
        if len(sizes) != _MATRIX:
            raise ValueError(
                "The tensor to initialize, specified by argument `shape` must be at least two-dimensional. Received "
                f"shape={shape}"
            )
        return self._gain * arrays.eye(sizes[0], sizes[1], dtype=dtype or self._dtype)


def first_value(initializer: Any, shape: TensorShape, dtype: Any) -> Any:
    """What gives a variable of that shape and type its first value: a function without arguments, or the value.

    Args:
        initializer: a value, or a function of sizes and type, or the class of one; None for Glorot's uniform numbers,
            or zeros of integers and booleans.
        shape: the variable's, of which all sizes are known.
        dtype: its type.

    Raises:
        ValueError: a type has no initializer, and none is given.
    """
    wanted = as_dtype(dtype)
    if initializer is None:
        if wanted.is_floating:
            initializer = glorot_uniform()
        elif wanted.is_integer or wanted.is_bool:
            initializer = Zeros()
        else:
            raise ValueError(f"An initializer for a variable of {wanted.name} is required")
    made = initializer() if isinstance(initializer, type) else initializer
    if callable(made) and not isinstance(made, np.ndarray) and not hasattr(made, "dense_tensor"):
        return lambda: made(shape.as_list(), dtype=wanted)
    return made
