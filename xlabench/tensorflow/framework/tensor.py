"""`tf.Tensor` and `tf.Operation`: nodes and their outputs as programs hold them.

Operators are added by `framework/operators.py`; what is known of an output (its type, its partial shape) is the
compiler's `Output`, which the graph's builder made.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

import compiler
from compiler.tf import AttributeList, Built, DataType, Output, PartialShape, message_class, to_binary, trials_of
from compiler.tf import Graph as Definition
from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.dtypes import DType, as_dtype, of_data_type
from xlabench.tensorflow.framework.shapes import TensorShape

_NOT_BOOL = (
    "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` instead of `if t:` to "
    "test if a tensor is defined, and use TensorFlow ops such as tf.cond to execute subgraphs conditioned on the value "
    "of a tensor."
)
_NOT_ITERABLE = "Iterating over a symbolic `tf.Tensor` is not allowed. Use tf.unstack to take it apart."


class OperatorNotAllowedInGraphError(TypeError):
    """Python asked for a value that is not there before a session runs."""


class Owner(Protocol):
    """What tensors and operations ask of their graph."""

    def tensor_of(self, output: Output) -> Tensor:
        """The tensor of an output."""

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of a name."""

    def get_operations(self) -> list[Operation]:
        """All operations."""

    def session_for(self, session: Any, said: str, method: str) -> Any:
        """The session in which something runs: `session`, or the default one.

        `said` begins the message where there is none, and `method` is the call that would name one.
        """


class Operation:
    """A node of a graph."""

    def __init__(self, graph: Owner, built: Built) -> None:
        self.graph = graph
        self.built = built
        self.outputs = [Tensor(self, output) for output in built.outputs]
        self._stack = traceback.StackSummary.extract(_callers(), limit=_DEEPEST, lookup_lines=False)

    @property
    def name(self) -> str:
        """Its name, unique in its graph."""
        return self.built.node.name

    @property
    def type(self) -> str:
        """Its op."""
        return self.built.node.op

    @property
    def node_def(self) -> Any:
        """The node as a message `NodeDef`; raises `UnsupportedError` where the library `protobuf` is missing."""
        return message_class("GraphDef").FromString(to_binary(Definition(nodes=[self.built.node]))).node[0]

    @property
    def device(self) -> str:
        """Where it is to run."""
        return self.built.node.device

    @property
    def inputs(self) -> Sequence[Tensor]:
        """What it takes."""
        return tuple(self.graph.tensor_of(one) for one in self.built.inputs)

    @property
    def control_inputs(self) -> list[Operation]:
        """What it waits for."""
        waits = (text[1:] for text in self.built.node.inputs if text.startswith("^"))
        return [self.graph.get_operation_by_name(name) for name in waits]

    @property
    def traceback(self) -> list[traceback.FrameSummary]:
        """Where it was made, the innermost last, without places of ours."""
        return list(self._stack)[::-1]

    def get_attr(self, name: str) -> Any:
        """The value of an attribute.

        Raises:
            ValueError: it has none of that name.
        """
        attributes: Mapping[str, Any] = self.built.node.attributes
        if name not in attributes:
            row = self.built.signature.attributes.get(name)
            if row is None or row.default is None:
                raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
            return _python(row.default)
        return _python(attributes[name])

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run it in a session, by default the innermost.

        Raises:
            ValueError: there is none.
        """
        self.graph.session_for(session, "Cannot execute operation using `run()`", "run").run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self) -> str:
        node = self.built.node
        lines = [f'name: "{node.name}"', f'op: "{node.op}"', *(f'input: "{text}"' for text in node.inputs)]
        return "\n".join([*lines, *([f'device: "{node.device}"'] if node.device else [])]) + "\n"


_DEEPEST = 8
_OWN = (str(Path(__file__).parents[1]), str(Path(compiler.__file__).parent))


def _callers() -> Iterator[tuple[FrameType, int]]:
    """The frames that called us, the innermost first, without those of ours."""
    for frame, line in traceback.walk_stack(None):
        if not frame.f_code.co_filename.startswith(_OWN):
            yield frame, line


def _python(value: Any) -> Any:
    """An attribute's value as programs see it."""
    if isinstance(value, DataType):
        return of_data_type(value)
    if isinstance(value, PartialShape):
        return TensorShape(value)
    return [_python(one) for one in value.values] if isinstance(value, AttributeList) else value


