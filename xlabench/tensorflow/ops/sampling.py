"""Losses of many classes by few: the true ones, and some that are drawn to stand for all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from compiler.tf import AttributeList
from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.math import REDUCTIONS, cast
from xlabench.tensorflow.ops.nn import embedding_lookup
from xlabench.tensorflow.ops.random import seeds

Sampled = tuple[Tensor, Tensor, Tensor]
"""Classes that were drawn, how often the true ones are expected among them, and how often they themselves are."""


def _sampled(op: str, true_classes: Any, attributes: dict[str, Any], seed: int | None, name: str | None) -> Sampled:
    given = convert_to_tensor(true_classes, "int64")
    made = apply(op, [given], {**attributes, **seeds(get_default_graph(), seed)}, name)
    drawn, of_true, of_drawn = made.outputs
    return drawn, of_true, of_drawn


def _by_number(word: str, op: str, said: str) -> Callable[..., Sampled]:
    """A sampler of classes by nothing but their numbers."""

    def sampler(
        true_classes: Any,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int | None = None,
        name: str | None = None,
    ) -> Sampled:
        attributes = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique, "range_max": range_max}
        return _sampled(op, true_classes, attributes, seed, name)

    sampler.__name__ = sampler.__qualname__ = word
    sampler.__doc__ = f"""{said}

    Args:
        true_classes: integers [rows, num_true].
        num_true: how many there are in a row.
        num_sampled: how many are drawn.
        unique: whether all that are drawn are different.
        range_max: how many classes there are.
        seed: of the op.
        name: of the node.
    """
    return sampler


uniform_candidate_sampler = _by_number(
    "uniform_candidate_sampler", "UniformCandidateSampler", "Classes below `range_max`, each as likely as any."
)
log_uniform_candidate_sampler = _by_number(
    "log_uniform_candidate_sampler",
    "LogUniformCandidateSampler",
    "Classes below `range_max`, the more likely the less their numbers are, as of words in the order of their counts.",
)


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Sampled:
    """Classes below `range_max`, as likely as `unigrams` say, each to the power of `distortion`.

    Args:
        true_classes: integers [rows, num_true].
        num_true: how many there are in a row.
        num_sampled: how many are drawn.
        unique: whether all that are drawn are different.
        range_max: how many classes there are.
        vocab_file: must be empty: weights of files are refused when it runs.
        distortion: the power to which each weight is raised.
        num_reserved_ids: how many of the first classes are never drawn.
        num_shards: must be 1.
        shard: must be 0.
        unigrams: a weight for each class that is not reserved.
        seed: of the op.
        name: of the node.
    """
    attributes: dict[str, Any] = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique}
    attributes |= {
        "range_max": range_max,
        "vocab_file": vocab_file,
        "distortion": distortion,
        "num_reserved_ids": num_reserved_ids,
    }
    attributes |= {"num_shards": num_shards, "shard": shard, "unigrams": AttributeList("f", tuple(unigrams))}
    return _sampled("FixedUnigramCandidateSampler", true_classes, attributes, seed, name)


def compute_accidental_hits(
    true_classes: Any, sampled_candidates: Any, num_true: int, seed: int | None = None, name: str | None = None
) -> Sampled:
    """Where what was drawn is a true class: rows, positions among what was drawn, and the least number for each.

    Args:
        true_classes: integers [rows, num_true].
        sampled_candidates: what was drawn.
        num_true: how many there are in a row.
        seed: of the op.
        name: of the node.
    """
    given = [convert_to_tensor(one, "int64") for one in (true_classes, sampled_candidates)]
    attributes = {"num_true": num_true, **seeds(get_default_graph(), seed)}
    rows, positions, weights = apply("ComputeAccidentalHits", given, attributes, name).outputs
    return rows, positions, weights


class _Layer(NamedTuple):
    """The last layer of a model, what it is given, and how many classes are drawn, there are, and are true in a row."""

    weights: Any
    biases: Any
    labels: Any
    inputs: Any
    num_sampled: int
    num_classes: int
    num_true: int


def _logits(layer: _Layer, values: Sampled | None, seed: int | None, *, without_hits: bool) -> tuple[Tensor, Tensor]:
    """Logits and labels [rows, true and drawn classes].

    Args:
        layer: whose logits they are.
        values: what a sampler gave; None draws.
        seed: by which it is drawn.
        without_hits: whether what was drawn and is true counts as true alone.
    """
    num_true = layer.num_true
    labels, inputs = cast(layer.labels, "int64"), convert_to_tensor(layer.inputs)
    drawn, *expected = values or log_uniform_candidate_sampler(
        labels, num_true, layer.num_sampled, unique=True, range_max=layer.num_classes, seed=seed
    )
    flat = output_of("Reshape", labels, [-1])
    true_weights, weights = (embedding_lookup(layer.weights, one) for one in (flat, drawn))
    true_biases, biases = (embedding_lookup(layer.biases, one) for one in (flat, drawn))
    width = output_of("Shape", true_weights)[1]
    shape = output_of("Pack", [-1, num_true, width])
    by_row = output_of("Reshape", true_weights, shape)
    true = REDUCTIONS["reduce_sum"](output_of("ExpandDims", inputs, 1) * by_row, 2)
    true = true + output_of("Reshape", true_biases, [-1, num_true])
    others = output_of("MatMul", inputs, weights, transpose_b=True) + biases
    if without_hits:
        others = others + _hits(labels, drawn, num_true, others)
    true, others = (
        logits - cast(output_of("Log", output_of("StopGradient", one)), logits.dtype)
        for logits, one in zip((true, others), expected, strict=True)
    )
    is_true = output_of("OnesLike", true) / num_true
    joined = [output_of("ConcatV2", pair, 1) for pair in ([true, others], [is_true, output_of("ZerosLike", others)])]
    return joined[0], joined[1]


def _hits(labels: Tensor, drawn: Tensor, num_true: int, logits: Tensor) -> Tensor:
    """The least number where what was drawn is a true class, and else 0."""
    rows, positions, weights = compute_accidental_hits(labels, drawn, num_true)
    indices = output_of("Pack", [cast(rows, "int64"), positions], axis=1)
    sizes = output_of("Shape", logits, out_type="int64")
    default = convert_to_tensor(0.0, logits.dtype)
    given = [indices, sizes, cast(weights, logits.dtype), default]
    return apply("SparseToDense", given, {"validate_indices": False}).outputs[0]


def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sampled | None = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """The loss of telling true classes from such as are drawn (Gutmann and Hyvarinen, 2010), for each row.

    Args:
        weights: of the classes, [num_classes, width], one table.
        biases: of the classes, [num_classes].
        labels: the true classes, integers [rows, num_true].
        inputs: what they are told by, [rows, width].
        num_sampled: how many classes are drawn.
        num_classes: how many there are.
        num_true: how many are true in each row.
        sampled_values: what a sampler gave; None draws by `log_uniform_candidate_sampler`.
        remove_accidental_hits: whether what was drawn and is true counts as true alone.
        partition_strategy: changes nothing with one table.
        name: of the scope of the nodes.
    """
    with get_default_graph().name_scope(name):
        layer = _Layer(weights, biases, labels, inputs, num_sampled, num_classes, num_true)
        logits, targets = _logits(layer, sampled_values, None, without_hits=remove_accidental_hits)
        zero = output_of("ZerosLike", logits)
        small = output_of("Log1p", output_of("Exp", -output_of("Abs", logits)))
        losses = output_of("Maximum", logits, zero) - logits * targets + small
        return REDUCTIONS["reduce_sum"](losses, 1)


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sampled | None = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """The cross entropy of the true classes among such as are drawn, for each row.

    Args:
        weights: of the classes, [num_classes, width], one table.
        biases: of the classes, [num_classes].
        labels: the true classes, integers [rows, num_true].
        inputs: what they are told by, [rows, width].
        num_sampled: how many classes are drawn.
        num_classes: how many there are.
        num_true: how many are true in each row.
        sampled_values: what a sampler gave; None draws by `log_uniform_candidate_sampler`.
        remove_accidental_hits: whether what was drawn and is true counts as true alone.
        partition_strategy: changes nothing with one table.
        name: of the scope of the nodes.
        seed: that of the sampler.
    """
    with get_default_graph().name_scope(name):
        layer = _Layer(weights, biases, labels, inputs, num_sampled, num_classes, num_true)
        logits, targets = _logits(layer, sampled_values, seed, without_hits=remove_accidental_hits)
        stopped = output_of("StopGradient", targets)
        return output_of("SoftmaxCrossEntropyWithLogits", logits, stopped)
