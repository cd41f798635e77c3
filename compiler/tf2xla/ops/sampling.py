"""Classes that are drawn to stand for all others, as `tf.nn.nce_loss` and `tf.nn.sampled_softmax_loss` take them.

They are drawn until enough are different, which is why a host does it: for how long follows from the numbers.
"""

from __future__ import annotations

from compiler.graph import PartialShape
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Record, Trait, record, table, with_shapes
from compiler.tf2xla.terms import Built

_COUNTS = "num_true: int; num_sampled: int; unique: bool"
_SEEDS = "seed: int = 0; seed2: int = 0"


def _refused(operation: Operation) -> None:
    raise operation.unsupported("how many numbers are drawn follows from them: a host runs it, outside of clusters")


def _shapes(node: Built) -> list[PartialShape]:
    count: int = node.attribute("num_sampled")
    return [PartialShape((count,)), node.takes["true_classes"][0].shape, PartialShape((count,))]


def _sampler(name: str, attributes: str, doc: str) -> Record:
    text = (
        "true_classes: int64 -> sampled_candidates: int64, true_expected_count: float32, "
        f"sampled_expected_count: float32; {_COUNTS}; {attributes}; {_SEEDS}"
    )
    return with_shapes(record(name, text, _refused, doc, traits=Trait.HOST | Trait.STATEFUL), _shapes)


RECORDS = table(
    _sampler("UniformCandidateSampler", "range_max: int", "Classes, each as likely as any."),
    _sampler("LogUniformCandidateSampler", "range_max: int", "Classes, the more likely the less their numbers are."),
    _sampler(
        "FixedUnigramCandidateSampler",
        "range_max: int; vocab_file: string = ''; distortion: float = 1.0; num_reserved_ids: int = 0; "
        "num_shards: int = 1; shard: int = 0; unigrams: list(float) = []",
        "Classes, as likely as is said.",
    ),
    with_shapes(
        record(
            "ComputeAccidentalHits",
            "true_classes: int64, sampled_candidates: int64 -> indices: int32, ids: int64, weights: float32; "
            f"num_true: int; {_SEEDS}",
            _refused,
            "Where what was drawn is the true class.",
            traits=Trait.HOST,
        ),
        lambda _node: [PartialShape((None,))] * 3,
    ),
)
