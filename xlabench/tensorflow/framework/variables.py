"""`tf.Variable`: a resource variable, with the nodes that TensorFlow makes for it, under its names.

A variable stands where a tensor is taken, and is read there: a node of its own in the scope of who takes it.  Operators
read it before their own scope opens.  Names of nodes are those of resource variables, whatever `use_resource` says:
what a session keeps is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.branches import one_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import DType, as_dtype
from xlabench.tensorflow.framework.functions import Traced
from xlabench.tensorflow.framework.graph import Graph, get_default_graph
from xlabench.tensorflow.framework.keys import GraphKeys
from xlabench.tensorflow.framework.operators import OPERATORS
from xlabench.tensorflow.framework.shapes import TensorShape
from xlabench.tensorflow.framework.tensor import Operation, Overloaded, Tensor


class Variable(Overloaded):
    """A value that a session keeps."""

    is_reference = False
    """Whether it is one of TensorFlow 1 before resources, which ops of other names take."""
    __array_priority__ = 100  # so that NumPy's arrays leave operators to it

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: Any = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ) -> None:
        """Make a variable and the nodes that give it its first value.

        Raises:
            ValueError: there is no initial value, or its sizes are not known.
        """
        if variable_def is not None:
            raise NotHereError("tf.Variable(variable_def=): variables of files are not read here")
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        graph = get_default_graph()
        self._graph = graph
        self.constraint = constraint
        self.trainable = True if trainable is None else trainable
        with graph.control_dependencies(None), graph.name_scope(name or "Variable") as scope:
            self._initial = first_value(graph, initial_value, dtype)
            known = TensorShape(shape) if shape is not None else self._initial.shape
            if validate_shape and not known.is_fully_defined():
                raise ValueError(f"initial_value must have a shape specified: {self._initial}")
            self._dtype = self._initial.dtype.base_dtype
            self._shape = known
            own = scope.rstrip("/")
            attributes: dict[str, Any] = {
                "dtype": self._dtype.data_type,
                "shape": (known if validate_shape else TensorShape(None)).partial,
                "shared_name": own.encode(),
            }
            self.handle = graph.create("VarHandleOp", [], attributes, scope).outputs[0]
            with graph.name_scope("IsInitialized"):
                self._is_initialized = output_of("VarIsInitializedOp", self.handle)
            self._initializer = apply("AssignVariableOp", [self.handle, self._initial], {}, f"{scope}Assign/")
            with graph.name_scope(f"{scope}Read/"):
                self._snapshot = self._read()
        names = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self.trainable and GraphKeys.TRAINABLE_VARIABLES not in names:
            names.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(names, self)

    def _read(self, name: str | None = None) -> Tensor:
        found = output_of("ReadVariableOp", self.handle, dtype=self._dtype, name=name)
        if found.shape.rank is None:
            found.set_shape(self._shape)
        return found

    # What it is.

    @property
    def name(self) -> str:
        """Its name, with `:0`."""
        return self.handle.name

    @property
    def graph(self) -> Graph:
        """The graph that it is in."""
        return self._graph

    @property
    def op(self) -> Operation:
        """The operation that makes its handle."""
        return self.handle.op

    @property
    def dtype(self) -> DType:
        """The type of what it holds."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The sizes of what it holds."""
        return self._shape

    @property
    def device(self) -> str:
        """Where it is."""
        return self.handle.device

    @property
    def initializer(self) -> Operation:
        """The operation that gives it its first value."""
        return self._initializer

    @property
    def initial_value(self) -> Tensor:
        """Its first value."""
        return self._initial

    @property
    def graph_element(self) -> Tensor:
        """What a session fetches for it."""
        return self._snapshot

    @property
    def shape_only(self) -> Tensor:
        """A tensor of its type and sizes."""
        return self._snapshot

    def get_shape(self) -> TensorShape:
        """The sizes of what it holds."""
        return self._shape

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether it has a value."""
        return self._is_initialized

    def initialized_value(self) -> Tensor:
        """Its value, or its first one where it has none."""
        graph = get_default_graph()
        with graph.name_scope("cond") as scope:
            branches = [Traced(one, [], graph) for one in (self.value, lambda: self._initial)]
            return one_of(graph, self.is_initialized(), branches, scope)[0]

    # Reads.

    def value(self) -> Tensor:
        """A node that reads it."""
        return self._read()

    def read_value(self) -> Tensor:
        """A node that reads it, and one that others may be made to wait for."""
        with self._graph.name_scope("Read"):
            found = self._read()
        return output_of("Identity", found)

    def dense_tensor(self, dtype: Any = None, name: str = "") -> Tensor:
        """What it holds, where a tensor is taken.

        Raises:
            ValueError: another type is asked for.
        """
        if dtype is not None and not as_dtype(dtype).is_compatible_with(self._dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type '{as_dtype(dtype).name}' for variable of type "
                f"'{self._dtype.name}'"
            )
        return self._read()

    def eval(self, session: Any = None) -> Any:
        """Its value in a session, by default the innermost."""
        return self._snapshot.eval(session=session)

    # Writes.

    def _written(self, op: str, value: Any, name: str | None, *, read_value: bool) -> Any:
        value = convert_to_tensor(value, self._dtype)
        self._shape.assert_is_compatible_with(value.shape)
        operation = apply(op, [self.handle, value], {}, name)
        if not read_value:
            return operation
        with self._graph.control_dependencies([operation]):
            return self._read()

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Let it hold another `value`, of its type and shape.

        Args:
            value: a tensor, or what becomes one.
            use_locking: changes nothing: a write is whole.
            name: of the node, None for that of the op.
            read_value: whether what it holds afterwards is given, instead of the operation that writes.
        """
        return self._written("AssignVariableOp", value, name, read_value=read_value)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add `delta` to what it holds; `use_locking`, `name` and `read_value` are as of `assign`."""
        return self._written("AssignAddVariableOp", delta, name, read_value=read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Take `delta` from what it holds; `use_locking`, `name` and `read_value` are as of `assign`."""
        return self._written("AssignSubVariableOp", delta, name, read_value=read_value)

    def writer(self, op: str) -> str:
        """The op that does to what it holds what `op` does to a resource: that op, where it is one."""
        return op

    def slot(self, value: Any, name: str) -> Variable:
        """A variable that an optimizer keeps beside it.

        Args:
            value: its first value.
            name: its name.
        """
        return Variable(value, trainable=False, name=name)

    def load(self, value: Any, session: Any = None) -> None:
        """Let it hold a value in a session, by default the innermost."""
        found = self._graph.session_for(session, "Cannot load a value", "load")
        found.run(self._initializer, {self._initializer.inputs[1]: value})

    def set_shape(self, shape: Any) -> None:
        """Say more of its sizes."""
        self._shape = self._shape.merge_with(shape)

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self._shape} dtype={self._dtype.name}>"

    __hash__ = object.__hash__


