"""Metrics of probabilities: what is right and wrong where they are taken for yes above each of several thresholds.

Each gives a pair, as those of `metrics.py` do.

Args:
    labels: what is right, booleans or numbers that are 0 for no.
    predictions: probabilities, in [0, 1], of the shape of the labels.
    thresholds: numbers, in [0, 1].
    num_thresholds: how many thresholds there are between 0 and 1, both among them.
    weights: what counts how much: None for all alike, or an array that is broadcast to the predictions.
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
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import gather, ones_like
from xlabench.tensorflow.ops.checks import assert_greater_equal, assert_less_equal
from xlabench.tensorflow.ops.math import REDUCTIONS, argmax, argmin, cast
from xlabench.tensorflow.ops.variable_scopes import variable_scope
from xlabench.tensorflow.training.metrics import Keys, Metric, aligned, counter, kept

_sum = REDUCTIONS["reduce_sum"]
_LEAST = 1e-7
"""How far the outer thresholds are outside [0, 1], and what shares are kept from being of nothing by."""
_LEAST_AREA = 1e-6
"""The same where areas are summed (TensorFlow, ops/metrics_impl.py)."""
Counts = dict[str, Any]
_NAMES = {"tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives", "fp": "false_positives"}


def _counted(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any, kinds: str
) -> tuple[Counts, Counts]:
    """What has been counted of each kind at each threshold, and what there is with this batch."""
    given = convert_to_tensor(predictions)
    said = "predictions must be in [0, 1]"
    checks = [check(given, convert_to_tensor(limit, given.dtype), message=said)
              for check, limit in ((assert_greater_equal, 0.0), (assert_less_equal, 1.0))]  # fmt: skip
    with get_default_graph().control_dependencies(checks):
        wanted, found, by = aligned(cast(labels, "bool"), cast(output_of("Identity", given), "float32"), weights)
    flat = output_of("Reshape", found, [1, -1])
    is_yes = flat > convert_to_tensor([[float(one)] for one in thresholds], "float32")
    is_so = output_of("Reshape", wanted, [1, -1])
    each = None
    if by is not None:
        each = output_of("Reshape", cast(by, "float32") * ones_like(found), [1, -1])
    counts, updates = {}, {}
    for kind in kinds.split():
        right = is_so if kind in ("tp", "fn") else output_of("LogicalNot", is_so)
        said_so = is_yes if kind in ("tp", "fp") else output_of("LogicalNot", is_yes)
        met = cast(output_of("LogicalAnd", right, said_so), "float32")
        count = counter(_NAMES[kind], [len(thresholds)])
        updates[kind] = count.assign_add(_sum(met if each is None else met * each, 1))
        counts[kind] = count.value()
    return counts, updates


def _between(count: int, last: float = 1.0 + _LEAST) -> list[float]:
    """As many thresholds from below 0 to `last`."""
    return [-_LEAST, *((number + 1) / (count - 1) for number in range(count - 2)), last]


def _at_thresholds(
    word: str, kinds: str, formula: Callable[[Counts], Tensor], scope: str, said: str
) -> Callable[..., Metric]:
    def metric(
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Keys = None,
        updates_collections: Keys = None,
        name: str | None = None,
    ) -> Metric:
        with variable_scope(name, scope):
            counts, updates = _counted(labels, predictions, list(thresholds), weights, kinds)
            return kept((formula(counts), formula(updates)), metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = word
    metric.__doc__ = said
    return metric


def _count_at(kind: str) -> Callable[..., Metric]:
    name = _NAMES[kind]
    said = f"The number of {name.replace('_', ' ')} at each threshold."
    return _at_thresholds(f"{name}_at_thresholds", kind, lambda counts: counts[kind], name, said)


true_positives_at_thresholds, false_positives_at_thresholds = _count_at("tp"), _count_at("fp")
true_negatives_at_thresholds, false_negatives_at_thresholds = _count_at("tn"), _count_at("fn")
precision_at_thresholds = _at_thresholds(
    "precision_at_thresholds",
    "tp fp",
    lambda counts: counts["tp"] / (_LEAST + counts["tp"] + counts["fp"]),
    "precision_at_thresholds",
    "At each threshold the share of what is positive in what was found to be.",
)
recall_at_thresholds = _at_thresholds(
    "recall_at_thresholds",
    "tp fn",
    lambda counts: counts["tp"] / (_LEAST + counts["tp"] + counts["fn"]),
    "recall_at_thresholds",
    "At each threshold the share of what was found in what is positive.",
)


def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """The share found of what is positive, at the threshold at which the share found of the rest is `specificity`.

    Raises:
        ValueError: that is no share.
    """
    if not 0 <= specificity <= 1:
        raise ValueError(f"`specificity` must be in the range [0, 1]. Currently, `specificity` got {specificity}.")

    def share(counts: Counts) -> Tensor:
        others = counts["tn"] / (counts["tn"] + counts["fp"] + _LEAST)
        number = cast(argmin(output_of("Abs", others - specificity), 0), "int32")
        right, missed = (gather(counts[kind], number) for kind in ("tp", "fn"))
        return right / (right + missed + _LEAST)

    with variable_scope(name, "sensitivity_at_specificity"):
        counts, updates = _counted(labels, predictions, _between(num_thresholds), weights, "tp fn tn fp")
        return kept((share(counts), share(updates)), metrics_collections, updates_collections)


def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """The share found of what is negative, at the last threshold at which the share found of the rest is `sensitivity`.

    Raises:
        ValueError: that is no share.
    """
    if not 0 <= sensitivity <= 1:
        raise ValueError(f"`sensitivity` must be in the range [0, 1]. Currently, `sensitivity` is {sensitivity}.")

    def share(counts: Counts) -> Tensor:
        found = counts["tp"] / (counts["tp"] + counts["fn"] + _LEAST)
        apart = output_of("Abs", found - sensitivity)
        is_least = output_of("Equal", apart, REDUCTIONS["reduce_min"](apart))
        number = cast(argmax(output_of("Cumsum", cast(is_least, "int64"), 0), 0), "int32")
        right, wrong = (gather(counts[kind], number) for kind in ("tn", "fp"))
        return right / (right + wrong + _LEAST)

    with variable_scope(name, "specificity_at_sensitivity"):
        thresholds = _between(num_thresholds, 1.0 - _LEAST)
        counts, updates = _counted(labels, predictions, thresholds, weights, "tp fn tn fp")
        return kept((share(counts), share(updates)), metrics_collections, updates_collections)


def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Metric:
    """The area below a curve that thresholds give: of what was found over false alarms, or of precision over recall.

    Args:
        labels: what is right, booleans or numbers that are 0 for no.
        predictions: probabilities, in [0, 1], of the shape of the labels.
        weights: what counts how much.
        num_thresholds: how many thresholds there are between 0 and 1, both among them.
        metrics_collections: keys of collections that keep the area.
        updates_collections: those that keep the op that counts a batch.
        curve: `ROC`, or `PR` for precision over recall.
        name: of the scope of variables and nodes.
        summation_method: `trapezoidal`, `careful_interpolation` (of `PR`), `minoring` or `majoring`.
        thresholds: those between 0 and 1; None for even ones.

    Raises:
        ValueError: the curve, or the method, is none.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"Curve must be either ROC or PR. Curve {curve} is unknown.")
    if summation_method not in ("careful_interpolation", *_HEIGHTS):
        raise ValueError(
            f"Invalid summation_method: {summation_method} summation_method should be 'trapezoidal', "
            "'careful_interpolation', 'minoring', or 'majoring'."
        )
    with variable_scope(name, "auc"):
        at = _between(num_thresholds) if thresholds is None else [-_LEAST, *sorted(thresholds), 1.0 + _LEAST]
        counts, updates = _counted(labels, predictions, at, weights, "tp fn tn fp")
        if curve == "PR" and summation_method == "careful_interpolation":
            pair = _interpolated(counts, "value"), _interpolated(updates, "update_op")
        else:
            height = _HEIGHTS.get(summation_method, _middle)
            pair = _area(counts, curve, height, "value"), _area(updates, curve, height, "update_op")
        return kept(pair, metrics_collections, updates_collections)


