"""Optimizers of `tf.train`: what each keeps for a variable, and the op that takes a step, as data.

A row says the op, its variables beside the one that is trained (slots, with the value that they begin with), and its
other inputs in order: numbers of the optimizer by their names, variables shared by all that are trained, the gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import constant, convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.indexed_slices import IndexedSlices
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.tensor import Operation, Tensor
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops import arrays
from xlabench.tensorflow.ops.control import group
from xlabench.tensorflow.training.gradients import any_gradient, gradients
from xlabench.tensorflow.training.row_steps import adams, scattered, sparsely_applied

_FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True, slots=True)
class Row:
    """An optimizer.

    Attributes:
        op: what takes a step.
        slots: its variables for each that is trained, with what they begin with, or the argument that says it.
        inputs: what the op takes after these, in order.
        numbers: arguments of the class, with their names as nodes.
        attributes: attributes of the op, by arguments of the class.
        rows: the op that takes a step of rows; empty where it is no op (`row_steps.py`).
    """

    op: str
    slots: Mapping[str, float | str]
    inputs: Sequence[str]
    numbers: Mapping[str, str]
    attributes: Mapping[str, str] = field(default_factory=dict)
    rows: str = ""


class Optimizer:
    """What all optimizers do."""

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2
    ROW: ClassVar[Row]

    def __init__(self, use_locking: bool, name: str, **arguments: Any) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._name = name
        self._use_locking = use_locking
        self._arguments = arguments
        self._row = self.ROW
        self._slots: dict[str, dict[Variable, Variable]] = {}
        self._shared: dict[str, Variable] = {}

    def get_name(self) -> str:
        """The name of its nodes."""
        return self._name

    def get_slot_names(self) -> list[str]:
        """What it keeps for each variable."""
        return sorted(self._slots)

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """What it keeps for a variable."""
        return self._slots.get(name, {}).get(var)

    def variables(self) -> list[Variable]:
        """All that it keeps."""
        kept = [one for row in self._slots.values() for one in row.values()]
        return sorted([*self._shared.values(), *kept], key=lambda one: one.name)

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:
        """The operation that takes a step down the gradient: `compute_gradients`, then `apply_gradients`.

        Args:
            loss: what is to become less: a tensor, or a function without arguments that gives it.
            global_step: a variable that the operation adds 1 to, or None.
            var_list: the variables that are trained, None for all that are trainable.
            gate_gradients: `GATE_NONE`, `GATE_OP` or `GATE_GRAPH`.
            aggregation_method: changes nothing.
            colocate_gradients_with_ops: changes nothing.
            name: of the operation, None for that of the optimizer.
            grad_loss: the gradient of the loss to begin with, None for 1.

        Raises:
            ValueError: there is no variable, or none that the loss depends on.
        """
        pairs = self.compute_gradients(
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
        )
        trained = [variable for gradient, variable in pairs if gradient is not None]
        if not trained:
            raise ValueError(_no_gradients([variable for _, variable in pairs], f" and loss {loss}"))
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Variable]]:
        """Gradients with the variables that they belong to; None where there is none.

        Args:
            loss: what is to become less: a tensor, or a function without arguments that gives it.
            var_list: the variables that are trained, None for all that are trainable.
            gate_gradients: with `GATE_OP` the gradients of an op's inputs are used only when all of them are there.
            aggregation_method: changes nothing.
            colocate_gradients_with_ops: changes nothing.
            grad_loss: the gradient of the loss to begin with, None for 1.

        Raises:
            ValueError: there is no variable.
            TypeError: something that is no variable is to be trained.
        """
        loss = loss() if callable(loss) else loss
        graph = get_default_graph()
        found = var_list if var_list is not None else graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        listed = [found] if isinstance(found, Variable) else list(found)
        if not listed:
            raise ValueError("No variables to optimize.")
        wrong = next((one for one in listed if not isinstance(one, Variable)), None)
        if wrong is not None:
            raise TypeError(f"Argument is not a variable: {wrong!r}")
        made = gradients(
            loss,
            listed,
            grad_loss,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
        )
        return list(zip(made, listed, strict=True))

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Operation:
        """The operation that takes a step with `grads_and_vars`, pairs of a gradient (or None) and its variable.

        It adds 1 to the variable `global_step`, unless that is None; its name is `name`, None for that of the
        optimizer.

        Raises:
            ValueError: there is none.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        if not any_gradient([gradient for gradient, _ in pairs]):
            raise ValueError(_no_gradients([variable for _, variable in pairs], ""))
        used = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        graph = get_default_graph()
        with graph.control_dependencies(None), graph.name_scope(None):
            self._keep([variable for _, variable in used])
        with graph.name_scope(name or self._name) as scope:
            numbers = self._numbers()
            updates = [self._update(gradient, variable, numbers) for gradient, variable in used]
            if global_step is None:
                done = self._finish(updates, numbers, scope)
            else:
                with graph.control_dependencies([self._finish(updates, numbers, "update")]):
                    one = constant(1, global_step.dtype)
                    done = apply(global_step.writer("AssignAddVariableOp"), [global_step.handle, one], {}, scope)
        if done not in graph.get_collection_ref(GraphKeys.TRAIN_OP):
            graph.add_to_collection(GraphKeys.TRAIN_OP, done)
        return done

    def _keep(self, variables: Sequence[Variable]) -> None:
        """Make what is kept, where it is not there yet."""
        for name, value in self._shared_values().items():
            if name not in self._shared:
                self._shared[name] = Variable(value, trainable=False, name=name)
        for variable in variables:
            for slot, begins in self._row.slots.items():
                row = self._slots.setdefault(slot, {})
                if variable not in row:
                    value = self._arguments[begins] if isinstance(begins, str) else begins
                    name = f"{variable.op.name}/{self._slot_name(slot)}"
                    row[variable] = variable.slot(_filled(variable, value), name)

    def _slot_name(self, slot: str) -> str:
        """What the variables of a slot are called, behind the name of the variable that they are kept for."""
        return self._name

    def _shared_values(self) -> Mapping[str, Any]:
        """Variables that all that are trained share, with what they begin with."""
        return {}

    def _numbers(self) -> dict[str, Tensor]:
        """The numbers as nodes."""
        found = {}
        for argument, word in self._row.numbers.items():
            value = self._arguments[argument]
            found[argument] = convert_to_tensor(value() if callable(value) else value, name=word)
        return found

    def _update(self, gradient: Any, variable: Variable, numbers: Mapping[str, Tensor]) -> Operation:
        """One variable's step."""
        row = self._row
        if gradient.dtype.base_dtype.name not in _FLOATS:
            raise ValueError(f"Invalid type {gradient.dtype!r} for {gradient.name}, expected: {', '.join(_FLOATS)}.")
        graph = get_default_graph()
        with graph.name_scope(f"update_{variable.op.name}"), graph.colocate_with(variable):
            slots = [self._slots[name][variable] for name in row.slots]
            given = [self._input(word, gradient, variable, numbers) for word in row.inputs]
            if isinstance(gradient, IndexedSlices) and not row.rows:
                return self._update_rows(gradient, variable, slots, dict(zip(row.inputs, given, strict=True)))
            attributes = {name: self._arguments[argument] for name, argument in row.attributes.items()}
            attributes = {"use_locking": self._use_locking, **attributes}
            taken = [variable.handle, *(one.handle for one in slots), *given]
            if isinstance(gradient, IndexedSlices):
                at = 1 + len(slots) + list(row.inputs).index("gradient")
                return sparsely_applied(variable.writer(row.rows), taken, gradient, at, attributes)
            return apply(variable.writer(row.op), taken, attributes)

    def _update_rows(
        self, gradient: IndexedSlices, variable: Variable, slots: Sequence[Variable], numbers: Mapping[str, Tensor]
    ) -> Operation:
        """One variable's step where that of rows is no op."""
        return adams(variable, slots, numbers, gradient)

    def _input(self, word: str, gradient: Any, variable: Variable, numbers: Mapping[str, Tensor]) -> Any:
        if word == "gradient":
            return gradient
        value: Any = self._shared.get(word, numbers.get(word))
        return output_of("Cast", value, DstT=variable.dtype) if value.dtype != variable.dtype else value

    def _finish(self, updates: Sequence[Operation], numbers: Mapping[str, Tensor], scope: str) -> Operation:
        return group(*updates, name=scope)


