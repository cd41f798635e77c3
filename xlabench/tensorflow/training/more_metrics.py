"""Metrics whose arguments are others than labels, predictions and weights: means of values, and by classes.

Each gives a pair, as those of `metrics.py` do.

Args:
    labels: what is right.
    predictions: what was found, of the shape of the labels.
    num_classes: how many classes there are.
    weights: what counts how much: None for all alike, or an array that is broadcast to the values.
    metrics_collections: keys of collections that keep what has been counted; None for none.
    updates_collections: those that keep the op that counts a batch.
    name: of the scope of variables and nodes; None for that of the function.
"""

from __future__ import annotations

from typing import Any

from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops import arrays
from xlabench.tensorflow.ops.counting import confusion_matrix
from xlabench.tensorflow.ops.math import REDUCTIONS, cast
from xlabench.tensorflow.ops.variable_scopes import variable_scope
from xlabench.tensorflow.training.metrics import Keys, Metric, aligned, counter, kept, mean, over

_sum = REDUCTIONS["reduce_sum"]


def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """The share of `values` that is below a `threshold`, by their weights."""
    below = cast(output_of("Less", convert_to_tensor(values), threshold), "float32")
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """The mean of the difference's amount over `normalizer`, and of 0 where that is 0."""
    wanted, found, by = aligned(labels, predictions, weights)
    scale, found, _ = aligned(normalizer, found, None)
    shares = output_of("Abs", wanted - found) / scale
    is_nothing = output_of("Equal", scale, convert_to_tensor(0, scale.dtype))
    errors = output_of("Select", is_nothing, arrays.zeros_like(wanted), shares)
    return mean(errors, by, metrics_collections, updates_collections, name or "mean_relative_error")


def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """1 less the mean of the products of unit vectors, which lie along `dim`."""
    wanted, found, by = aligned(labels, predictions, weights)
    close = _sum(found * wanted, [dim], keepdims=True)
    pair = tuple(1.0 - one for one in mean(close, by, name=name or "mean_cosine_distance"))
    return kept((pair[0], pair[1]), metrics_collections, updates_collections)


def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """The mean of each element of `values`, an array of a known shape, over batches."""
    with variable_scope(name, "mean"):
        each = cast(values, "float32")
        sizes = [int(one) for one in each.shape]
        total, count = counter("total_tensor", sizes), counter("count_tensor", sizes)
        _, each, by = aligned(None, each, weights)
        shares = arrays.ones_like(each)
        if by is not None:
            by = cast(by, "float32")
            each, shares = each * by, shares * by
        total_now, count_now = total.assign_add(each), count.assign_add(shares)
        pair = over(total.value(), _positive(count), "value"), over(total_now, _positive(count_now), "update_op")
        return kept(pair, metrics_collections, updates_collections)


def _positive(count: Any) -> Tensor:
    return output_of("Maximum", convert_to_tensor(count), 0.0)


def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """Of each class what was right, over what was it or was found to be: the mean over classes that were met.

    The op that counts a batch gives how often each class (a row) was taken for each (a column).
    """
    with variable_scope(name, "mean_iou"):
        matrix = counter("total_confusion_matrix", [num_classes, num_classes], "float64")
        wanted, found = (_row(cast(one, "int64")) for one in (labels, predictions))
        by = None if weights is None else _row(convert_to_tensor(weights))
        update = matrix.assign_add(confusion_matrix(wanted, found, num_classes, "float64", weights=by))
        counts = matrix.value()
        rows, columns = (cast(_sum(counts, axis), "float32") for axis in (0, 1))
        right = cast(output_of("DiagPart", counts), "float32")
        united = rows + columns - right
        met = _sum(cast(output_of("NotEqual", united, 0.0), "float32"))
        shares = right / output_of("Select", united > 0.0, united, arrays.ones_like(united))
        value = output_of("SelectV2", met > 0.0, _sum(shares) / met, 0.0)
        return kept((value, update), metrics_collections, updates_collections)


def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """The mean over classes of the share that is right; the op that counts a batch gives each class's share."""
    with variable_scope(name, "mean_accuracy"):
        wanted = _row(cast(labels, "int64"))
        found = cast(_row(convert_to_tensor(predictions)), "int64")
        total, count = counter("total", [num_classes]), counter("count", [num_classes])
        right = cast(output_of("Equal", found, wanted), "float32")
        ones = arrays.ones_like(right)
        if weights is not None:
            by = _row(cast(weights, "float32"))
            right, ones = right * by, ones * by
        now = [_scattered(variable, wanted, one) for variable, one in ((total, ones), (count, right))]
        shares = over(count.value(), _positive(total), "")
        pair = REDUCTIONS["reduce_mean"](shares, name="mean_accuracy"), over(now[1], _positive(now[0]), "update_op")
        return kept(pair, metrics_collections, updates_collections)


def _scattered(variable: Any, indices: Tensor, values: Tensor) -> Tensor:
    """What a variable holds when values were added at indices."""
    size = int(variable.shape[0])
    more: Tensor = variable.assign_add(output_of("UnsortedSegmentSum", values, indices, size))
    return more


def _row(value: Tensor) -> Tensor:
    """All elements of what is more than a vector."""
    return output_of("Reshape", value, [-1]) if value.shape.rank != 1 else value
