"""`tf.losses`: how far a model is off, weighted, as one number that is kept in a collection.

Args:
    weights: what losses are multiplied by: a number, or an array that is broadcast to them; a loss of weight 0 counts
        for nothing.
    scope: of the nodes; None for a name of the function.
    loss_collection: the key of the collection that keeps the loss; None for none.
    reduction: what becomes of the losses of many examples, a name in `Reduction`.
    label_smoothing: how far labels are moved towards equal ones, from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops import arrays, cross_entropy
from xlabench.tensorflow.ops.math import REDUCTIONS, add_n, cast, one_of

_sum = REDUCTIONS["reduce_sum"]


class Reduction:
    """What becomes of the losses of many examples."""

    NONE = "none"
    SUM = "weighted_sum"
    MEAN = "weighted_mean"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Every kind."""
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def validate(cls, key: str) -> None:
        """Refuse a name of no kind.

        Raises:
            ValueError: `key` is none.
        """
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


_BY_WEIGHTS = Reduction.SUM_BY_NONZERO_WEIGHTS


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """An array of `losses` by their weights, and their mean by default over those whose weights are not zero.

    Raises:
        ValueError: the reduction is none.
    """
    Reduction.validate(reduction)
    with get_default_graph().name_scope(scope or "weighted_loss"):
        given = convert_to_tensor(losses)
        each, by = cast(given, "float32"), cast(weights, "float32")
        loss = each * by
        if reduction != Reduction.NONE:
            loss = _sum(loss)
        if reduction == Reduction.MEAN:
            loss = _over(loss, _sum(arrays.ones_like(each) * by))
        elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
            loss = _over(loss, cast(arrays.size(each), "float32"))
        elif reduction == _BY_WEIGHTS:
            loss = _over(loss, _present(each, by, weights))
        loss = cast(loss, given.dtype)
        add_loss(loss, loss_collection)
        return loss


def _present(each: Tensor, by: Tensor, weights: Any) -> Tensor:
    """How many losses have a weight that is not zero."""
    if isinstance(weights, float) and weights:
        return cast(arrays.size(each), "float32")
    return _sum(_has_weight(by) * arrays.ones_like(each))


def _over(total: Tensor, count: Tensor) -> Tensor:
    return output_of("DivNoNan", total, count, name="value")