def _no_gradients(variables: Sequence[Variable], more: str) -> str:
    shown = ", ".join(map(repr, variables))
    return (
        "No gradients provided for any variable, check your graph for ops that do not support gradients, between "
        f"variables [{shown}]{more}."
    )


def _filled(variable: Variable, value: float) -> Any:
    """What a slot begins with: a function, so that its node stands in the scope of initializers."""
    if value in (0.0, 1.0):
        make = arrays.ones if value else arrays.zeros
        return lambda: make(variable.shape, variable.dtype)
    return lambda: constant(value, variable.dtype, variable.shape)


class GradientDescentOptimizer(Optimizer):
    """Down the gradient."""

    ROW = Row("ResourceApplyGradientDescent", {}, ("learning_rate", "gradient"), {"learning_rate": "learning_rate"})

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name, learning_rate=learning_rate)

    def _update_rows(
        self, gradient: IndexedSlices, variable: Variable, _slots: Sequence[Variable], numbers: Mapping[str, Tensor]
    ) -> Operation:
        return scattered(variable, numbers["learning_rate"], gradient)


class MomentumOptimizer(Optimizer):
    """Down the gradient, going on as before."""

    ROW = Row(
        "ResourceApplyMomentum",
        {"momentum": 0.0},
        ("learning_rate", "gradient", "momentum"),
        {"learning_rate": "learning_rate", "momentum": "momentum"},
        {"use_nesterov": "use_nesterov"},
        rows="ResourceSparseApplyMomentum",
    )

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name, learning_rate=learning_rate, momentum=momentum, use_nesterov=use_nesterov)


