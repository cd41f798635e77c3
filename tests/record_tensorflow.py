"""Record what TensorFlow's own kernels give for the calls in `op_cases.py`, and how it registers these ops.

    pip install tensorflow-cpu==2.21.* . && python tests/record_tensorflow.py

It writes `compiler/tf2xla/results.npz` and `compiler/tf2xla/ops.json` beside itself.  A call is run by the kernels on
the CPU; that one is refused, as where there is no kernel for a type, is recorded too.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import tensorflow as tf
from op_cases import Case, cases
from op_gradients import DIFFERENTIATED, ONE_RESULT, called, float_places, start
from tensorflow.python.eager import context
from tensorflow.python.framework import op_def_registry
from tensorflow.python.framework.ops import gradient_registry

from compiler.graph import to_binary
from compiler.tf2xla import RECORDS

FOLDER = Path(__file__).parent / "compiler" / "tf2xla"
_REFUSED = (tf.errors.OpError, ValueError, TypeError)


def main() -> None:
    """Record everything."""
    index, data = [], []
    calls = [(case.name, case, results_of) for case in cases()]
    calls += [(f"gradient/{op}", case, _gradients) for op in DIFFERENTIATED if (case := called(op)) is not None]
    for name, case, run in calls:
        results = run(case)
        index.append([name, None if results is None else list(map(_described, results))])
        data += [np.ascontiguousarray(one).tobytes() for one in results or () if one is not None]
    joined = np.frombuffer(b"".join(data), np.uint8)
    np.savez_compressed(FOLDER / "results.npz", index=np.frombuffer(json.dumps(index).encode(), np.uint8), data=joined)
    rows = ",\n".join(f'"{name}": {json.dumps(_registered(name), sort_keys=True)}' for name in sorted(RECORDS))
    (FOLDER / "ops.json").write_text(f"{{\n{rows}\n}}\n", encoding="ascii")


def results_of(case: Case) -> list[np.ndarray] | None:
    """The results of a call; None where it is refused."""
    return _compiled(case) if case.is_compiled else _run(case)


def _described(result: np.ndarray | None) -> list[object] | None:
    return None if result is None else [str(result.dtype), list(result.shape)]


def _gradients(case: Case) -> list[np.ndarray | None] | None:
    """The gradients of a call to its inputs; None where it is refused."""
    definition = tf.compat.v1.GraphDef.FromString(to_binary(case.graph()))
    feeds = case.feeds()
    try:
        with tf.Graph().as_default() as graph:
            placeholders = {name: tf.compat.v1.placeholder(array.dtype, array.shape) for name, array in feeds.items()}
            results = tf.graph_util.import_graph_def(
                definition, input_map=placeholders, return_elements=case.fetches, name=""
            )
            ys = [one for one in results if one.dtype.is_floating or one.dtype.is_complex]
            ys = ys[: 1 if case.op in ONE_RESULT else None]
            starts = [tf.constant(start(one.shape, one.dtype.as_numpy_dtype, n)) for n, one in enumerate(ys)]
            names = [f"in{number}" for number in float_places(case)]
            xs = [
                placeholders[name] if name in placeholders else graph.get_tensor_by_name(f"{name}:0") for name in names
            ]
            found = tf.gradients(ys, xs, starts)
            dense = [None if one is None else tf.convert_to_tensor(one) for one in found]
            fed = {placeholders[name]: array for name, array in feeds.items()}
            with tf.compat.v1.Session() as session:
                values = iter(session.run([one for one in dense if one is not None], fed))
                return [None if one is None else next(values) for one in dense]
    except _REFUSED:
        return None


def _compiled(case: Case) -> list[np.ndarray] | None:
    """The results of a call that XLA compiles, there being no kernel."""
    definition = tf.compat.v1.GraphDef.FromString(to_binary(case.graph()))
    for node in [one for one in definition.node if one.op == "Placeholder"]:
        definition.node.remove(node)  # which XLA refuses, though nobody takes it
    for function in definition.library.function:
        if not context.context().has_function(function.signature.name):
            context.context().add_function_def(function)
    feeds = case.feeds()

    def called(*given: tf.Tensor) -> list[tf.Tensor]:
        found = dict(zip(feeds, given, strict=True))
        results: list[tf.Tensor] = tf.graph_util.import_graph_def(
            definition, input_map=found, return_elements=case.fetches, name=""
        )
        return results

    try:
        results = tf.function(called, jit_compile=True, autograph=False)(*map(tf.constant, feeds.values()))
        return [one.numpy() for one in results]
    except _REFUSED:
        return None


def _run(case: Case) -> list[np.ndarray] | None:
    """The results of a call that a kernel runs."""
    definition = tf.compat.v1.GraphDef.FromString(to_binary(case.graph()))
    feeds = case.feeds()
    try:
        with tf.Graph().as_default():
            placeholders = [tf.compat.v1.placeholder(array.dtype, array.shape) for array in feeds.values()]
            given = dict(zip(feeds, placeholders, strict=True))
            fetches = [text.removeprefix("^") for text in case.fetches]
            results = tf.graph_util.import_graph_def(definition, input_map=given, return_elements=fetches, name="")
            variables = [_variable(case, number) for number in case.variables]
            fed = dict(zip(placeholders, feeds.values(), strict=True))
            with tf.compat.v1.Session() as session:
                session.run([write for write, _ in variables])
                found = [one for _ in range(case.runs) for one in session.run(results, fed) if one is not None]
                return [*found, *session.run([read for _, read in variables])]
    except _REFUSED:
        return None


def _variable(case: Case, number: int) -> tuple[tf.Operation, tf.Tensor]:
    """An op that gives a variable its value, and one that reads it."""
    variable = tf.compat.v1.get_default_graph().get_tensor_by_name(f"in{number}:0")
    value = tf.constant(case.inputs[number])
    if variable.dtype == tf.resource:
        write = tf.raw_ops.AssignVariableOp(resource=variable, value=value)
        return write, tf.raw_ops.ReadVariableOp(resource=variable, dtype=value.dtype)
    write = tf.compat.v1.assign(variable, value).op
    return write, tf.identity(variable)


def _registered(name: str) -> dict[str, object]:
    """What TensorFlow says of an op: ports (name, type, number, whether a list), attributes (kind, default, types)."""
    definition = op_def_registry.get(name)
    return {
        "inputs": [_port(one) for one in definition.input_arg],
        "outputs": [_port(one) for one in definition.output_arg],
        "attributes": {
            one.name: [one.type, _value(one.default_value), sorted(set(one.allowed_values.list.type))]
            for one in definition.attr
        },
        "stateful": definition.is_stateful,
        "gradient": _gradient(name),
    }


def _gradient(name: str) -> str:
    """What TensorFlow has for the gradient of an op: a formula, that nothing goes through it, or nothing."""
    try:
        return "nothing goes through" if gradient_registry.lookup(name) is None else "formula"
    except LookupError:
        return "unknown"


def _port(port: object) -> list[object]:
    kind = port.type_attr or port.type_list_attr or tf.dtypes.as_dtype(port.type).name
    return [port.name, kind, port.number_attr, bool(port.type_list_attr), port.is_ref]


def _value(value: object) -> object:
    kind = value.WhichOneof("value")
    held = getattr(value, kind) if kind else None
    match kind:
        case "list":
            return [*held.i, *held.type, *held.s]
        case "s":
            return held.decode()
        case "tensor":
            return list(held.int_val)
        case "shape":
            return "unknown" if held.unknown_rank else [one.size for one in held.dim]
        case _:
            return held


if __name__ == "__main__":
    main()
