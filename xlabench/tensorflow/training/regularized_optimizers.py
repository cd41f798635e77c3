"""Optimizers of `tf.train` that hold variables near 0, or choose the length of a step themselves.

They are rows as those of `optimizers.py` are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.indexed_slices import IndexedSlices
from xlabench.tensorflow.framework.tensor import Operation, Tensor
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops.arrays import gather
from xlabench.tensorflow.training.optimizers import Optimizer, Row
from xlabench.tensorflow.training.row_steps import each_once

_STRENGTHS = {"l1_regularization_strength": "l1_regularization_strength",
              "l2_regularization_strength": "l2_regularization_strength"}  # fmt: skip
_LEAST_RATE = 1e-36
"""The least learning rate that FTRL divides by (TensorFlow, training/ftrl.py)."""


class AdadeltaOptimizer(Optimizer):
    """Steps as long as those that were taken so far, over the root of the mean of squares of gradients."""

    ROW = Row(
        "ResourceApplyAdadelta",
        {"accum": 0.0, "accum_update": 0.0},
        ("learning_rate", "rho", "epsilon", "gradient"),
        {"learning_rate": "lr", "rho": "rho", "epsilon": "epsilon"},
        rows="ResourceSparseApplyAdadelta",
    )

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name, learning_rate=learning_rate, rho=rho, epsilon=epsilon)


class ProximalGradientDescentOptimizer(Optimizer):
    """Down the gradient, then towards 0."""

    ROW = Row(
        "ResourceApplyProximalGradientDescent",
        {},
        ("learning_rate", *_STRENGTHS, "gradient"),
        {"learning_rate": "learning_rate", **_STRENGTHS},
    )

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(
            use_locking,
            name,
            learning_rate=learning_rate,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
        )

    def _update_rows(
        self, gradient: IndexedSlices, variable: Variable, _slots: Sequence[Variable], numbers: Mapping[str, Tensor]
    ) -> Operation:
        gradient = each_once(gradient)
        rate, towards, shrink = (numbers[name] for name in ("learning_rate", *_STRENGTHS))
        moved = gather(variable.value(), gradient.indices) - rate * gradient.values
        length = output_of("Maximum", output_of("Abs", moved) - rate * towards, convert_to_tensor(0, moved.dtype))
        rows = output_of("Sign", moved) * length / (1.0 + shrink * rate)
        return apply(variable.writer("ResourceScatterUpdate"), [variable.handle, gradient.indices, rows], {})


class ProximalAdagradOptimizer(Optimizer):
    """Down the gradient over the root of the sum of its squares, then towards 0."""

    ROW = Row(
        "ResourceApplyProximalAdagrad",
        {"accumulator": "initial_accumulator_value"},
        ("learning_rate", *_STRENGTHS, "gradient"),
        {"learning_rate": "learning_rate", **_STRENGTHS},
        rows="ResourceSparseApplyProximalAdagrad",
    )

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(
            use_locking,
            name,
            learning_rate=learning_rate,
            initial_accumulator_value=initial_accumulator_value,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
        )


class AdagradDAOptimizer(Optimizer):
    """Where the sum of all gradients leads from 0."""

    ROW = Row(
        "ResourceApplyAdagradDA",
        {"gradient_accumulator": 0.0, "gradient_squared_accumulator": "initial_gradient_squared_accumulator_value"},
        ("gradient", "learning_rate", *_STRENGTHS, "global_step"),
        {"learning_rate": "learning_rate", **_STRENGTHS},
        rows="ResourceSparseApplyAdagradDA",
    )

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        value = initial_gradient_squared_accumulator_value
        if value <= 0.0:
            raise ValueError(f"initial_gradient_squared_accumulator_value must be positive: {value}")
        super().__init__(
            use_locking,
            name,
            learning_rate=learning_rate,
            initial_gradient_squared_accumulator_value=value,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
        )
        self._global_step = global_step

    def _numbers(self) -> dict[str, Tensor]:
        reached = convert_to_tensor(self._global_step)
        return {**super()._numbers(), "global_step": reached + convert_to_tensor(1, reached.dtype)}

    def _input(self, word: str, gradient: Any, variable: Variable, numbers: Mapping[str, Tensor]) -> Any:
        if word == "global_step":
            return output_of("Cast", numbers[word], DstT="int64")
        return super()._input(word, gradient, variable, numbers)


class FtrlOptimizer(Optimizer):
    """Where all gradients so far, and how far from 0 that is, would have led best."""

    ROW = Row(
        "ResourceApplyFtrl",
        {"accum": "initial_accumulator_value", "linear": 0.0},
        ("gradient", "learning_rate", "l1_regularization_strength", "adjusted_l2", "learning_rate_power"),
        {
            "learning_rate": "learning_rate",
            "l1_regularization_strength": "l1_regularization_strength",
            "l2_shrinkage_regularization_strength": "l2_shrinkage_regularization_strength",
            "learning_rate_power": "learning_rate_power",
        },
        rows="ResourceSparseApplyFtrl",
    )
    SHRINKING = replace(
        ROW,
        op="ResourceApplyFtrlV2",
        inputs=(*ROW.inputs[:-1], "l2_shrinkage_regularization_strength", ROW.inputs[-1]),
        rows="ResourceSparseApplyFtrlV2",
    )

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        least = {
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        for word, value in least.items():
            if value < 0.0:
                raise ValueError(f"{word} {value:f} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power:f} needs to be negative or zero")
        super().__init__(
            use_locking, name, learning_rate=learning_rate, learning_rate_power=learning_rate_power, **least
        )
        self._beta = beta
        self._slot_names = {"accum": accum_name, "linear": linear_name}
        if l2_shrinkage_regularization_strength:
            self._row = self.SHRINKING

    def _slot_name(self, slot: str) -> str:
        return self._slot_names[slot] or self._name

    def _numbers(self) -> dict[str, Tensor]:
        numbers = super()._numbers()
        shrink: Any = self._arguments["l2_regularization_strength"]
        if self._beta:
            shrink = shrink + self._beta / (2.0 * output_of("Maximum", numbers["learning_rate"], _LEAST_RATE))
        return {**numbers, "adjusted_l2": convert_to_tensor(shrink, name="adjusted_l2_regularization_strength")}
