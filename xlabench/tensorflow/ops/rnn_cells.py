"""`tf.nn.rnn_cell`: what a recurrent network computes at one time, with its variables.

A cell makes its variables when it first sees how many features its inputs have, in the scope in which that happens;
loops let it make them before they begin, since a variable that is made in an iteration would be another one each time.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.structures import flattened, packed
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.framework.variables import Variable
from xlabench.tensorflow.ops import initializers, nn
from xlabench.tensorflow.ops.arrays import concat, split, zeros
from xlabench.tensorflow.ops.random import dropout
from xlabench.tensorflow.ops.variable_scopes import get_variable, variable_scope

Activation = Callable[[Any], Tensor]


class LSTMStateTuple(NamedTuple):
    """What an LSTM carries: its memory, and what it gave last."""

    c: Any
    h: Any


def _applied(op: str) -> Activation:
    return lambda value: output_of(op, value)


_sigmoid, _tanh = _applied("Sigmoid"), _applied("Tanh")


class RNNCell(ABC):
    """A cell: `output, state = cell(inputs, state)`."""

    _word = "rnn_cell"
    _initializer: Any = None  # of its matrices; the scope's where there is none

    def __init__(self, name: str | None = None, reuse: bool | None = None) -> None:
        self._name = name or self._word
        self._reuse = reuse
        self._built = False

    @property
    @abstractmethod
    def state_size(self) -> Any:
        """How many numbers its state has, in the structure of the state."""

    @property
    @abstractmethod
    def output_size(self) -> int:
        """How many numbers it gives."""

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state of zeros."""
        return packed(self.state_size, [zeros([batch_size, one], dtype) for one in flattened(self.state_size)])

    @abstractmethod
    def build(self, inputs_shape: Any) -> None:
        """Make its variables, for inputs of this shape."""

    @abstractmethod
    def call(self, inputs: Tensor, state: Any) -> tuple[Any, Any]:
        """What it gives, and its next state."""

    def made_for(self, inputs: Tensor) -> None:
        """Let it have its variables, if it has none yet.

        Raises:
            ValueError: how many features its inputs have is not known.
        """
        if self._built:
            return
        if not inputs.shape.rank or inputs.shape[-1].value is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs.shape}")
        with variable_scope(self._name, reuse=self._reuse):
            self.build(inputs.shape)
        self._built = True

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """One time."""
        tensor = convert_to_tensor(inputs)
        self.made_for(tensor)
        return self.call(tensor, state)

    def _weights(self, name: str, shape: Sequence[int], dtype: Any, start: Any = None) -> tuple[Variable, Variable]:
        """A matrix, and what is added to each row of the product."""
        kernel = get_variable(f"{name}kernel", list(shape), dtype, self._initializer)
        return kernel, get_variable(f"{name}bias", [shape[1]], dtype, start or initializers.Zeros())


def _product(inputs: Sequence[Any], weights: tuple[Variable, Variable]) -> Tensor:
    return nn.bias_add(output_of("MatMul", concat(list(inputs), 1), weights[0]), weights[1])


class _Units(RNNCell):
    """A cell of so many units, each of which it gives and carries."""

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name, reuse)
        self._units = num_units
        self._activation = activation or _tanh
        self._dtype = dtype or "float32"

    @property
    def state_size(self) -> Any:
        """As many numbers as units."""
        return self._units

    @property
    def output_size(self) -> int:
        """As many numbers as units."""
        return self._units

    def _rows(self, inputs_shape: Any) -> int:
        return int(inputs_shape[-1].value) + self._units


class BasicRNNCell(_Units):
    """output = state = activation([inputs, state] W + b)."""

    _word = "basic_rnn_cell"

    def build(self, inputs_shape: Any) -> None:
        """W and b."""
        self._all = self._weights("", [self._rows(inputs_shape), self._units], self._dtype)

    def call(self, inputs: Tensor, state: Any) -> tuple[Any, Any]:
        """One time."""
        made = self._activation(_product([inputs, state], self._all))
        return made, made


class GRUCell(_Units):
    """A gated recurrent unit: what it gives lies between its state and a candidate."""

    _word = "gru_cell"

    def build(self, inputs_shape: Any) -> None:
        """The weights of both gates, and of the candidate."""
        rows = self._rows(inputs_shape)
        self._gates = self._weights("gates/", [rows, 2 * self._units], self._dtype, initializers.Ones())
        self._candidate = self._weights("candidate/", [rows, self._units], self._dtype)

    def call(self, inputs: Tensor, state: Any) -> tuple[Any, Any]:
        """One time."""
        reset, update = split(_sigmoid(_product([inputs, state], self._gates)), 2, 1)
        candidate = self._activation(_product([inputs, reset * state], self._candidate))
        made = update * state + (1 - update) * candidate
        return made, made


