"""`tf.contrib.seq2seq.sequence_loss`, and its older form: how far a model is off along sequences.

Both divide by the sum of the weights and a little, which the documents' recurrent models rely on where padding has
weight 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops import arrays, cross_entropy
from xlabench.tensorflow.ops.math import REDUCTIONS, add_n

Loss = Callable[..., Tensor]
_LITTLE = 1e-12
_sum = REDUCTIONS["reduce_sum"]


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Loss | None = None,
    name: str | None = None,
) -> Tensor:
    """Cross entropy of classes by their numbers, weighted and averaged as asked.

    Args:
        logits: [batch, time, classes].
        targets: the numbers of the classes, [batch, time].
        weights: what the losses are multiplied by, [batch, time].
        average_across_timesteps: whether the result has no dimension for time.
        average_across_batch: whether it has none for the batch.
        softmax_loss_function: a function of `labels` and `logits` that is used instead; None for
            `tf.nn.sparse_softmax_cross_entropy_with_logits`.
        name: of the scope of the nodes, None for that of the function.

    Raises:
        ValueError: a rank is another.
    """
    scores, wanted, by = (convert_to_tensor(one) for one in (logits, targets, weights))
    if (scores.shape.rank, wanted.shape.rank, by.shape.rank) != (3, 2, 2):
        raise ValueError("Logits must be a [batch_size x sequence_length x logits] tensor, targets and weights without")
    with get_default_graph().name_scope(name or "sequence_loss"):
        rows = _reshaped(scores, [-1, arrays.shape(scores)[2]])
        losses = _of_each(rows, _reshaped(wanted, [-1]), softmax_loss_function) * _reshaped(by, [-1])
        if average_across_timesteps and average_across_batch:
            return _sum(losses) / (_sum(by) + _LITTLE)
        found = _reshaped(losses, arrays.shape(scores)[:2])
        for is_asked, axis in ((average_across_timesteps, 1), (average_across_batch, 0)):
            if is_asked:
                found = _sum(found, axis) / (_sum(by, axis) + _LITTLE)
        return found


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Loss | None = None,
    name: str | None = None,
) -> Tensor:
    """The same of lists with an element for each time: the loss of each example, [batch].

    `logits` are lists of [batch, classes], `targets` and `weights` of [batch]. With `average_across_timesteps` losses
    are divided by the sum of their weights; `softmax_loss_function` and `name` are as of `sequence_loss`.
    """
    with get_default_graph().name_scope(name or "sequence_loss_by_example"):
        triples = zip(logits, targets, weights, strict=True)
        total = add_n([_of_each(rows, wanted, softmax_loss_function) * by for rows, wanted, by in triples])
        return total / (add_n(list(weights)) + _LITTLE) if average_across_timesteps else total


def _of_each(rows: Any, wanted: Any, loss: Loss | None) -> Tensor:
    numbers = _reshaped(wanted, [-1])
    return (loss or cross_entropy.sparse_softmax_cross_entropy_with_logits)(labels=numbers, logits=rows)


def _reshaped(value: Any, sizes: Any) -> Tensor:
    return output_of("Reshape", value, sizes)