def first_value(graph: Graph, initial_value: Any, dtype: Any = None) -> Tensor:
    """What a variable begins with; what a function makes for it stands in the scope of initializers.

    Args:
        graph: where it is.
        initial_value: the value, or a function without arguments that gives it.
        dtype: its type, None for that which it has.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if callable(initial_value) and not hasattr(initial_value, "dense_tensor"):
        with graph.name_scope("Initializer"):
            return convert_to_tensor(initial_value(), wanted, "initial_value")
    return convert_to_tensor(initial_value, wanted, "initial_value")


def _operator(name: str) -> Callable[..., Any]:
    def operator(self: Variable, *others: Any) -> Any:
        return getattr(Tensor, name)(self.value(), *others)

    return operator


for _name in OPERATORS:
    setattr(Variable, _name, _operator(_name))


def _sliced(self: Variable, key: Any) -> Tensor:
    """A piece of what a variable holds; by its `assign` it is replaced where it is."""
    piece = Tensor.__getitem__(self.value(), key)
    if piece.op.type == "StridedSlice":

        def assign(value: Any, name: str | None = None) -> Tensor:
            return _replaced(self, piece.op, value, name)

        piece.assign = assign  # type: ignore[attr-defined]  # TensorFlow has it of such tensors alone
    return piece


def _replaced(variable: Variable, piece: Operation, value: Any, name: str | None) -> Tensor:
    """What a variable holds when a piece of it was replaced."""
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    given = [variable.handle, *piece.inputs[1:], convert_to_tensor(value, variable.dtype)]
    written = apply("ResourceStridedSliceAssign", given, {one: piece.get_attr(one) for one in masks}, name)
    with variable.graph.control_dependencies([written]):
        return variable.value()


Variable.__getitem__ = _sliced  # type: ignore[method-assign, assignment]  # as the other operators
