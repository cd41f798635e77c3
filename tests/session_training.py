"""More expressions of the namespace, of what models are trained and judged by; types and values must be the same.

They are recorded and read as those of `session_api.py` are.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import xlabench.tensorflow as tf

_LABELS = np.array([1, 0, 1, 1, 0, 0, 1, 0])
_CHANCES = np.array([0.9, 0.3, 0.2, 0.7, 0.0, 1.0, 0.6, 0.55], np.float32)
_SCORES = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.9, 0.2], [0.1, 0.2, 0.3, 0.4]], np.float32)
_SETS = np.array([[0, 2], [1, 9], [3, -1]])
_WEIGHTS = np.array([1.0, 0.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.0], np.float32)
_STEPS = (0, 1, 9, 10, 11, 25, 100)


def flat(*things: Any) -> list[Any]:
    """Tensors in a row, whatever they are in."""
    return [one for thing in things for one in (flat(*thing) if isinstance(thing, list | tuple) else [thing])]


def counted(*metrics: Any) -> list[Any]:
    """What metrics give when they have counted a batch."""
    return [update for _, update in metrics]


def chances() -> tuple[Any, Any]:
    """What is right, and how likely it was found."""
    return tf.constant(_LABELS), tf.constant(_CHANCES)


def rates(make: Callable[[Any], Any]) -> list[Any]:
    """A rate at some steps."""
    return [make(tf.constant(step, tf.int64)) for step in _STEPS]


def thresholds(name: str) -> Callable[..., Any]:
    """A metric at thresholds."""
    return lambda **_: counted(
        getattr(tf.metrics, name)(*chances(), [0.2, 0.5, 0.9]),
        getattr(tf.metrics, name)(*chances(), [0.5], weights=_WEIGHTS),
    )


def first(name: str) -> Callable[..., Any]:
    """A metric of the first k."""
    return lambda **_: counted(
        getattr(tf.metrics, name)(_SETS, _SCORES, 2),
        getattr(tf.metrics, name)(np.array([0, 2, 3]), _SCORES, 3, weights=[1.0, 2.0, 0.5]),
    )


METRICS = {
    "auc": lambda **_: counted(
        tf.metrics.auc(*chances()),
        tf.metrics.auc(*chances(), curve="PR", num_thresholds=20),
        tf.metrics.auc(*chances(), curve="PR", summation_method="careful_interpolation"),
        tf.metrics.auc(*chances(), summation_method="minoring", thresholds=[0.5, 0.2]),
        tf.metrics.auc(*chances(), _WEIGHTS, summation_method="majoring"),
    ),
    **{
        f"{name}_at_thresholds": thresholds(f"{name}_at_thresholds")
        for name in (
            *("precision", "recall", "true_positives", "false_positives", "true_negatives", "false_negatives"),
        )
    },
    "sensitivity_at_specificity": lambda **_: counted(
        tf.metrics.sensitivity_at_specificity(*chances(), 0.7), tf.metrics.specificity_at_sensitivity(*chances(), 0.7)
    ),
    **{name: first(name) for name in ("precision_at_k", "recall_at_k", "average_precision_at_k")},
    "recall_at_k of a class": lambda **_: counted(
        tf.metrics.recall_at_k(np.array([0, 2, 3]), _SCORES, 2, class_id=2),
        tf.metrics.precision_at_top_k(
            tf.constant([[0], [2]], tf.int64), tf.constant([[0, 1], [1, 2]], tf.int64), class_id=2
        ),
        tf.metrics.recall_at_top_k(tf.constant([[0], [2]], tf.int64), tf.constant([[0, 1], [1, 2]], tf.int64)),
    ),
    "mean_iou": lambda **_: counted(
        tf.metrics.mean_iou(tf.constant(_LABELS), tf.constant([0, 1, 1, 1, 0, 2, 1, 0]), 4),
        tf.metrics.mean_iou(
            tf.constant([[0, 1], [2, 1]]), tf.constant([[0, 2], [2, 1]]), 4, tf.constant([[1.0, 0.5]] * 2)
        ),
    ),
    "mean_per_class_accuracy": lambda **_: counted(
        tf.metrics.mean_per_class_accuracy(tf.constant(_LABELS), tf.constant([0, 1, 1, 1, 0, 2, 1, 0]), 3)
    ),
    "means": lambda **_: counted(
        tf.metrics.percentage_below(_CHANCES, 0.5, _WEIGHTS),
        tf.metrics.mean_cosine_distance(_CHANCES, _WEIGHTS, 0),
        tf.metrics.mean_relative_error(_CHANCES, _WEIGHTS, _CHANCES),
        tf.metrics.mean_tensor([[1.0, 2.0], [3.0, 4.0]], [[1.0], [0.0]]),
    ),
    "metrics of columns": lambda **_: counted(
        *(
            getattr(tf.metrics, name)(np.array([[1], [0], [1]]), np.array([1, 1, 0]))
            for name in ("accuracy", "precision", "recall", "true_positives", "false_negatives")
        ),
        tf.metrics.mean_squared_error(
            np.array([1.0, 0.0, 1.0]), np.array([[1.0], [1.0], [0.5]]), np.array([1.0, 2.0, 3.0])
        ),
        tf.metrics.mean_absolute_error(np.array([[1.0], [0.0]]), np.array([[0.5], [1.0]]), np.array([1.0, 2.0])),
    ),
}
LOSSES = {
    "cosine_distance": lambda a, b, **_: [
        tf.losses.cosine_distance(a, b, 1),
        tf.losses.cosine_distance(a, b, dim=0, weights=[[1.0, 0.0, 2.0]], reduction="none"),
    ],
    "mean_pairwise_squared_error": lambda a, b, **_: [
        tf.losses.mean_pairwise_squared_error(a, b),
        tf.losses.mean_pairwise_squared_error(a, b, [[1.0], [0.0]]),
        tf.losses.mean_pairwise_squared_error(a, b, a),
        tf.losses.mean_pairwise_squared_error(a, b, 0.0),
        tf.losses.mean_pairwise_squared_error(a[:, :1], b[:, :1]),
        tf.losses.get_total_loss(),
    ],
}
RATES = {
    "cosine_decay_restarts": lambda **_: [
        *rates(lambda step: tf.train.cosine_decay_restarts(0.5, step, 10)),
        *rates(lambda step: tf.train.cosine_decay_restarts(0.5, step, 10, t_mul=1.0, m_mul=0.5, alpha=0.1)),
        *rates(lambda step: tf.train.cosine_decay_restarts(0.5, step, 10, 1.5, 0.9, 0.1)),
    ],
    "linear_cosine_decay": lambda **_: [
        *rates(lambda step: tf.train.linear_cosine_decay(0.5, step, 10)),
        *rates(lambda step: tf.train.linear_cosine_decay(0.5, step, 10, 2.0, 0.1, 0.01)),
    ],
    "noisy_linear_cosine_decay": lambda **_: rates(
        lambda step: tf.train.noisy_linear_cosine_decay(0.5, step, 10, initial_variance=1e-14)
    ),
}
FIRST_VALUES = {
    "initializers": lambda **_: [
        getattr(tf.initializers, name)(seed=3)([4, 5])
        for name in ("he_normal", "he_uniform", "lecun_normal", "lecun_uniform", "orthogonal", "uniform_unit_scaling")
    ],
    "initializers.orthogonal": lambda **_: [
        tf.initializers.orthogonal(2.0, seed=1)([3, 2, 4]),
        tf.initializers.orthogonal(seed=1)([2, 5]),
        tf.orthogonal_initializer(seed=2)((6, 3), tf.float64),
    ],
    "initializers.identity": lambda **_: [tf.initializers.identity(2.0)([3, 4]), tf.initializers.identity()([2, 2])],
    "stateless": lambda **_: [
        tf.random.stateless_uniform([5], [1, 2]),
        tf.random.stateless_uniform([5], [1, 2], 2.0, 5.0, tf.float64),
        tf.random.stateless_uniform([5], [3, 4], 0, 9, tf.int32),
        tf.random.stateless_normal([5], [1, 2], 1.0, 2.0),
        tf.random.stateless_truncated_normal([5], [7, 8]),
        tf.random.stateless_multinomial([[0.1, 0.2, 0.7]], 6, [1, 2]),
        tf.random.stateless_categorical([[0.1, 0.2, 0.7]], 6, [1, 2], tf.int32),
    ],
}


def _case(make: Callable[..., Any]) -> Callable[[Any, Any, Any, Any, Any], Any]:
    return lambda a, b, n, p, u: make(a=a, b=b, n=n, p=p, u=u)


TRAINING: Mapping[str, Callable[[Any, Any, Any, Any, Any], Any]] = {
    text: _case(make) for rows in (METRICS, LOSSES, RATES, FIRST_VALUES) for text, make in rows.items()
}
"""Expressions by what they show."""