class AdamOptimizer(Optimizer):
    """Down the mean of gradients over the root of the mean of their squares."""

    ROW = Row(
        "ResourceApplyAdam",
        {"m": 0.0, "v": 0.0},
        ("beta1_power", "beta2_power", "learning_rate", "beta1", "beta2", "epsilon", "gradient"),
        {"learning_rate": "learning_rate", "beta1": "beta1", "beta2": "beta2", "epsilon": "epsilon"},
    )

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon)

    def _shared_values(self) -> Mapping[str, Any]:
        return {"beta1_power": self._arguments["beta1"], "beta2_power": self._arguments["beta2"]}

    def _finish(self, updates: Sequence[Operation], numbers: Mapping[str, Tensor], scope: str) -> Operation:
        with get_default_graph().control_dependencies(updates):
            powers = [
                self._shared[f"{beta}_power"].assign(self._shared[f"{beta}_power"] * numbers[beta], read_value=False)
                for beta in ("beta1", "beta2")
            ]
        return group(*updates, *powers, name=scope)


class RMSPropOptimizer(Optimizer):
    """Down the gradient over the root of the mean of its squares."""

    ROW = Row(
        "ResourceApplyRMSProp",
        {"rms": 1.0, "momentum": 0.0},
        ("learning_rate", "decay", "momentum", "epsilon", "gradient"),
        {"learning_rate": "learning_rate", "decay": "decay", "momentum": "momentum", "epsilon": "epsilon"},
        rows="ResourceSparseApplyRMSProp",
    )
    CENTERED = replace(
        ROW,
        op="ResourceApplyCenteredRMSProp",
        slots={"mg": 0.0, "rms": 1.0, "momentum": 0.0},
        rows="ResourceSparseApplyCenteredRMSProp",
    )

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(
            use_locking, name, learning_rate=learning_rate, decay=decay, momentum=momentum, epsilon=epsilon
        )
        if centered:
            self._row = self.CENTERED


class AdagradOptimizer(Optimizer):
    """Down the gradient over the root of the sum of its squares."""

    ROW = Row(
        "ResourceApplyAdagrad",
        {"accumulator": "initial_accumulator_value"},
        ("learning_rate", "gradient"),
        {"learning_rate": "learning_rate"},
        rows="ResourceSparseApplyAdagrad",
    )

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(
            use_locking, name, learning_rate=learning_rate, initial_accumulator_value=initial_accumulator_value
        )
