"""`tf.nn.dynamic_rnn` and `tf.nn.static_rnn`: a cell over time, as a loop, or written out.

Where a sequence has ended the output is zero, and the state stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.structures import flattened, packed
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import concat, stack, transpose, unstack, where, zeros_like
from xlabench.tensorflow.ops.control_flow import while_loop
from xlabench.tensorflow.ops.counting import reverse_sequence
from xlabench.tensorflow.ops.rnn_cells import RNNCell
from xlabench.tensorflow.ops.tensor_array import TensorArray, rows_of
from xlabench.tensorflow.ops.variable_scopes import variable_scope

_TIME_FIRST = [1, 0, 2]


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """What a cell gives at every time, and its last state.

    Args:
        cell: a function of what there is at a time, [batch, features], and the state; it gives what is made of it, and
            the next state.
        inputs: [batch, time, features].
        sequence_length: how many times each example has, [batch]; None where all have as many as `inputs`.
        initial_state: the first state, None for zeros.
        dtype: the type of these zeros.
        parallel_iterations: changes nothing, as does the next.
        swap_memory: changes nothing.
        time_major: whether time comes before the batch, in inputs and results.
        scope: the scope of variables, or its name; None for `rnn`.

    Raises:
        ValueError: neither a first state nor a type for one is given, or the inputs have no time.
    """
    with variable_scope(scope, "rnn"):
        sequence = convert_to_tensor(inputs)
        if sequence.shape.rank != len(_TIME_FIRST):
            raise ValueError("inputs must be one tensor of [batch, time, features], or with time_major of [time, ...]")
        rows = sequence if time_major else transpose(sequence, _TIME_FIRST)
        count = rows_of(rows)
        given = TensorArray(rows.dtype, count).unstack(rows)
        if isinstance(cell, RNNCell):
            cell.made_for(rows)
        state = _begun(cell, rows[0], initial_state, dtype)
        lengths = None if sequence_length is None else convert_to_tensor(sequence_length, "int32")
        written = TensorArray(rows.dtype, count)

        def step(time: Any, carried: Any, outputs: Any) -> Any:
            made, after = _one_time(cell, given.read(time), carried, time, lengths)
            return time + 1, after, outputs.write(time, made)

        loop = (convert_to_tensor(0), state, written)
        _, last, outputs = while_loop(lambda time, *_: time < count, step, loop, maximum_iterations=count)
        found = outputs.stack()
        return found if time_major else transpose(found, _TIME_FIRST), last


def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """As `dynamic_rnn` of a list of `inputs`, [batch, features], one for each time, without a loop; raises as it does.

    `cell`, `initial_state`, `dtype`, `sequence_length` and `scope` are its.
    """
    if not isinstance(inputs, list | tuple) or not inputs:
        raise ValueError("inputs must not be empty, and a list of what there is at each time")
    with variable_scope(scope, "rnn"):
        rows = [convert_to_tensor(one) for one in inputs]
        state = _begun(cell, rows[0], initial_state, dtype)
        lengths = None if sequence_length is None else convert_to_tensor(sequence_length, "int32")
        found = []
        for time, row in enumerate(rows):
            made, state = _one_time(cell, row, state, time, lengths)
            found.append(made)
        return found, state


def _begun(cell: Any, row: Tensor, initial_state: Any, dtype: Any) -> Any:
    """The first state."""
    if initial_state is not None:
        return packed(initial_state, [convert_to_tensor(one) for one in flattened(initial_state)])
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    return cell.zero_state(rows_of(row), dtype)


def _one_time(cell: Any, row: Tensor, state: Any, time: Any, lengths: Tensor | None) -> tuple[Any, Any]:
    made, after = cell(row, state)
    if lengths is None:
        return made, after
    has_ended = output_of("LessEqual", lengths, time)
    kept = [where(has_ended, old, new) for old, new in zip(flattened(state), flattened(after), strict=True)]
    return where(has_ended, zeros_like(made), made), packed(after, kept)


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """`dynamic_rnn` of one cell forwards in time, and of another backwards: pairs of what both give, and states.

    Args:
        cell_fw: the cell that goes forwards.
        cell_bw: the one that goes backwards; what it gives stands at the times that it was given.
        inputs: [batch, time, features].
        sequence_length: how many times each example has, [batch]; None where all have as many as `inputs`.
        initial_state_fw: the first state of the first cell, None for zeros.
        initial_state_bw: that of the other.
        dtype: the type of these zeros.
        parallel_iterations: changes nothing, as does the next.
        swap_memory: changes nothing.
        time_major: whether time comes before the batch, in inputs and results.
        scope: the scope of variables, or its name; None for `bidirectional_rnn`.

    Raises:
        ValueError: as of `dynamic_rnn`.
    """
    options = {"sequence_length": sequence_length, "dtype": dtype, "time_major": time_major}
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as inner:
            forwards = dynamic_rnn(cell_fw, inputs, initial_state=initial_state_fw, scope=inner, **options)
        with variable_scope("bw") as inner:
            turned = _turned(inputs, sequence_length, time_major=time_major)
            backwards = dynamic_rnn(cell_bw, turned, initial_state=initial_state_bw, scope=inner, **options)
    found = _turned(backwards[0], sequence_length, time_major=time_major)
    return (forwards[0], found), (forwards[1], backwards[1])


def _turned(rows: Any, lengths: Any, *, time_major: bool) -> Tensor:
    """Sequences in the opposite order, each as long as it is."""
    value = convert_to_tensor(rows)
    axis = 0 if time_major else 1
    if lengths is None:
        return output_of("ReverseV2", value, [axis])
    return reverse_sequence(value, lengths, seq_axis=axis, batch_axis=1 - axis)


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """The same of a list of `inputs`, without a loop: what both give side by side, and both last states.

    `cell_fw`, `cell_bw`, `initial_state_fw`, `initial_state_bw`, `dtype`, `sequence_length` and `scope` are as of
    `bidirectional_dynamic_rnn`.

    Raises:
        ValueError: as of `static_rnn`.
    """
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as inner:
            forwards, last = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, inner)
        with variable_scope("bw") as inner:
            turned = _all_turned(inputs, sequence_length)
            found, first = static_rnn(cell_bw, turned, initial_state_bw, dtype, sequence_length, inner)
    pairs = zip(forwards, _all_turned(found, sequence_length), strict=True)
    return [concat([one, other], 1) for one, other in pairs], last, first


def _all_turned(rows: Sequence[Any], lengths: Any) -> list[Any]:
    if lengths is None:
        return list(reversed(rows))
    return unstack(_turned(stack(rows), convert_to_tensor(lengths), time_major=True))
