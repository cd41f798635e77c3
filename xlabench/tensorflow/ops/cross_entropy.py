"""Cross entropies of classes with scores, the losses that networks which classify are trained by."""

from __future__ import annotations

import math
from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
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
        stopped = output_of("StopGradient", labels, name="labels_stop_gradient")
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
            scores, wanted = (output_of("Transpose", one, order) for one in (scores, wanted))
        if rank in (None, _MATRIX):  # of a rank that is not known the kernel says what is wrong
            return output_of("SoftmaxCrossEntropyWithLogits", scores, wanted, name=scope)
        outer = output_of("Shape", scores)[:-1]
        classes = scores.shape[rank - 1].value
        rows = [-1, classes] if classes is not None else None
        if rows is None:
            raise ValueError(f"{scope.rstrip('/')}: the number of classes must be known")
        flat = [output_of("Reshape", one, rows) for one in (scores, wanted)]
        cost = apply("SoftmaxCrossEntropyWithLogits", flat, {}).outputs[0]
        return output_of("Reshape", cost, outer, name=scope)


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
            return output_of(op, scores, numbers, name=op)
        flat = output_of("Reshape", scores, [-1, int(scores.shape[-1])])
        cost = output_of(op, flat, output_of("Reshape", numbers, [-1]), name=op)
        return output_of("Reshape", cost, output_of("Shape", numbers))


def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Cross entropy of probabilities with sigmoid(logits), without overflow: max(x, 0) - x z + log(1 + exp(-|x|)).

    x are the `logits`, z the `labels`, probabilities of the same shape, which is that of the result too.
    """
    _named(_sentinel, labels, logits, "sigmoid_cross_entropy_with_logits")
    with get_default_graph().name_scope(name or "logistic_loss") as scope:
        x, z = convert_to_tensor(logits, name="logits"), convert_to_tensor(labels, name="labels")
        zeros = output_of("ZerosLike", x)
        is_positive = output_of("GreaterEqual", x, zeros)
        positive = output_of("Select", is_positive, x, zeros)
        shrunk = output_of("Select", is_positive, -x, x)
        tail = output_of("Log1p", output_of("Exp", shrunk))
        return output_of("AddV2", positive - x * z, tail, name=scope)


def weighted_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, pos_weight: Any = None, name: str | None = None, targets: Any = None
) -> Tensor:
    """The cross entropy of `logits` with probabilities, those that something is there weighing more.

    Args:
        labels: probabilities.
        logits: logarithms of the odds that the model gives.
        pos_weight: how much more.
        name: of the scope of the nodes.
        targets: the older name of `labels`.

    Raises:
        ValueError: the shapes differ.
    """
    given = labels if targets is None else targets
    with get_default_graph().name_scope(name or "logistic_loss") as scope:
        x, z = convert_to_tensor(logits, name="logits"), convert_to_tensor(given, name="labels")
        if not z.shape.is_compatible_with(x.shape):
            raise ValueError(f"logits and targets must have the same shape ({x.shape} vs {z.shape})")
        weight = 1.0 + (pos_weight - 1.0) * z
        tail = _of("Log1p", _of("Exp", _of("Neg", _of("Abs", x)))) + _of("Relu", _of("Neg", x))
        return output_of("AddV2", (1.0 - z) * x, weight * tail, name=scope)


def log_poisson_loss(targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None) -> Tensor:
    """The negative logarithm of the probability of counts, but for what does not depend on the model.

    Args:
        targets: counts.
        log_input: logarithms of the rates that the model gives.
        compute_full_loss: whether that is there too, by Stirling's approximation.
        name: of the scope of the nodes.

    Raises:
        ValueError: the shapes differ.
    """
    with get_default_graph().name_scope(name or "log_poisson_loss"):
        x, z = convert_to_tensor(log_input, name="log_input"), convert_to_tensor(targets, name="targets")
        if not z.shape.is_compatible_with(x.shape):
            raise ValueError(f"log_input and targets must have the same shape ({x.shape} vs {z.shape})")
        loss = _of("Exp", x) - x * z
        if not compute_full_loss:
            return loss
        approximated = z * _of("Log", z) - z + 0.5 * _of("Log", 2.0 * math.pi * z)
        zeros, ones = _of("ZerosLike", z), _of("OnesLike", z)
        is_small = _of("LogicalAnd", z >= zeros, z <= ones)
        return loss + _of("Select", is_small, zeros, approximated)


def _of(op: str, *operands: Any) -> Tensor:
    return apply(op, list(operands), {}).outputs[0]
