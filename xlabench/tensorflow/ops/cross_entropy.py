"""Cross entropies of classes with scores, the losses that networks which classify are trained by."""

from __future__ import annotations

from typing import Any

from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import batch_axis
from xlabench.tensorflow.ops.math import cast

_MATRIX = 2


def _named(_sentinel: Any, labels: Any, logits: Any, function: str) -> None:
    if _sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both `labels` and `logits` must be provided.")


def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Cross entropy of distributions with softmax(`logits`) along a dimension, which the result lacks.

    `labels` are distributions of the shape of `logits`; `axis` is the dimension of the classes (None: the last), and
    `dim` the older name for it. A gradient goes to both.
    """
    axis = batch_axis(axis, dim)
    return _cross_entropy(labels, logits, -1 if axis is None else axis, name or "softmax_cross_entropy_with_logits")


def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """Cross entropy of distributions, through which no gradient goes, with softmax(`logits`).

    `labels` are distributions of the shape of `logits`; `dim` is the dimension of the classes, and `axis` the newer
    name for it.
    """
    _named(_sentinel, labels, logits, "softmax_cross_entropy_with_logits")
    with get_default_graph().name_scope(name or "softmax_cross_entropy_with_logits_sg") as scope:
        stopped = apply("StopGradient", [labels], {}, "labels_stop_gradient").outputs[0]
        return _cross_entropy(stopped, logits, dim if axis is None else axis, scope)


def _cross_entropy(labels: Any, logits: Any, axis: int, name: str) -> Tensor:
    """Of matrices the op itself; others are matrices of their rows while it runs."""
    with get_default_graph().name_scope(name) as scope:
        scores = convert_to_tensor(logits, name="logits")
        scores = cast(scores, "float32") if scores.dtype.name in ("float16", "bfloat16") else scores
        wanted = convert_to_tensor(labels, name="labels")
        wanted = cast(wanted, scores.dtype)
        rank = scores.shape.rank
        if rank is not None and axis not in (-1, rank - 1):
            order = [*(n for n in range(rank) if n != axis % rank), axis % rank]
            scores, wanted = (apply("Transpose", [one, order], {}).outputs[0] for one in (scores, wanted))
        if rank in (None, _MATRIX):  # of a rank that is not known the kernel says what is wrong
            return apply("SoftmaxCrossEntropyWithLogits", [scores, wanted], {}, scope).outputs[0]
        outer = apply("Shape", [scores], {}).outputs[0][:-1]
        classes = scores.shape[rank - 1].value
        rows = [-1, classes] if classes is not None else None
        if rows is None:
            raise ValueError(f"{scope.rstrip('/')}: the number of classes must be known")
        flat = [apply("Reshape", [one, rows], {}).outputs[0] for one in (scores, wanted)]
        cost = apply("SoftmaxCrossEntropyWithLogits", flat, {}).outputs[0]
        return apply("Reshape", [cost, outer], {}, scope).outputs[0]


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Cross entropy of the classes of which `labels`, integers, are the numbers with softmax(`logits`).

    `logits` are [..., classes], and `labels` and the result are without that last dimension.

    Raises:
        ValueError: labels or logits are missing, or of ranks that do not go together.
    """
    _named(_sentinel, labels, logits, "sparse_softmax_cross_entropy_with_logits")
    op = "SparseSoftmaxCrossEntropyWithLogits"
    with get_default_graph().name_scope(name or op):
        scores, numbers = convert_to_tensor(logits), convert_to_tensor(labels)
        if (
            scores.shape.rank is not None
            and numbers.shape.rank is not None
            and scores.shape.rank != numbers.shape.rank + 1
        ):
            raise ValueError(
                f"`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape={numbers.shape} of "
                f"rank {numbers.shape.rank} and logits.shape={scores.shape} of rank {scores.shape.rank}"
            )
        if scores.shape.rank == _MATRIX or scores.shape.rank is None:
            return apply(op, [scores, numbers], {}, op).outputs[0]
        flat = apply("Reshape", [scores, [-1, int(scores.shape[-1])]], {}).outputs[0]
        cost = apply(op, [flat, apply("Reshape", [numbers, [-1]], {}).outputs[0]], {}, op).outputs[0]
        return apply("Reshape", [cost, apply("Shape", [numbers], {}).outputs[0]], {}).outputs[0]


def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Cross entropy of probabilities with sigmoid(logits), without overflow: max(x, 0) - x z + log(1 + exp(-|x|)).

    x are the `logits`, z the `labels`, probabilities of the same shape, which is that of the result too.
    """
    _named(_sentinel, labels, logits, "sigmoid_cross_entropy_with_logits")
    with get_default_graph().name_scope(name or "logistic_loss") as scope:
        x, z = convert_to_tensor(logits, name="logits"), convert_to_tensor(labels, name="labels")
        zeros = apply("ZerosLike", [x], {}).outputs[0]
        is_positive = apply("GreaterEqual", [x, zeros], {}).outputs[0]
        positive = apply("Select", [is_positive, x, zeros], {}).outputs[0]
        shrunk = apply("Select", [is_positive, -x, x], {}).outputs[0]
        tail = apply("Log1p", [apply("Exp", [shrunk], {}).outputs[0]], {}).outputs[0]
        return apply("AddV2", [positive - x * z, tail], {}, scope).outputs[0]
