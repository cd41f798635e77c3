"""Random numbers: stateful ops with seeds, of the graph and of the op, as TensorFlow chooses them."""

from __future__ import annotations

from typing import Any

import numpy as np

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.graph import Graph, get_default_graph
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.math import cast

_GRAPH_SEED = 87654321
_LARGEST = 2**31 - 1
_COUNTED = "ops without seeds"


def seeds(graph: Graph, seed: int | None) -> dict[str, int]:
    """The two seeds of an op: the graph's, and its own or a number that tells it from other ops."""
    if graph.seed is None:
        pair = (0, 0) if seed is None else (_GRAPH_SEED, seed)
    else:
        number = graph.scopes.get(_COUNTED, 0)
        graph.scopes[_COUNTED] = number + (seed is None)
        pair = graph.seed, number if seed is None else seed
        pair = pair if pair != (0, 0) else (0, _LARGEST)
    return {"seed": pair[0] % _LARGEST, "seed2": pair[1] % _LARGEST}


def set_random_seed(seed: int | None) -> None:
    """The seed of the graph."""
    get_default_graph().seed = seed


def _shape(shape: Any) -> Any:
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    return convert_to_tensor(shape, "int32" if not hasattr(shape, "dtype") else None, "shape")


def _normal(op: str, shape: Any, numbers: tuple[Any, Any], dtype: Any, seed: int | None, scope: str) -> Tensor:
    graph = get_default_graph()
    sizes = _shape(shape)
    mean = convert_to_tensor(numbers[0], dtype, "mean")
    deviation = convert_to_tensor(numbers[1], dtype, "stddev")
    drawn = apply(op, [sizes], {"dtype": dtype, **seeds(graph, seed)}).outputs[0]
    return output_of("AddV2", output_of("Mul", drawn, deviation, name="mul"), mean, name=scope)


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal random numbers in an array of `shape` and type `dtype`, around `mean` with the deviation `stddev`."""
    with get_default_graph().name_scope(name or "random_normal") as scope:
        return _normal("RandomStandardNormal", shape, (mean, stddev), as_dtype(dtype), seed, scope)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal random numbers in `shape` and `dtype`, at most two deviations `stddev` from their `mean`."""
    with get_default_graph().name_scope(name or "truncated_normal") as scope:
        return _normal("TruncatedNormal", shape, (mean, stddev), as_dtype(dtype), seed, scope)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Uniform random numbers from `minval` up to `maxval`, which is not among them; `maxval` None is 1.

    They are an array of `shape` and type `dtype`.

    Raises:
        ValueError: whole numbers have no upper end.
    """
    wanted = as_dtype(dtype)
    if maxval is None:
        if wanted.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {wanted!r}")
        maxval = 1
    graph = get_default_graph()
    with graph.name_scope(name or "random_uniform") as scope:
        sizes = _shape(shape)
        if wanted.is_integer:
            low, high = (convert_to_tensor(one, wanted, word) for one, word in ((minval, "min"), (maxval, "max")))
            return apply("RandomUniformInt", [sizes, low, high], seeds(graph, seed), scope).outputs[0]
        is_unit = (
            not hasattr(minval, "dense_tensor") and not hasattr(maxval, "dense_tensor") and (minval, maxval) == (0, 1)
        )
        if is_unit:
            return apply("RandomUniform", [sizes], {"dtype": wanted, **seeds(graph, seed)}, scope).outputs[0]
        low, high = (convert_to_tensor(one, wanted, word) for one, word in ((minval, "min"), (maxval, "max")))
        values = apply("RandomUniform", [sizes], {"dtype": wanted, **seeds(graph, seed)}).outputs[0]
        width = output_of("Sub", high, low, name="sub")
        scaled = output_of("Mul", values, width, name="mul")
        return output_of("AddV2", scaled, low, name=scope)


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """Elements of `x` of which the share `rate` becomes 0, the others growing so that their mean stays.

    `keep_prob` is 1 - `rate`, the older way to say it. In dimensions in which `noise_shape` (None: that of `x`) is 1
    elements stay or go together.

    Raises:
        ValueError: both are given, or neither is, or the rate is not in [0, 1).
    """
    if (keep_prob is None) == (rate is None):
        raise ValueError("tf.nn.dropout takes one of keep_prob and rate")
    if rate is None:
        rate = 1 - keep_prob
    if isinstance(rate, int | float) and not 0 <= rate < 1:
        raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
    graph = get_default_graph()
    with graph.name_scope(name or "dropout") as scope:
        value = convert_to_tensor(x, name="x")
        if isinstance(rate, int | float) and not rate:
            return output_of("Identity", value, name=scope)
        left = convert_to_tensor(1 - rate, value.dtype.base_dtype) if hasattr(rate, "dense_tensor") else 1 - rate
        scaled = value * (1.0 / left)
        sizes = noise_shape if noise_shape is not None else output_of("Shape", value)
        drawn = random_uniform(sizes, dtype=value.dtype.base_dtype, seed=seed)
        kept = output_of("GreaterEqual", drawn, rate)
        dropped = output_of("Mul", scaled, cast(kept, value.dtype.base_dtype), name=scope)
        if dropped.shape.is_compatible_with(value.shape):
            dropped.set_shape(value.shape)
        return dropped


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of `value` in an order that `seed` chooses."""
    return apply("RandomShuffle", [value], seeds(get_default_graph(), seed), name).outputs[0]


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A piece of `value`, of the sizes `size`, from where `seed` chooses."""
    graph = get_default_graph()
    with graph.name_scope(name or "random_crop") as scope:
        whole = convert_to_tensor(value, name="value")
        wanted = convert_to_tensor(size, "int32", "size")
        there = output_of("Shape", whole)
        limit = there - wanted + 1
        drawn = random_uniform(output_of("Shape", there), 0, 2**31 - 1, "int32", seed)
        return output_of("Slice", whole, drawn % limit, wanted, name=scope)


def multinomial(
    logits: Any, num_samples: Any, seed: int | None = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """Classes by chance: for each row of `logits`, logarithms of probabilities, `num_samples` numbers.

    Args:
        logits: [batch, classes].
        num_samples: how many are drawn.
        seed: of the op.
        name: of the node.
        output_dtype: int64 (None) or int32.
    """
    attributes = {"output_dtype": output_dtype or "int64", **seeds(get_default_graph(), seed)}
    return apply("Multinomial", [logits, num_samples], attributes, name or "multinomial").outputs[0]


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """`multinomial` under its newer name: `num_samples` classes in `dtype` for each row of `logits`."""
    return multinomial(logits, num_samples, seed, name or "categorical", dtype)


def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Random numbers of gamma distributions: for each of `alpha` and `beta` an array of `shape`.

    Args:
        shape: of the array.
        alpha: shapes of distributions.
        beta: their inverse scales, None for 1.
        dtype: the type of numbers.
        seed: of the op.
        name: of the scope of the nodes.
    """
    graph = get_default_graph()
    with graph.name_scope(name or "random_gamma") as scope:
        forms = convert_to_tensor(alpha, dtype, "alpha")
        inverse = convert_to_tensor(1 if beta is None else beta, dtype, "beta")
        forms = forms + output_of("ZerosLike", inverse)
        drawn = apply("RandomGamma", [_shape(shape), forms], seeds(graph, seed)).outputs[0]
        least = convert_to_tensor(float(np.finfo(as_dtype(dtype).as_numpy_dtype).tiny), dtype)
        return output_of("Maximum", least, drawn / inverse, name=scope)