def _merged(known: TensorShape, more: TensorShape) -> TensorShape:
    """What is known of a shape by both."""
    for number, (one, other) in enumerate(zip(known.partial.dims or (), more.partial.dims or (), strict=False)):
        if len(known) == len(more) and None not in (one, other) and one != other:
            shapes = " and ".join(str(one.partial) for one in (known, more))
            raise ValueError(
                f"Dimension {number} in both shapes must be equal, but are {one} and {other}. Shapes are {shapes}."
            )
    return known.merge_with(more)


class Overloaded:
    """What has Python's operators, to which `framework/operators.py` gives their meaning."""

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __getitem__(self, key: Any) -> Tensor: ...


class Tensor(Overloaded):
    """An output of a node."""

    __array_priority__ = 100  # so that NumPy's arrays leave operators to it
    __hash__ = object.__hash__

    def __init__(self, op: Operation, output: Output) -> None:
        self.op = op
        self.output = output

    @property
    def graph(self) -> Owner:
        """The graph that it is in."""
        return self.op.graph

    @property
    def name(self) -> str:
        """`operation:number`."""
        return f"{self.op.name}:{self.output.port}"

    @property
    def value_index(self) -> int:
        """Which output of its operation it is."""
        return self.output.port

    @property
    def dtype(self) -> DType:
        """Its type."""
        return of_data_type(self.output.type)

    @property
    def device(self) -> str:
        """Where its operation is to run."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """What is known of its sizes."""
        return TensorShape(self.output.shape)

    def get_shape(self) -> TensorShape:
        """What is known of its sizes."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Say more of its sizes.

        Raises:
            ValueError: they are known to be others.
        """
        self.restate_shape(_merged(self.shape, TensorShape(shape)))

    def restate_shape(self, shape: Any) -> None:
        """Say all that is known of its sizes, more or less than was inferred: a loop's variable may change them."""
        known = TensorShape(shape).partial
        # Gradients know outputs by identity: the output itself must come to know it.
        object.__setattr__(self.output, "shape", known)
        object.__setattr__(self.output, "trials", trials_of(known))

    def consumers(self) -> list[Operation]:
        """The operations that take it."""
        return [one for one in self.graph.get_operations() if any(given is self for given in one.inputs)]

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value in a session, by default the innermost.

        Raises:
            ValueError: there is none.
        """
        return self.graph.session_for(session, "Cannot evaluate tensor using `eval()`", "eval").run(self, feed_dict)

    def dense_tensor(self, dtype: Any = None, name: str = "") -> Tensor:
        """Itself, as what may stand where a tensor is taken; of another type it is refused."""
        if dtype is not None and not as_dtype(dtype).is_compatible_with(self.dtype.base_dtype):
            wanted = as_dtype(dtype).name
            raise ValueError(
                f"Tensor conversion requested dtype {wanted} for Tensor with dtype {self.dtype.name}: {self!r}"
            )
        return self

    def __bool__(self) -> bool:
        raise OperatorNotAllowedInGraphError(_NOT_BOOL)

    def __iter__(self) -> Iterator[Any]:
        raise OperatorNotAllowedInGraphError(_NOT_ITERABLE)

    def __len__(self) -> int:
        raise TypeError(f"len is not well defined for a symbolic Tensor ({self.name}). Please call `x.shape`.")

    def __array__(self, *_args: Any, **_options: Any) -> Any:
        raise NotHereError(f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. Run it in a session.")

    def __str__(self) -> str:
        return f'Tensor("{self.name}", shape={self.shape}, dtype={self.dtype.name}' + (
            f", device={self.device})" if self.device else ")"
        )

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"
