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

from xlabench.tensorflow.framework.applying import apply
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
        each = cast(values, "float32")
        total, count = _counter("total"), _counter("count")
        by = _weights(weights, each)
        total_now, count_now = total.assign_add(_sum(each * by)), count.assign_add(_sum(by))
        pair = _over(total, count, "value"), _over(total_now, count_now, "update_op")
        return _kept(pair, metrics_collections, updates_collections)


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
        return _kept(formula(labels, predictions, weights, name), metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = word
    metric.__doc__ = said
    return metric


def _mean_of(word: str, formula: Callable[[Tensor, Tensor], Tensor], said: str) -> Callable[..., Metric]:
    """The mean of a formula of labels and predictions."""

    def mean_of(labels: Any, predictions: Any, weights: Any, name: str | None) -> Metric:
        found = convert_to_tensor(predictions)
        return mean(formula(convert_to_tensor(labels), found), weights, name=name or word)

    return _metric(word, mean_of, f"{said} of `labels` and `predictions`, which have one shape.")


def _are_equal(labels: Tensor, predictions: Tensor) -> Tensor:
    if labels.dtype != predictions.dtype:
        predictions = cast(predictions, labels.dtype)
    return cast(apply("Equal", [labels, predictions], {}).outputs[0], "float32")


def _squared(labels: Tensor, predictions: Tensor) -> Tensor:
    return apply("SquaredDifference", [cast(predictions, "float32"), cast(labels, "float32")], {}).outputs[0]


def _absolute(labels: Tensor, predictions: Tensor) -> Tensor:
    return apply("Abs", [cast(predictions, "float32") - cast(labels, "float32")], {}).outputs[0]


accuracy = _mean_of("accuracy", _are_equal, "The share that is equal")
mean_squared_error = _mean_of("mean_squared_error", _squared, "The mean of the squared difference")
mean_absolute_error = _mean_of("mean_absolute_error", _absolute, "The mean of the difference's amount")


def _root_of_mean(labels: Any, predictions: Any, weights: Any, name: str | None) -> Metric:
    value, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    return _root(value), _root(update)


def _root(square: Any) -> Tensor:
    return apply("Sqrt", [square], {}).outputs[0]


root_mean_squared_error = _metric(
    "root_mean_squared_error",
    _root_of_mean,
    "The square root of the mean of the squared difference of `labels` and `predictions`, which have one shape.",
)


def _count_of(word: str, *, is_found: bool, is_right: bool) -> Callable[..., Metric]:
    """How often what was found was positive, or not, and right, or not."""

    def count_of(labels: Any, predictions: Any, weights: Any, name: str | None) -> Metric:
        with variable_scope(name, word):
            wanted = cast(labels, "bool") if is_found == is_right else _not(cast(labels, "bool"))
            found = cast(predictions, "bool") if is_found else _not(cast(predictions, "bool"))
            each = cast(apply("LogicalAnd", [wanted, found], {}).outputs[0], "float32")
            count = _counter("count")
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
            return _over(right, right + rest, "value"), _over(right_now, right_now + rest_now, "update_op")

    return _metric(word, share_of, f"The share of {said}, of `labels` and `predictions` of one shape.")


precision = _share_of("precision", false_positives, "what is positive in what was found to be")
recall = _share_of("recall", false_negatives, "what was found in what is positive")


def _not(value: Tensor) -> Tensor:
    return apply("LogicalNot", [value], {}).outputs[0]


def _counter(name: str) -> Variable:
    keys = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    return Variable(lambda: arrays.zeros([], "float32"), trainable=False, collections=keys, name=name)


def _weights(weights: Any, each: Tensor) -> Tensor:
    """The weight of each value."""
    ones = arrays.ones_like(each)
    return ones if weights is None else ones * cast(weights, "float32")


def _over(total: Any, count: Any, name: str) -> Tensor:
    """A share that is 0 of nothing."""
    return apply("DivNoNan", [total, count], {}, name).outputs[0]


def _kept(metric: Metric, metrics: Keys, updates: Keys) -> Metric:
    """A metric, whose halves collections keep."""
    graph = get_default_graph()
    for keys, half in zip((metrics, updates), metric, strict=True):
        for key in [keys] if isinstance(keys, str) else keys or ():
            graph.add_to_collection(key, half)
    return metric