def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Keep a loss."""
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Tensor]:
    """The losses that were kept, under a scope where one is given."""
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """What variables cost."""
    return get_losses(scope, GraphKeys.REGULARIZATION_LOSSES)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of what variables cost, under `scope` where one is given, as a node called `name`; 0 where none does."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else convert_to_tensor(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of all that were kept, under `scope` where one is given, as a node called `name`.

    What variables cost is among them where `add_regularization_losses` is True.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = [*losses, *get_regularization_losses(scope)]
    return add_n(losses, name=name)


_Formula = Callable[..., Tensor]


def _pairwise(name: str, formula: _Formula, said: str = "") -> Callable[..., Tensor]:
    """A loss of labels and predictions that is a formula of both, and what is said of it."""

    def loss(
        labels: Any,
        predictions: Any,
        weights: Any = 1.0,
        scope: str | None = None,
        loss_collection: str | None = GraphKeys.LOSSES,
        reduction: str = _BY_WEIGHTS,
    ) -> Tensor:
        with get_default_graph().name_scope(scope or name) as inner:
            wanted, found = _floats(labels, "labels"), _floats(predictions, "predictions")
            return compute_weighted_loss(formula(wanted, found), weights, inner, loss_collection, reduction)

    loss.__name__ = loss.__qualname__ = name
    loss.__doc__ = f"{said} of `labels` and `predictions`, which have one shape and become float32."
    return loss


def _floats(value: Any, name: str) -> Tensor:
    if value is None:
        raise ValueError(f"{name} must not be None.")
    return cast(value, "float32")


def _op(name: str, *inputs: Any) -> Tensor:
    return apply(name, [convert_to_tensor(one) for one in inputs], {}).outputs[0]


def _log(labels: Tensor, found: Tensor, epsilon: float) -> Tensor:
    return -(labels * _op("Log", found + epsilon)) - (1 - labels) * _op("Log", 1 - found + epsilon)


def _huber(labels: Tensor, found: Tensor, delta: float) -> Tensor:
    error = _op("Abs", found - labels)
    near = _op("Minimum", error, float(delta))
    return 0.5 * (near * near) + delta * (error - near)


mean_squared_error = _pairwise(
    "mean_squared_error",
    lambda labels, found: _op("SquaredDifference", found, labels),
    "The squares of the differences",
)
absolute_difference = _pairwise(
    "absolute_difference", lambda labels, found: _op("Abs", found - labels), "How large the differences are"
)
_hinge = _pairwise("hinge_loss", lambda labels, found: _op("Relu", 1 - (2 * labels - 1) * found))


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """Cross entropy of the probabilities `labels` with `predictions`, to which `epsilon` is added in logarithms."""
    loss = _pairwise("log_loss", partial(_log, epsilon=epsilon))
    return loss(labels, predictions, weights, scope, loss_collection, reduction)


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """Half the square of a difference of `labels` and `predictions` up to `delta`, and a straight line beyond."""
    loss = _pairwise("huber_loss", partial(_huber, delta=delta))
    return loss(labels, predictions, weights, scope, loss_collection, reduction)


def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """How far the scores `logits` are within the margin around 0, on the side of their `labels`, which are 0 and 1."""
    return _hinge(labels, logits, weights, scope, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """Cross entropy of the probabilities `multi_class_labels` with sigmoid(`logits`), which have the same shape."""
    with get_default_graph().name_scope(scope or "sigmoid_cross_entropy_loss") as inner:
        scores = convert_to_tensor(logits)
        labels = cast(multi_class_labels, scores.dtype)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = cross_entropy.sigmoid_cross_entropy_with_logits(labels=labels, logits=scores, name="xentropy")
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """Cross entropy of the distributions `onehot_labels`, through which no gradient goes, with softmax(`logits`).

    Both are [batch, classes].
    """
    with get_default_graph().name_scope(scope or "softmax_cross_entropy_loss") as inner:
        scores = convert_to_tensor(logits)
        labels = cast(onehot_labels, scores.dtype)
        if label_smoothing > 0:
            classes = cast(arrays.shape(labels)[-1], scores.dtype)
            labels = labels * (1 - label_smoothing) + label_smoothing / classes
        labels = output_of("StopGradient", labels, name="labels_stop_gradient")
        losses = cross_entropy.softmax_cross_entropy_with_logits_v2(labels=labels, logits=scores, name="xentropy")
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """Cross entropy of classes by their numbers, `labels`, with softmax(`logits`).

    Of logits [..., classes] the labels are integers [...] or [..., 1].
    """
    with get_default_graph().name_scope(scope or "sparse_softmax_cross_entropy_loss") as inner:
        scores, numbers = convert_to_tensor(logits), convert_to_tensor(labels)
        if scores.shape.rank is not None and scores.shape.rank == numbers.shape.rank:
            numbers = output_of("Squeeze", numbers, squeeze_dims=[-1])
        losses = cross_entropy.sparse_softmax_cross_entropy_with_logits(labels=numbers, logits=scores, name="xentropy")
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_WEIGHTS,
    dim: int | None = None,
) -> Tensor:
    """1 less the product of `labels` and `predictions`, unit vectors along `axis`, whose older name is `dim`.

    Raises:
        ValueError: the axis is not given.
    """
    along = one_of(axis, dim, ("axis", "dim"))
    if along is None:
        raise ValueError("You must specify argument `axis`.")
    with get_default_graph().name_scope(scope or "cosine_distance_loss") as inner:
        wanted, found = _same(labels, predictions)
        losses = 1 - _sum(found * wanted, [along], keepdims=True)
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """The squares of how differences of two elements of `labels` differ from those of `predictions`, their mean.

    Both are [batch, ...]: elements of one example make pairs; examples are summed, by weights of [batch] or alike.
    """
    with get_default_graph().name_scope(scope or "mean_pairwise_squared_error"):
        wanted, found = _same(labels, predictions)
        apart, by = found - wanted, cast(weights, "float32")
        axes = list(range(1, apart.shape.rank or 0))
        present = _sum(_has_weight(by) * arrays.ones_like(apart), axes, keepdims=True)
        squares = _sum(_op("Square", apart), axes, keepdims=True)
        square = _op("Square", _sum(apart, axes, keepdims=True))
        first = 2.0 * _over(squares, _op("Maximum", present - 1, 0.0))
        second = 2.0 * _over(square, _op("Maximum", present * (present - 1), 0.0))
        total = _sum((first - second) * by)
        loss = _op("SelectV2", _sum(present) > 0.0, total, arrays.zeros_like(total))
        add_loss(loss, loss_collection)
        return loss


def _same(labels: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    wanted, found = _floats(labels, "labels"), _floats(predictions, "predictions")
    found.shape.assert_is_compatible_with(wanted.shape)
    return wanted, found


def _has_weight(by: Tensor) -> Tensor:
    return cast(_op("NotEqual", by, 0.0), "float32")
