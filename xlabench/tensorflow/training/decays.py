"""Learning rates that follow from the number of steps that were taken.

Each is a formula of the rate at step 0 and of how far training is, in units of `decay_steps`.

Args:
    learning_rate: the rate at step 0, a floating-point scalar.
    global_step: how many steps have been taken, a number or a variable.
    decay_steps: in how many steps it falls as the others say.
    staircase: whether it falls all at once when these are over.
    name: of the scope of the nodes, None for one of the function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops import arrays
from xlabench.tensorflow.ops.math import cast


def like(value: Any, rate: Tensor) -> Tensor:
    """A value in the type of the rate."""
    return cast(convert_to_tensor(value), rate.dtype)


class _LastOp(NamedTuple):
    """The op that gives a rate, whose node has the name that the caller gives, and its operands."""

    op: str
    left: Any
    right: Any


def _decay(
    public: str, word: str, formula: Callable[[Tensor, Tensor, Tensor], _LastOp], said: str
) -> Callable[..., Tensor]:
    """A rate as a formula of the first rate, `decay_rate` and how far training is."""

    def decay(
        learning_rate: Any,
        global_step: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ) -> Tensor:
        with get_default_graph().name_scope(name or word) as scope:
            rate = convert_to_tensor(learning_rate, name="learning_rate")
            done = cast(global_step, rate.dtype) / like(decay_steps, rate)
            if staircase:
                done = output_of("Floor", done)
            last = formula(rate, convert_to_tensor(decay_rate, rate.dtype), done)
            return output_of(last.op, last.left, last.right, name=scope)

    decay.__name__ = decay.__qualname__ = public
    decay.__doc__ = said
    return decay


exponential_decay = _decay(
    "exponential_decay",
    "ExponentialDecay",
    lambda rate, factor, done: _LastOp("Mul", rate, output_of("Pow", factor, done)),
    "A learning rate that falls by the factor `decay_rate` in so many steps: rate * factor ^ (step / steps).",
)
natural_exp_decay = _decay(
    "natural_exp_decay",
    "NaturalExpDecay",
    lambda rate, factor, done: _LastOp("Mul", rate, output_of("Exp", output_of("Neg", factor * done))),
    "A learning rate that falls as e ^ (-decay_rate * step / steps).",
)
inverse_time_decay = _decay(
    "inverse_time_decay",
    "InverseTimeDecay",
    lambda rate, factor, done: _LastOp("RealDiv", rate, 1 + factor * done),
    "A learning rate that falls as 1 / (1 + decay_rate * step / steps).",
)


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """A learning rate that falls to another in so many steps: (rate - end) * (1 - step / steps) ^ power + end.

    Args:
        learning_rate: the rate at step 0, a floating-point scalar.
        global_step: how many steps have been taken, a number or a variable.
        decay_steps: in how many steps it falls.
        end_learning_rate: the rate then.
        power: how its fall bends; 1 is a line.
        cycle: whether it then begins again to fall, from where a fall of twice as many steps would be, and so on;
            else it stays.
        name: of the scope of the nodes, None for `PolynomialDecay`.
    """
    with get_default_graph().name_scope(name or "PolynomialDecay") as scope:
        rate = convert_to_tensor(learning_rate, name="learning_rate")
        end = convert_to_tensor(end_learning_rate, rate.dtype)
        step, steps = cast(global_step, rate.dtype), like(decay_steps, rate)
        if cycle:
            steps = steps * output_of("Maximum", output_of("Ceil", step / steps), like(1, rate))
        else:
            step = output_of("Minimum", step, steps)
        left = output_of("Pow", 1 - step / steps, convert_to_tensor(power, rate.dtype))
        return output_of("AddV2", (rate - end) * left, end, name=scope)


def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: float = 0.0, name: str | None = None
) -> Tensor:
    """A learning rate that falls along half a wave of the cosine, to `alpha` times what it is at step 0."""
    with get_default_graph().name_scope(name or "CosineDecay") as scope:
        rate = convert_to_tensor(learning_rate, name="learning_rate")
        steps = like(decay_steps, rate)
        done = output_of("Minimum", cast(global_step, rate.dtype), steps) / steps
        wave = 0.5 * (1.0 + output_of("Cos", math.pi * done))
        return output_of("Mul", rate, (1 - alpha) * wave + alpha, name=scope)


def piecewise_constant(x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None) -> Tensor:
    """A learning rate that changes at steps: `values[0]` up to `boundaries[0]`, and itself, and so on.

    Args:
        x: how many steps have been taken, a number or a variable.
        boundaries: the last step of each value but the last, in increasing order.
        values: the rates, one more than there are boundaries.
        name: of the scope of the nodes, None for `PiecewiseConstant`.

    Raises:
        ValueError: there are not one more values than boundaries.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError(
            f"The length of boundaries should be 1 less than the length of values: {len(boundaries)} and {len(values)}"
        )
    with get_default_graph().name_scope(name or "PiecewiseConstant") as scope:
        step = convert_to_tensor(x)
        rates = arrays.stack([convert_to_tensor(value) for value in values])
        if not boundaries:
            return output_of("Identity", rates[0], name=scope)
        passed = step > arrays.stack([cast(boundary, step.dtype) for boundary in boundaries])
        which = output_of("Sum", cast(passed, "int32"), convert_to_tensor([0]))
        return output_of("Identity", arrays.gather(rates, which), name=scope)
