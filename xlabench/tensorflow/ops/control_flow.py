"""`tf.cond`, `tf.case` and `tf.while_loop`, always as functions of the library: `If` and `While`.

Of a TensorArray they carry the flow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compiler.tf import FunctionReference
from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.branches import one_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.functions import Traced, all_captures, free_name
from xlabench.tensorflow.framework.graph import Graph, get_default_graph
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.framework.structures import flattened, packed
from xlabench.tensorflow.framework.tensor import Operation, Tensor
from xlabench.tensorflow.ops.tensor_array import like, tensor_of


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """What one of two functions gives, by a condition.

    Args:
        pred: the condition, a boolean scalar: a tensor, not a Python bool.
        true_fn: a function without arguments; what it gives counts where the condition holds.
        false_fn: the same where it does not; it gives as many tensors, of the same types.
        strict: whether a list of one tensor stays a list.
        name: of the node.
        fn1: the older name of `true_fn`.
        fn2: the older name of `false_fn`.

    Raises:
        TypeError: the condition is no tensor, or a function is none.
        ValueError: they give different things.
    """
    then, otherwise = true_fn or fn1, false_fn or fn2
    if not callable(then) or not callable(otherwise):
        raise TypeError("Both true_fn and false_fn must be callable")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    graph = get_default_graph()
    with graph.name_scope(name or "cond") as scope:
        condition = convert_to_tensor(pred, name="pred")
        sides = [_Side(one) for one in (then, otherwise)]
        branches = [Traced(one, [], graph) for one in sides]
        _check_same(*branches)
        results = one_of(graph, condition, branches, scope)
        made = [output_of("Identity", one) for one in results]
        if not made:
            return graph.get_operation_by_name(scope.rstrip("/"))
    found = sides[0].given(branches[0].packed(made))
    is_single = not strict and isinstance(found, list | tuple) and not hasattr(found, "_fields") and len(found) == 1
    return found[0] if is_single else found


class _Side:
    """One of two functions, which gives flows for TensorArrays."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._leaves: list[Any] = []

    def __call__(self) -> Any:
        """What it gives, as tensors."""
        structure = self._function()
        leaves = flattened(structure)
        self._leaves = [one for one in leaves if not isinstance(one, Operation)]
        return packed(structure, [tensor_of(one) for one in leaves])

    def given(self, structure: Any) -> Any:
        """What a branch has given, with TensorArrays in place of flows."""
        pairs = zip(self._leaves, flattened(structure), strict=True)
        return packed(structure, [like(leaf, one) for leaf, one in pairs])