class BasicLSTMCell(_Units):
    """A long short-term memory without peepholes."""

    _word = "basic_lstm_cell"

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)
        self._forget_bias = forget_bias
        self._is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        """Memory and output."""
        return LSTMStateTuple(self._units, self._units) if self._is_tuple else 2 * self._units

    def build(self, inputs_shape: Any) -> None:
        """The weights of input, candidate, forgetting and output, side by side."""
        self._all = self._weights("", [self._rows(inputs_shape), 4 * self._units], self._dtype)

    def call(self, inputs: Tensor, state: Any) -> tuple[Any, Any]:
        """One time."""
        memory, last = state if self._is_tuple else split(state, 2, 1)
        taken, candidate, kept, shown = split(_product([inputs, last], self._all), 4, 1)
        after = memory * _sigmoid(kept + self._forget_bias) + _sigmoid(taken) * self._activation(candidate)
        made = self._activation(after) * _sigmoid(shown)
        return made, LSTMStateTuple(after, made) if self._is_tuple else concat([after, made], 1)


class LSTMCell(BasicLSTMCell):
    """The same as `BasicLSTMCell`, with an initializer of its own for the matrix."""

    _word = "lstm_cell"

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: Any = None,
        initializer: Any = None,
        **options: Any,
    ) -> None:
        """Take the options of `BasicLSTMCell` besides.

        Raises:
            NotHereError: its gates are to see the memory, or it is to be cut or projected.
        """
        asked = [word for word in ("num_proj", "proj_clip") if options.pop(word, None) is not None]
        asked += ["use_peepholes"] * use_peepholes + ["cell_clip"] * (cell_clip is not None)
        if asked:
            raise NotHereError(f"tf.nn.rnn_cell.LSTMCell({asked[0]}=...): not there; write the cell as an RNNCell")
        super().__init__(num_units, **options)
        self._initializer = initializer


class DropoutWrapper(RNNCell):
    """A cell of whose inputs, outputs and state a share becomes 0 each time; of an LSTM's state what it gave last."""

    def __init__(
        self,
        cell: RNNCell,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        **options: Any,
    ) -> None:
        """Take `seed` besides.

        Raises:
            NotHereError: what is dropped is to be the same at all times.
        """
        super().__init__()
        if options.get("variational_recurrent"):
            raise NotHereError("tf.nn.rnn_cell.DropoutWrapper(variational_recurrent=True): not there; leave it out")
        self._cell = cell
        self._seed = options.get("seed")
        self._kept = {"input": input_keep_prob, "output": output_keep_prob, "state": state_keep_prob}

    @property
    def state_size(self) -> Any:
        """That of the cell."""
        return self._cell.state_size

    @property
    def output_size(self) -> int:
        """That of the cell."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """That of the cell."""
        return self._cell.zero_state(batch_size, dtype)

    def build(self, inputs_shape: Any) -> None:
        """It has no variables of its own."""

    def made_for(self, inputs: Tensor) -> None:
        """Let the cell have its variables, under its own name."""
        self._cell.made_for(inputs)

    def call(self, inputs: Tensor, state: Any) -> tuple[Any, Any]:
        """One time."""
        made, after = self._cell(self._dropped(inputs, "input"), state)
        return self._dropped(made, "output"), self._dropped_state(after)

    def _dropped_state(self, state: Any) -> Any:
        if isinstance(state, LSTMStateTuple):
            return LSTMStateTuple(state.c, self._dropped(state.h, "state", 1))
        return packed(state, [self._dropped(one, "state", number) for number, one in enumerate(flattened(state))])

    def _dropped(self, value: Any, what: str, number: int = 0) -> Any:
        kept = self._kept[what]
        if isinstance(kept, int | float) and kept >= 1:
            return value
        return dropout(value, keep_prob=kept, seed=self._seed_of(f"{what}_{number}"))

    def _seed_of(self, salt: str) -> int | None:
        """TensorFlow's seed of one of its draws, which differ."""
        if self._seed is None:
            return None
        digest = hashlib.md5(f"{self._seed}{salt}".encode(), usedforsecurity=False).hexdigest()
        return int(digest[:8], 16) & 0x7FFFFFFF


class MultiRNNCell(RNNCell):
    """Cells upon each other: each takes what the one below gives."""

    _word = "multi_rnn_cell"

    def __init__(self, cells: Sequence[RNNCell], state_is_tuple: bool = True) -> None:
        """Take the cells, the lowest first.

        Raises:
            ValueError: there are none, or their states are to be one tensor.
        """
        super().__init__()
        if not cells or not state_is_tuple:
            raise ValueError("Must specify at least one cell for MultiRNNCell, with state_is_tuple=True")
        self._cells = list(cells)

    @property
    def state_size(self) -> Any:
        """Those of the cells."""
        return tuple(one.state_size for one in self._cells)

    @property
    def output_size(self) -> int:
        """That of the highest cell."""
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The states of zeros."""
        return tuple(one.zero_state(batch_size, dtype) for one in self._cells)

    def build(self, inputs_shape: Any) -> None:
        """The variables of each cell, in a scope of its number."""
        width = inputs_shape
        for number, one in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                one.made_for(zeros([1, int(width[-1].value)]))
            width = zeros([1, one.output_size]).shape

    def call(self, inputs: Tensor, state: Any) -> tuple[Any, Any]:
        """One time."""
        made, after = inputs, []
        for one, own in zip(self._cells, state, strict=True):
            made, following = one(made, own)
            after.append(following)
        return made, tuple(after)
