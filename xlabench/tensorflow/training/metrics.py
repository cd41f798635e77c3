"""`tf.metrics`: how good a model is over many batches, counted in local variables.

Each gives a pair: what has been counted, and an op that counts a batch and gives what there is then.  Variables begin
at zero by `tf.local_variables_initializer`.

Args:
    weights: what counts how much: None for all alike, or an array that is broadcast to the values.
    metrics_collections: keys of collections that keep what has been counted; None for none.
    updates_collections: those that keep the op that counts a batch.
    name: of the scope of variables and nodes; None for that of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops import arrays
from xlabench.tensorflow.ops.math import REDUCTIONS, cast
from xlabench.tensorflow.ops.variable_scopes import variable_scope

_sum = REDUCTIONS["reduce_sum"]
Keys = str | Sequence[str] | None
Metric = tuple[Any, Any]


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """The mean of all `values` that were met, by their weights."""
    with variable_scope(name, "mean"):
        _, each, weights = aligned(None, cast(values, "float32"), weights)
        total, count = counter("total"), counter("count")
        by = _weights(weights, each)
        total_now, count_now = total.assign_add(_sum(each * by)), count.assign_add(_sum(by))
        pair = over(total, count, "value"), over(total_now, count_now, "update_op")
        return kept(pair, metrics_collections, updates_collections)


def _metric(word: str, formula: Callable[[Any, Any, Any, str | None], Metric], said: str) -> Callable[..., Metric]:
    """A metric by its value and its update, as a formula of labels, predictions, weights and a name."""

    def metric(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Keys = None,
        updates_collections: Keys = None,
        name: str | None = None,
    ) -> Metric:
        return kept(formula(labels, predictions, weights, name), metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = word
    metric.__doc__ = said
    return metric


def _mean_of(word: str, formula: Callable[[Tensor, Tensor], Tensor], said: str) -> Callable[..., Metric]:
    """The mean of a formula of labels and predictions."""

    def mean_of(labels: Any, predictions: Any, weights: Any, name: str | None) -> Metric:
        wanted, found, by = aligned(labels, predictions, weights)
        return mean(formula(wanted, found), by, name=name or word)

    return _metric(word, mean_of, f"{said} of `labels` and `predictions`, which have one shape.")


def _are_equal(labels: Tensor, predictions: Tensor) -> Tensor:
    if labels.dtype != predictions.dtype:
        predictions = cast(predictions, labels.dtype)
    return cast(output_of("Equal", labels, predictions), "float32")


def _squared(labels: Tensor, predictions: Tensor) -> Tensor:
    return output_of("SquaredDifference", cast(predictions, "float32"), cast(labels, "float32"))


def _absolute(labels: Tensor, predictions: Tensor) -> Tensor:
    return output_of("Abs", cast(predictions, "float32") - cast(labels, "float32"))


accuracy = _mean_of("accuracy", _are_equal, "The share that is equal")
mean_squared_error = _mean_of("mean_squared_error", _squared, "The mean of the squared difference")
mean_absolute_error = _mean_of("mean_absolute_error", _absolute, "The mean of the difference's amount")


def _root_of_mean(labels: Any, predictions: Any, weights: Any, name: str | None) -> Metric:
    value, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    return _root(value), _root(update)


def _root(square: Any) -> Tensor:
    return output_of("Sqrt", square)


root_mean_squared_error = _metric(
    "root_mean_squared_error",
    _root_of_mean,
    "The square root of the mean of the squared difference of `labels` and `predictions`, which have one shape.",
)


def _count_of(word: str, *, is_found: bool, is_right: bool) -> Callable[..., Metric]:
    """How often what was found was positive, or not, and right, or not."""

    def count_of(labels: Any, predictions: Any, weights: Any, name: str | None) -> Metric:
        with variable_scope(name, word):
            labels, predictions, weights = aligned(cast(labels, "bool"), cast(predictions, "bool"), weights)
            wanted = labels if is_found == is_right else _not(labels)
            found = predictions if is_found else _not(predictions)
            each = cast(output_of("LogicalAnd", wanted, found), "float32")
            count = counter("count")
            update = count.assign_add(_sum(each * _weights(weights, each)))
            return count.value(), update

    said = f"The number of {word.replace('_', ' ')} among `predictions`, of `labels` of their shape."
    return _metric(word, count_of, said)


true_positives = _count_of("true_positives", is_found=True, is_right=True)
false_positives = _count_of("false_positives", is_found=True, is_right=False)
true_negatives = _count_of("true_negatives", is_found=False, is_right=True)
false_negatives = _count_of("false_negatives", is_found=False, is_right=False)


def _share_of(word: str, other: Callable[..., Metric], said: str) -> Callable[..., Metric]:
    """The share of true positives among themselves and others."""

    def share_of(labels: Any, predictions: Any, weights: Any, name: str | None) -> Metric:
        with variable_scope(name, word):
            right, right_now = true_positives(labels, predictions, weights)
            rest, rest_now = other(labels, predictions, weights)
            return over(right, right + rest, "value"), over(right_now, right_now + rest_now, "update_op")

    return _metric(word, share_of, f"The share of {said}, of `labels` and `predictions` of one shape.")


precision = _share_of("precision", false_positives, "what is positive in what was found to be")
recall = _share_of("recall", false_negatives, "what was found in what is positive")


def _not(value: Tensor) -> Tensor:
    return output_of("LogicalNot", value)


def counter(name: str, shape: Sequence[int] = (), dtype: Any = "float32") -> Variable:
    """A local variable of zeros, in which a metric counts: its `name`, `shape` and `dtype`."""
    keys = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    return Variable(lambda: arrays.zeros(shape, dtype), trainable=False, collections=keys, name=name)


def aligned(labels: Any, predictions: Any, weights: Any) -> tuple[Any, Tensor, Any]:
    """Labels, predictions and weights of one rank: a last dimension of size 1 that one has more than another goes.

    `labels`, None for none, lose it where `predictions` lack it, and the other way round; `weights` lose it, or get it.
    """
    found = convert_to_tensor(predictions)
    wanted = None if labels is None else convert_to_tensor(labels)
    if wanted is not None and wanted.shape.rank is not None and found.shape.rank is not None:
        more = found.shape.rank - wanted.shape.rank
        if more == 1 and found.shape[-1].value in (1, None):
            found = _narrow(found)
        elif more == -1 and wanted.shape[-1].value in (1, None):
            wanted = _narrow(wanted)
    by = None if weights is None else convert_to_tensor(weights)
    if by is not None and by.shape.rank and found.shape.rank is not None:
        more = by.shape.rank - found.shape.rank
        if more == 1:
            by = _narrow(by)
        elif more == -1:
            by = output_of("ExpandDims", by, -1)
    return wanted, found, by


def _narrow(value: Tensor) -> Tensor:
    return output_of("Squeeze", value, squeeze_dims=[-1])


def _weights(weights: Any, each: Tensor) -> Tensor:
    """The weight of each value."""
    ones = arrays.ones_like(each)
    return ones if weights is None else ones * cast(weights, "float32")


def over(total: Any, count: Any, name: str) -> Tensor:
    """The share of `total` in `count`, 0 of nothing, as a node called `name`."""
    return output_of("DivNoNan", total, count, name=name)


def kept(metric: Metric, metrics: Keys, updates: Keys) -> Metric:
    """A `metric`, whose halves the collections `metrics` and `updates` keep."""
    graph = get_default_graph()
    for keys, half in zip((metrics, updates), metric, strict=True):
        for key in [keys] if isinstance(keys, str) else keys or ():
            graph.add_to_collection(key, half)
    return metric
