"""What waits for what: groups, tuples, things that are made to run before others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.structures import flattened
from xlabench.tensorflow.framework.tensor import Operation, Tensor


def group(*inputs: Any, **options: Any) -> Operation:
    """An operation that is done when all of these are.

    Raises:
        ValueError: an option is none.
    """
    name = options.pop("name", None)
    if options:
        raise ValueError(f"Received unexpected keyword arguments: {options}")
    graph = get_default_graph()
    waits = [graph.as_operation(one) for one in flattened(inputs)]
    with graph.control_dependencies(waits):
        return graph.create("NoOp", [], {}, name or "group_deps")


def tuple_(tensors: Sequence[Any], name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """The `tensors` as they are, each there only when all are, and when `control_inputs` (None: nothing more) are done.

    Raises:
        ValueError: there are none.
    """
    graph = get_default_graph()
    there = [one for one in tensors if one is not None]
    if not there:
        raise ValueError("Must have at least one Tensor")
    with graph.name_scope(name or "tuple"):
        gate = group(*there, *flattened(control_inputs))
        with graph.control_dependencies([gate]):
            return [
                None if one is None else one if isinstance(one, Operation)
                else output_of("Identity", one, name="control_dependency")
                for one in tensors
            ]  # fmt: skip


def print_(
    input_: Any,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The tensor `input_`, at which the tensors `data` are printed when it is computed, behind the text `message`.

    That is done at the first `first_n` times (None: at all), of each tensor the first `summarize` elements (None: 3).
    """
    attributes = {
        "message": message or "",
        "first_n": -1 if first_n is None else first_n,
        "summarize": 3 if summarize is None else summarize,
    }
    printed = apply("Print", [input_, list(data)], attributes, name)
    return _same_shape(printed)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """The floating-point `tensor`; where it holds an infinity or NaN, the run fails and says `message`."""
    return _same_shape(apply("CheckNumerics", [tensor], {"message": message}, name))


def _same_shape(operation: Operation) -> Tensor:
    """The output of an operation that gives what it takes."""
    [output] = operation.outputs
    output.set_shape(operation.inputs[0].shape)
    return output


def assert_(condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None) -> Operation:
    """An operation that fails unless the boolean `condition` holds, and then says elements of the tensors `data`.

    Of each it says the first `summarize`, 3 where that is None.
    """
    return apply("Assert", [condition, list(data)], {"summarize": 3 if summarize is None else summarize}, name)


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """The operation that fills tables; programs have none here, so that it does nothing."""
    return group(name=name)