def _middle(left: Tensor, right: Tensor) -> Tensor:
    return (left + right) / 2.0


_HEIGHTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "trapezoidal": _middle,
    "minoring": lambda left, right: output_of("Minimum", left, right),
    "majoring": lambda left, right: output_of("Maximum", left, right),
}


def _area(counts: Counts, curve: str, height: Callable[[Tensor, Tensor], Tensor], name: str) -> Tensor:
    right, missed, rest, wrong = (counts[kind] for kind in ("tp", "fn", "tn", "fp"))
    recall = (right + _LEAST_AREA) / (right + missed + _LEAST_AREA)
    if curve == "ROC":
        along, up = wrong / (wrong + rest + _LEAST_AREA), recall
    else:
        along, up = recall, (right + _LEAST_AREA) / (right + wrong + _LEAST_AREA)
    return _sum((along[:-1] - along[1:]) * height(up[:-1], up[1:]), name=name)


def _interpolated(counts: Counts, name: str) -> Tensor:
    """The area below precision over recall, precision between thresholds being a share of two lines."""
    right, missed, wrong = (counts[kind] for kind in ("tp", "fn", "fp"))
    found = right + wrong
    change = right[:-1] - right[1:]
    slope = output_of("DivNoNan", change, output_of("Maximum", found[:-1] - found[1:], 0.0))
    start = right[1:] - slope * found[1:]
    both = output_of("LogicalAnd", found[:-1] > 0.0, found[1:] > 0.0)
    ratio = output_of(
        "Select", both, output_of("DivNoNan", found[:-1], output_of("Maximum", found[1:], 0.0)), ones_like(found[1:])
    )
    pieces = slope * (change + start * output_of("Log", ratio))
    return _sum(output_of("DivNoNan", pieces, output_of("Maximum", right[1:] + missed[1:], 0.0)), name=name)
