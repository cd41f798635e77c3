"""`tf.train.ExponentialMovingAverage`: what variables were of late, kept in variables beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.tensor import Operation, Tensor
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops.arrays import zeros
from xlabench.tensorflow.ops.control import group
from xlabench.tensorflow.ops.control_flow import cond
from xlabench.tensorflow.ops.math import cast

_FLOATS = ("bfloat16", "float16", "float32", "float64")


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """The variables of which averages are kept."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


class ExponentialMovingAverage:
    """Averages in which each step weighs `decay` times what the next one does."""

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        """Keep nothing yet.

        Args:
            decay: the weight of what was before.
            num_updates: how many steps were taken; with it the weight is at most (1 + steps) / (10 + steps).
            zero_debias: whether averages of tensors, which begin with 0, are divided by the weight that was given so
                far.
            name: of the averages.
        """
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Variable] = {}
        self._counted: dict[Variable, tuple[Variable, Variable]] = {}

    @property
    def name(self) -> str:
        """The name of the averages."""
        return self._name

    def apply(self, var_list: Sequence[Any] | None = None) -> Operation:
        """The operation that adds what variables and tensors are to their averages, which are made here.

        Args:
            var_list: variables and tensors, None for all variables that are trained.

        Raises:
            TypeError: one is not of floating-point numbers.
        """
        graph = get_default_graph()
        listed = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES) if var_list is None else list(var_list)
        for one in listed:
            if one.dtype.base_dtype.name not in _FLOATS:
                raise TypeError(f"The variables must be half, float, or double: {one.name}")
            if one not in self._averages:
                with graph.control_dependencies(None), graph.name_scope(None):
                    self._averages[one] = self._made(one)
        with graph.name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, "float32", "decay")
            if self._num_updates is not None:
                steps = cast(self._num_updates, "float32", "num_updates")
                decay = output_of("Minimum", decay, (1.0 + steps) / (10.0 + steps))
            return group(*(self._moved(self._averages[one], one, decay) for one in listed), name=scope)

    def average(self, var: Any) -> Variable | None:
        """The variable that has the average of a variable or tensor, None where none is kept."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """The name of the variable that has, or will have, the average of a variable or tensor."""
        kept = self._averages.get(var)
        return f"{var.op.name}/{self._name}" if kept is None else kept.op.name

    def variables_to_restore(self, moving_avg_variables: Iterable[Any] | None = None) -> dict[str, Variable]:
        """For a `Saver` that reads averages in the variables' stead: names in a checkpoint, and who takes them.

        Args:
            moving_avg_variables: those that take their averages; None for those that are trained, or were averaged.
        """
        graph = get_default_graph()
        if moving_avg_variables is None:
            moving_avg_variables = [*graph.get_collection(GraphKeys.TRAINABLE_VARIABLES), *moving_average_variables()]
        found = {self.average_name(one): one for one in moving_avg_variables}
        names = {one.name for one in found.values()}
        for one in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
            if one.name not in names and one.op.name not in found:
                found[one.op.name] = one
        return found

    def _made(self, of: Any) -> Variable:
        """The variable for the average of a variable, which begins as that is, or of a tensor, which begins with 0."""
        name = f"{of.op.name}/{self._name}"
        if isinstance(of, Variable):
            first = cond(of.is_initialized(), of.read_value, lambda: of.initial_value)
            first.set_shape(of.shape)
            get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, of)
            return of.slot(first, name)
        kept = Variable(lambda: zeros(of.shape, of.dtype), trainable=False, name=name)
        if self._zero_debias:
            biased = Variable(lambda: zeros(of.shape, of.dtype), trainable=False, name=f"{kept.op.name}/biased")
            self._counted[kept] = (
                biased,
                Variable(lambda: zeros([], of.dtype), trainable=False, name=f"{kept.op.name}/local_step"),
            )
        return kept

    def _moved(self, kept: Variable, of: Any, decay: Tensor) -> Operation:
        with get_default_graph().name_scope("AssignMovingAvg") as scope:
            weight = cast(1.0 - decay, kept.dtype)
            value = convert_to_tensor(of)
            if kept not in self._counted:
                step = (kept.value() - value) * weight
                return apply(kept.writer("AssignSubVariableOp"), [kept.handle, step], {}, scope)
            biased, count = self._counted[kept]
            total = biased.assign_sub((biased.value() - value) * weight)
            given = 1.0 - (1.0 - weight) ** count.assign_add(1.0)
            done: Operation = kept.assign(total / given, name=scope, read_value=False)
            return done
