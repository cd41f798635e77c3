"""Metrics of the classes that a model finds most likely: how many of the right ones are among the first k.

Each gives a pair, as those of `metrics.py` do; labels may be several for an example, as sets: [..., labels].

Args:
    labels: numbers of classes, [..., labels], or [...] where there is one each; those that are none count as missed.
    predictions: scores, [..., classes].
    predictions_idx: numbers of the classes that were found, [..., k].
    k: how many are looked at.
    class_id: the class that alone counts, None for all.
    weights: what counts how much, [...]; None for all alike.
    metrics_collections: keys of collections that keep what has been counted; None for none.
    updates_collections: those that keep the op that counts a batch.
    name: of the scope of variables and nodes; None for that of the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import ones_like, zeros_like
from xlabench.tensorflow.ops.math import REDUCTIONS, cast
from xlabench.tensorflow.ops.nn import top_k
from xlabench.tensorflow.training.metrics import Keys, Metric, counter, kept, over

_sum = REDUCTIONS["reduce_sum"]


def _named(word: str, k: int | None, class_id: int | None) -> str:
    found = f"{word}_at_k" if k is None else f"{word}_at_{k}"
    return found if class_id is None else f"{found}_class{class_id}"


def _sets(labels: Any, found: Any) -> tuple[Tensor, Tensor]:
    """Labels and what was found, numbers of one rank."""
    wanted, given = (cast(convert_to_tensor(one), "int64") for one in (labels, found))
    if wanted.shape.rank is None or given.shape.rank is None:
        raise ValueError(f"metrics of the first k take labels and predictions of known ranks here: {wanted}, {given}")
    if given.shape.rank == wanted.shape.rank + 1:
        wanted = output_of("ExpandDims", wanted, -1)
    if given.shape.rank != wanted.shape.rank:
        raise ValueError(f"Unexpected labels shape {wanted.shape} for predictions shape {given.shape}.")
    return wanted, given


def _is_in(some: Tensor, others: Tensor, counts: Tensor | None = None) -> Tensor:
    """Which of some numbers are among others, of which only those count that `counts` says."""
    same = output_of("Equal", output_of("ExpandDims", some, -1), output_of("ExpandDims", others, -2))
    if counts is not None:
        same = output_of("LogicalAnd", same, output_of("ExpandDims", counts, -2))
    return REDUCTIONS["reduce_any"](same, -1)


def _is_first(numbers: Tensor) -> Tensor:
    """Which of them are not there before: a set has each number once."""
    size = int(numbers.shape[-1])
    same = output_of("Equal", output_of("ExpandDims", numbers, -1), output_of("ExpandDims", numbers, -2))
    before = output_of("LogicalAnd", same, convert_to_tensor(np.tri(size, size, -1) > 0))
    return output_of("LogicalNot", REDUCTIONS["reduce_any"](before, -1))


def _size(which: Tensor, numbers: Tensor, class_id: int | None, weights: Any) -> Tensor:
    """How many different numbers there are of those which are meant, by weights."""
    met = output_of("LogicalAnd", which, _is_first(numbers))
    if class_id is not None:
        met = output_of("LogicalAnd", met, output_of("Equal", numbers, convert_to_tensor(class_id, "int64")))
    count = _sum(cast(met, "float64"), -1)
    return count if weights is None else count * cast(weights, "float64")


def _not(which: Tensor) -> Tensor:
    return output_of("LogicalNot", which)


def _share(
    word: str, other: str, of_rest: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], said: str
) -> Callable[..., Metric]:
    """Right ones over these and others; which others, of which numbers, a function says."""

    def metric(
        labels: Any,
        predictions_idx: Any,
        k: int | None = None,
        class_id: int | None = None,
        weights: Any = None,
        metrics_collections: Keys = None,
        updates_collections: Keys = None,
        name: str | None = None,
    ) -> Metric:
        with get_default_graph().name_scope(name or _named(word, k, class_id)):
            wanted, found = _sets(labels, predictions_idx)
            both = _size(_is_in(found, wanted), found, class_id, weights)
            rest = _size(*of_rest(wanted, found), class_id, weights)
            counts, updates = [], []
            for kind, batch in (("true_positive", both), (other, rest)):
                with get_default_graph().name_scope(_named(kind, k, class_id)) as scope:
                    variable = counter(scope, (), "float64")
                    counts.append(variable.value())
                    updates.append(variable.assign_add(_sum(batch)))
            pair = counts[0] / (counts[0] + counts[1]), updates[0] / (updates[0] + updates[1])
            return kept(pair, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = f"{word}_at_top_k"
    metric.__doc__ = f"{said}, of the classes that `predictions_idx` says."
    return metric


precision_at_top_k = _share(
    "precision",
    "false_positive",
    lambda wanted, found: (_not(_is_in(found, wanted)), found),
    "The share that is right in what was found",
)
recall_at_top_k = _share(
    "recall",
    "false_negative",
    lambda wanted, found: (_not(_is_in(wanted, found)), wanted),
    "The share that was found in what is right",
)


def _of_scores(word: str, inner: Callable[..., Metric], said: str) -> Callable[..., Metric]:
    def metric(
        labels: Any,
        predictions: Any,
        k: int,
        class_id: int | None = None,
        weights: Any = None,
        metrics_collections: Keys = None,
        updates_collections: Keys = None,
        name: str | None = None,
    ) -> Metric:
        with get_default_graph().name_scope(name or _named(word, k, class_id)) as scope:
            _, found = top_k(predictions, k)
            return inner(labels, found, k, class_id, weights, metrics_collections, updates_collections, scope)

    metric.__name__ = metric.__qualname__ = f"{word}_at_k"
    metric.__doc__ = f"{said}, of the `k` classes with the greatest `predictions`."
    return metric


precision_at_k = _of_scores("precision", precision_at_top_k, "The share that is right in what was found")
recall_at_k = _of_scores("recall", recall_at_top_k, "The share that was found in what is right")


def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """The mean over examples of precision at the right ones among the first `k`, over how many these could be.

    Raises:
        ValueError: `k` is no count.
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}. `k` should be >= 1.")
    with get_default_graph().name_scope(name or _named("average_precision", k, None)):
        _, numbers = top_k(predictions, k)
        wanted, found = _sets(labels, numbers)
        classes = cast(output_of("Shape", convert_to_tensor(predictions))[-1], "int64")
        is_none = output_of("GreaterEqual", wanted, classes)
        wanted = output_of("SelectV2", is_none, -ones_like(wanted), wanted)
        right = cast(_is_in(found, wanted), "float64")
        tried = output_of("Cumsum", ones_like(right), -1)
        gained = _sum(output_of("Cumsum", right, -1) / tried * right, -1)
        possible = _sum(output_of("SelectV2", wanted >= zeros_like(wanted), ones_like(wanted), zeros_like(wanted)), -1)
        each = gained / cast(output_of("Minimum", possible, convert_to_tensor(k, "int64")), "float64")
        size = cast(output_of("Size", each), "float64")
        if weights is not None:
            by = cast(weights, "float64") * ones_like(each)
            each, size = each * by, _sum(by)
        most, total = counter("max_1", (), "float64"), counter("total", (), "float64")
        most_now, total_now = most.assign_add(size), total.assign_add(_sum(each))
        pair = over(total.value(), most.value(), "mean"), over(total_now, most_now, "update")
        return kept(pair, metrics_collections, updates_collections)
