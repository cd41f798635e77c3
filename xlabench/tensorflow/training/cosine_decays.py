"""Learning rates that fall along a cosine and begin again, or fall along a line besides.

Args:
    learning_rate: the rate at step 0, a floating-point scalar.
    global_step: how many steps have been taken, a number or a variable.
    decay_steps: in how many steps it falls.
    num_periods: how many waves the cosine has in these.
    alpha: what the rate never falls below, as a share of the first.
    beta: what is added to that share.
    name: of the scope of the nodes, None for one of the function.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.control_flow import cond
from xlabench.tensorflow.ops.random import random_normal
from xlabench.tensorflow.training.decays import like


def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """A learning rate that falls along half a wave of the cosine, and then again from its start.

    The first fall takes `first_decay_steps`, each other `t_mul` times as many as the one before, and begins at `m_mul`
    times the rate.
    """
    with get_default_graph().name_scope(name or "SGDRDecay") as scope:
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        longer, less, least = (like(one, rate) for one in (t_mul, m_mul, alpha))
        done = like(global_step, rate) / like(first_decay_steps, rate)
        one = like(1.0, rate)

        def even() -> list[Tensor]:
            begun = output_of("Floor", done)
            return [begun, done - begun]

        def longer_each_time() -> list[Tensor]:
            begun = output_of("Floor", output_of("Log", one - done * (one - longer)) / output_of("Log", longer))
            before = (one - longer**begun) / (one - longer)
            return [begun, (done - before) / longer**begun]

        begun, share = cond(output_of("Equal", longer, one), even, longer_each_time)
        wave = 0.5 * less**begun * (1.0 + output_of("Cos", like(math.pi, rate) * share))
        return output_of("Mul", rate, (1.0 - least) * wave + least, name=scope)


def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """A learning rate that falls along a line, times a cosine."""
    with get_default_graph().name_scope(name or "LinearCosineDecay") as scope:
        fall = _fall(learning_rate, global_step, decay_steps)
        return _waved(fall, fall.line, (num_periods, alpha, beta), scope)


def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """A learning rate that falls along a line with noise, times a cosine.

    The noise is normal, of `initial_variance` at step 0; it falls as 1 / (1 + step) ^ `variance_decay`.
    """
    with get_default_graph().name_scope(name or "NoisyLinearCosineDecay") as scope:
        fall = _fall(learning_rate, global_step, decay_steps)
        spread = like(initial_variance, fall.rate) / (1.0 + fall.step) ** like(variance_decay, fall.rate)
        noise = random_normal(fall.line.shape, stddev=output_of("Sqrt", spread), dtype=fall.rate.dtype)
        return _waved(fall, fall.line + noise, (num_periods, alpha, beta), scope)


class _Fall(NamedTuple):
    """The first rate, the step up to the last, the share that it is of all, and what is left of a line."""

    rate: Tensor
    step: Tensor
    share: Tensor
    line: Tensor


def _fall(learning_rate: Any, global_step: Any, decay_steps: Any) -> _Fall:
    rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
    steps = like(decay_steps, rate)
    step = output_of("Minimum", like(global_step, rate), steps)
    return _Fall(rate, step, step / steps, (steps - step) / steps)


def _waved(fall: _Fall, line: Tensor, numbers: tuple[Any, Any, Any], scope: str) -> Tensor:
    """The rate along a line times a cosine, by the number of its periods, alpha and beta."""
    periods, alpha, beta = (like(one, fall.rate) for one in numbers)
    angle = like(math.pi, fall.rate) * (2.0 * periods * fall.share)
    wave = 0.5 * (1.0 + output_of("Cos", angle))
    return output_of("Mul", fall.rate, (alpha + line) * wave + beta, name=scope)
