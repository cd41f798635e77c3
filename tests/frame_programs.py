"""Programs with control flow of TensorFlow 1, as those that have TensorFlow build them, with what they are run on.

Each takes TensorFlow and its placeholders and gives the tensors that are fetched.  Loops and branches become frames and
switches as long as version 2 of control flow is off.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Build = Callable[..., Any]
_X = np.array([0.5, -1.25, 2.0], np.float32)
_ROWS = np.array([[0.5, -1.0], [1.5, 0.25], [-0.75, 2.0]], np.float32)


def counting(tf: Any, x: Any) -> Any:
    """How often a value doubles before it is large."""
    return tf.while_loop(lambda n, y: tf.reduce_sum(y) < 50.0, lambda n, y: (n + 1, y * 2.0), (0, x))


def constants(tf: Any, x: Any) -> Any:
    """Values that only go in, one that comes back as it was, and two whose ends nobody asks for."""
    step = x * 0.5
    found = tf.while_loop(lambda n, *_: n < 4, lambda n, y, z, w: (n + 1, y + step, z, w + y), (0, x, step, x))
    return found[1], found[2]


def nested(tf: Any, x: Any) -> Any:
    """A loop in a loop, as often as that one has run, and the gradient."""

    def outer(n: Any, y: Any) -> Any:
        _, z = tf.while_loop(lambda k, _: k < n, lambda k, z: (k + 1, z * x + 0.5), (0, y), maximum_iterations=4)
        return n + 1, z

    _, found = tf.while_loop(lambda n, _: n < 3, outer, (0, x), maximum_iterations=3)
    return found, tf.gradients(found, x)[0]


def branch(tf: Any, x: Any) -> Any:
    """One of two formulas, and the gradient, which needs what one of them has computed."""
    found = tf.cond(tf.reduce_sum(x) > 1.0, lambda: tf.exp(x) * x, lambda: x - 1.0)
    return found, tf.gradients(found, x)[0]


def branch_in_loop(tf: Any, x: Any) -> Any:
    """A branch in every iteration, and the gradient."""

    def step(n: Any, y: Any) -> Any:
        return n + 1, tf.cond(tf.equal(n % 2, 0), lambda: y * x, lambda: tf.sin(y))

    _, found = tf.while_loop(lambda n, _: n < 5, step, (0, x), maximum_iterations=5)
    return found, tf.gradients(found, x)[0]


def loop_in_branch(tf: Any, x: Any) -> Any:
    """A loop that only one side has, which would not end on the other."""
    last = tf.reduce_sum(x)

    def loop() -> Any:
        return tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: y + last, (x,))

    return tf.cond(last > 0.0, loop, lambda: [x])


def branches(tf: Any, x: Any) -> Any:
    """A branch in a branch, and a case."""
    total = tf.reduce_sum(x)
    inner = tf.cond(total > 0.0, lambda: tf.cond(total > 1.0, lambda: x + 1.0, lambda: tf.sqrt(tf.abs(x))), lambda: -x)
    chosen = tf.case([(total > 3.0, lambda: x * 3.0), (total > 0.5, lambda: inner * 2.0)], default=lambda: x)
    return inner, chosen, tf.gradients(chosen, x)[0]


def mapped(tf: Any, x: Any) -> Any:
    """`map_fn` and its gradient, through TensorArrays."""
    found = tf.map_fn(lambda row: tf.tanh(row) * tf.reduce_sum(row), x)
    return found, tf.gradients(found, x)[0]


def scanned(tf: Any, x: Any) -> Any:
    """`scan` and its gradient."""
    found = tf.scan(lambda total, row: total * 0.5 + row * row, x)
    return found, tf.gradients(found, x)[0]


def folded(tf: Any, x: Any) -> Any:
    """`foldl`, `foldr` and a gradient."""
    first = tf.foldl(lambda total, row: total * row + 1.0, x)
    return first, tf.foldr(lambda total, row: total - row, x), tf.gradients(first, x)[0]


def recurrent(tf: Any, x: Any) -> Any:
    """A network over time as `dynamic_rnn` writes it, with lengths, and the gradients of its weights."""
    weights = tf.constant([[0.5, -0.25], [0.75, 0.125], [-0.5, 0.25], [0.25, 0.375]], tf.float32)
    cell = _Cell(tf, weights)
    outputs, state = tf.compat.v1.nn.dynamic_rnn(cell, x, sequence_length=[3, 2], dtype=tf.float32)
    return outputs, state, *tf.gradients([outputs, state], [x, weights])


def written(tf: Any, x: Any) -> Any:
    """A variable of a resource that a loop adds to, and a branch sets."""
    variable = tf.compat.v1.get_variable("held", initializer=tf.zeros([3]), use_resource=True)

    def step(n: Any, m: Any) -> Any:
        with tf.control_dependencies([variable.assign_add(x * tf.cast(n, tf.float32))]):
            return n + 1, m

    def double() -> Any:
        with tf.control_dependencies([variable.assign(variable * 2.0)]):
            return tf.identity(total)

    total, _ = tf.while_loop(lambda n, _: n < 4, step, (1, 0))
    with tf.control_dependencies([total]):
        doubled = tf.cond(total > 3, double, lambda: total)
    with tf.control_dependencies([doubled]):
        return variable.read_value(), doubled


class _Cell:
    """A cell of the kind that `dynamic_rnn` takes."""

    state_size = 2
    output_size = 2
    dtype = None

    def __init__(self, tf: Any, weights: Any) -> None:
        self._tf = tf
        self._weights = weights

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """What it begins with."""
        return self._tf.zeros([batch_size, self.state_size], dtype)

    def __call__(self, inputs: Any, state: Any, **_more: Any) -> Any:
        """Its output, and the next state."""
        made = self._tf.tanh(self._tf.matmul(self._tf.concat([inputs, state], 1), self._weights))
        return made, made


PROGRAMS: dict[str, tuple[Build, np.ndarray[Any, Any]]] = {
    "counting": (counting, _X),
    "constants": (constants, _X),
    "nested": (nested, _X),
    "branch": (branch, _X),
    "branch_false": (branch, -_X),
    "branch_in_loop": (branch_in_loop, _X),
    "loop_in_branch": (loop_in_branch, _X),
    "loop_in_branch_false": (loop_in_branch, -_X),
    "branches": (branches, _X),
    "branches_false": (branches, _X * 0.5),
    "mapped": (mapped, _ROWS),
    "scanned": (scanned, _ROWS),
    "folded": (folded, _ROWS),
    "recurrent": (recurrent, np.stack([_ROWS, -_ROWS])),
    "written": (written, _X),
}
RECORDED = Path(__file__).parent / "compiler" / "tf2xla" / "frames.npz"
"""What `record_frames.py` has written: graphs as bytes, names of fetches, results."""


def recorded(name: str) -> tuple[bytes, list[str], list[np.ndarray[Any, Any]]]:
    """The graph that TensorFlow makes of a program, what is fetched, and what it gives."""
    with np.load(RECORDED) as data:
        fetches = json.loads(bytes(data[f"{name} fetches"]))
        return bytes(data[f"{name} graph"]), fetches, [data[f"{name} {number}"] for number in range(len(fetches))]
