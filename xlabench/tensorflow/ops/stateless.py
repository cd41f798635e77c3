"""`tf.random.stateless_*`: random numbers that follow from their seed alone, bit for bit as TensorFlow has them.

Args:
    shape: of the array.
    seed: two whole numbers.
    dtype: the type of the numbers.
    name: of the scope of the nodes, None for one of the function.
    alg: changes nothing: it is Philox.
"""

from __future__ import annotations

from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.math import cast


def _given(shape: Any, seed: Any) -> tuple[Tensor, Tensor]:
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    sizes = convert_to_tensor(shape, "int32" if not hasattr(shape, "dtype") else None, "shape")
    return sizes, convert_to_tensor(seed, name="seed")


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Uniform random numbers from `minval` up to `maxval`, which is not among them; of floats None stands for 1.

    Of integers, `minval` and `maxval` None stand for all that there are.

    Raises:
        ValueError: integers have one end.
    """
    wanted = as_dtype(dtype)
    if wanted.is_integer and (minval is None) != (maxval is None):
        raise ValueError(
            f"For integer `dtype` argument {wanted!r}, argument `minval` and `maxval` must be both None or not None."
        )
    with get_default_graph().name_scope(name or "stateless_random_uniform"):
        sizes, pair = _given(shape, seed)
        if wanted.is_integer and minval is None:
            return output_of("StatelessRandomUniformFullInt", sizes, pair, dtype=wanted)
        low, high = (convert_to_tensor(one, wanted) for one in (minval, 1 if maxval is None else maxval))
        if wanted.is_integer:
            return output_of("StatelessRandomUniformInt", sizes, pair, low, high)
        return output_of("StatelessRandomUniform", sizes, pair, dtype=wanted) * (high - low) + low


def _normal(op: str, given: tuple[Any, Any], numbers: tuple[Any, Any], dtype: Any, name: str) -> Tensor:
    wanted = as_dtype(dtype)
    with get_default_graph().name_scope(name) as scope:
        drawn = output_of(op, *_given(*given), dtype=wanted)
        mean, deviation = (convert_to_tensor(one, wanted) for one in numbers)
        return output_of("AddV2", drawn * deviation, mean, name=scope)


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Normal random numbers around `mean` with the deviation `stddev`."""
    scope = name or "stateless_random_normal"
    return _normal("StatelessRandomNormal", (shape, seed), (mean, stddev), dtype, scope)


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Normal random numbers, at most two deviations `stddev` from their `mean`."""
    scope = name or "stateless_truncated_normal"
    return _normal("StatelessTruncatedNormal", (shape, seed), (mean, stddev), dtype, scope)


def stateless_multinomial(
    logits: Any, num_samples: Any, seed: Any, output_dtype: Any = "int64", name: str | None = None
) -> Tensor:
    """Numbers of classes, `num_samples` for each row of `logits`, in the type `output_dtype`."""
    with get_default_graph().name_scope(name or "stateless_multinomial"):
        given = [convert_to_tensor(logits, name="logits"), num_samples, convert_to_tensor(seed, name="seed")]
        return cast(apply("StatelessMultinomial", given, {"output_dtype": output_dtype}).outputs[0], output_dtype)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = "int64", name: str | None = None
) -> Tensor:
    """The same, under its newer name: `num_samples` for each row of `logits`."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name or "stateless_categorical")