def _check_same(first: Traced, second: Traced) -> None:
    types = [[one.dtype.base_dtype.name for one in branch.results] for branch in (first, second)]
    if len(types[0]) != len(types[1]):
        raise ValueError(
            f"true_fn and false_fn must return the same number of tensors, and give {len(types[0])} and {len(types[1])}"
        )
    if types[0] != types[1]:
        raise TypeError(
            f"true_fn and false_fn arguments to tf.cond must have the same types: {types[0]} and {types[1]}"
        )


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """What the function of the first condition that is true gives.

    Args:
        pred_fn_pairs: pairs of a boolean scalar and a function without arguments, or a mapping.
        default: the function that counts where no condition holds; None where one must.
        exclusive: whether a run ends with an error where more than one condition holds.
        strict: whether a list of one tensor stays a list.
        name: of the scope of the nodes.

    Raises:
        ValueError: there are no conditions.
        InvalidArgumentError: when it runs, no condition holds, and there is no default; or more than one holds, with
            `exclusive`.
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, Mapping) else list(pred_fn_pairs)
    if not pairs:
        raise ValueError("pred_fn_pairs must not be empty")
    graph = get_default_graph()
    with graph.name_scope(name), graph.control_dependencies([_at_most_one(pairs)] if exclusive else []):
        chosen = default if default is not None else _last(pairs)
        for condition, function in reversed(pairs if default is not None else pairs[:-1]):
            chosen = _either(condition, function, chosen, strict=strict)
        return chosen()


def _at_most_one(pairs: Sequence[tuple[Any, Any]]) -> Operation:
    """What checks that at most one condition holds."""
    conditions, every = _conditions(pairs)
    count = output_of("Sum", output_of("Cast", every, DstT="int32", name="num_true_conds"), 0)
    names = ", ".join(one.name for one in conditions)
    said = f"More than one condition evaluated as True but exclusive=True.  Conditions: ({names}), Values:"
    return _asserted(output_of("Less", count, 2, name="at_most_1_true_condition"), said, every)


def _last(pairs: Sequence[tuple[Any, Any]]) -> Callable[[], Any]:
    """The function of the last pair, which is called where no other condition holds: then its own must."""

    def function() -> Any:
        conditions, every = _conditions(pairs)
        holds = _asserted(conditions[-1], "Input error: None of conditions evaluated as True:", every)
        with get_default_graph().control_dependencies([holds]):
            return pairs[-1][1]()

    return function


def _conditions(pairs: Sequence[tuple[Any, Any]]) -> tuple[list[Tensor], Tensor]:
    conditions = [convert_to_tensor(one, name="pred") for one, _ in pairs]
    return conditions, output_of("Pack", conditions, name="preds_c")


def _asserted(holds: Tensor, said: str, shown: Tensor) -> Operation:
    return apply("Assert", [holds, [convert_to_tensor(said), shown]], {"summarize": -1}, "AssertGuard")


def _either(
    condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any], *, strict: bool
) -> Callable[[], Any]:
    return lambda: cond(condition, then, otherwise, strict)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """What loop variables are when a condition holds no more.

    Args:
        cond: a function of the loop variables; it gives a boolean scalar.
        body: a function of the loop variables; it gives them for the next iteration, in their types.
        loop_vars: what they begin with: tensors and TensorArrays, in lists, tuples or dictionaries.
        shape_invariants: a shape for each of them, with None for sizes that may change; None where none does.
        parallel_iterations: is noted in the node; iterations run one after another.
        back_prop: changes nothing: there are gradients.
        swap_memory: changes nothing.
        name: of the node.
        maximum_iterations: ends the loop after so many iterations, an integer scalar; None for no such limit.
        return_same_structure: whether a list of one variable stays a list.

    Raises:
        TypeError: a function is none.
        ValueError: there are no variables, or the body gives others.
    """
    if not all(map(callable, (cond, body))):
        raise TypeError("'cond' and 'body' must be callable.")
    if not flattened(loop_vars):
        raise ValueError("No loop variables provided.")
    graph = get_default_graph()
    with graph.name_scope(name or "while") as scope:
        loop = _Loop(cond, body, loop_vars, maximum_iterations)
        loop.widen(shape_invariants)
        results = loop.run(graph, scope, parallel_iterations)
        made = [output_of("Identity", one) for one in results]
    found = packed(loop_vars, [like(leaf, one) for leaf, one in zip(flattened(loop_vars), made, strict=True)])
    is_single = isinstance(found, list | tuple) and not hasattr(found, "_fields") and len(found) == 1
    return found[0] if is_single and not return_same_structure else found


class _Loop:
    """A loop; with a limit of iterations they are counted by one more variable."""

    def __init__(self, cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, limit: Any) -> None:
        self._cond = cond
        self._body = body
        self._structure = loop_vars
        self._limit = None if limit is None else convert_to_tensor(limit, name="maximum_iterations")
        self._leaves = flattened(loop_vars)
        starts = [convert_to_tensor(tensor_of(one)) for one in self._leaves]
        if self._limit is not None:
            starts = [convert_to_tensor(0, self._limit.dtype, "loop_counter"), *starts]
        self._starts = starts
        self._shapes = [one.shape for one in starts]

    def widen(self, invariants: Any) -> None:
        """Let sizes be others from iteration to iteration where that is said."""
        if invariants is None:
            return
        stated = invariants if isinstance(invariants, list | tuple) else [invariants]
        shapes = [TensorShape(one) for one in _shapes_of(stated)]
        first = 0 if self._limit is None else 1
        if len(shapes) != len(self._starts) - first:
            raise ValueError("shape_invariants must have one shape for each loop variable")
        self._shapes[first:] = shapes

    def _call(self, function: Callable[..., Any], variables: Sequence[Tensor]) -> Any:
        leaves = [like(leaf, one) for leaf, one in zip(self._leaves, variables, strict=True)]
        values = packed(self._structure, leaves)
        return function(*values) if isinstance(values, list | tuple) else function(values)

    def _test(self, *variables: Tensor) -> Any:
        if self._limit is None:
            return self._call(self._cond, variables)
        holds = convert_to_tensor(self._call(self._cond, variables[1:]))
        return output_of("LogicalAnd", variables[0] < self._limit, holds)

    def _step(self, *variables: Tensor) -> Any:
        if self._limit is None:
            return self._given(variables)
        return [variables[0] + 1, *self._given(variables[1:])]

    def _given(self, variables: Sequence[Tensor]) -> list[Any]:
        """What the body gives."""
        return [tensor_of(one) for one in flattened(self._call(self._body, variables))]

    def run(self, graph: Graph, scope: str, parallel: int) -> list[Tensor]:
        """The loop as a node; the variables after it."""
        widened = [_like(one, shape) for one, shape in zip(self._starts, self._shapes, strict=True)]
        test, step = Traced(self._test, widened, graph), Traced(self._step, widened, graph)
        self._check(step)
        captures = all_captures(test, step)
        word = scope.rstrip("/").replace("/", "_")
        references = []
        for traced, kind in ((test, "cond"), (step, "body")):
            function = traced.function(free_name(graph, f"{word}_{kind}"), captures, hands_on=traced is step)
            graph.builder.graph.functions.append(function)
            references.append(FunctionReference(function.name))
        shapes = [*self._shapes, *(one.shape for one in captures)]
        attributes = {
            "cond": references[0],
            "body": references[1],
            "output_shapes": shapes,
            "parallel_iterations": parallel,
        }
        op = "While" if test.is_stateful or step.is_stateful else "StatelessWhile"
        operation = apply(op, [[*self._starts, *captures]], attributes, scope)
        for output, shape in zip(operation.outputs, shapes, strict=True):
            output.restate_shape(shape)  # what is inferred is what the first iteration begins with
        outputs = operation.outputs[: len(self._starts)]
        return outputs if self._limit is None else outputs[1:]

    def _check(self, step: Traced) -> None:
        if len(step.results) != len(self._starts):
            raise ValueError(
                f"The two structures don't have the same number of elements: the loop has {len(self._starts)} "
                f"variables, and its body gives {len(step.results)}"
            )
        for start, result, shape in zip(self._starts, step.results, self._shapes, strict=True):
            if start.dtype.base_dtype != result.dtype.base_dtype:
                raise TypeError(
                    f"Loop var {start.name} enters the loop with type {start.dtype!r} but has type {result.dtype!r} "
                    "after 1 iteration."
                )
            if not shape.is_compatible_with(result.shape) or (
                shape.is_fully_defined() and not result.shape.is_fully_defined()
            ):
                raise ValueError(
                    f"'{start.name}' has shape {shape} before the loop, but shape {result.shape} after one iteration. "
                    "Use tf.while_loop's `shape_invariants` argument to specify a less-specific shape."
                )


def _shapes_of(stated: Sequence[Any]) -> list[Any]:
    found = []
    for one in stated:
        is_nested = isinstance(one, list | tuple) and any(isinstance(shape, TensorShape) for shape in one)
        found += _shapes_of(one) if is_nested else [one]
    return found


class _Like:
    """A value of which only name, type and shape count."""

    def __init__(self, tensor: Tensor, shape: TensorShape) -> None:
        self.op, self.dtype, self.shape = tensor.op, tensor.dtype, shape


def _like(tensor: Tensor, shape: TensorShape) -> Any:
    return tensor if tensor.shape == shape else _Like(tensor, shape)
