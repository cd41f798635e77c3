"""`tf.TensorArray`: what iterations of a loop write to and read from.

It is a handle and a *flow*, a number that every write gives anew and every read takes, so that the graph says in which
order they happen.  Loops carry the flow of one among their variables, and take the handle as they take any tensor of
the graph around.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.framework.shapes import TensorShape, as_shape
from xlabench.tensorflow.framework.tensor import Operation, Tensor


class TensorArray:
    """An array of tensors of one type; a write gives another object for the same array."""

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        """Make one, or an object for one that is there.

        Raises:
            ValueError: neither a size nor a handle and its flow are given, or both are.
        """
        if (size is None) is (handle is None):
            raise ValueError("Size must be provided if handle is not provided, and not otherwise")
        if (handle is None) is not (flow is None):
            raise ValueError("handle and flow must be given together")
        self.dtype = as_dtype(dtype).base_dtype
        self.dynamic_size = bool(dynamic_size)
        self._infers = infer_shape
        self._shapes = [as_shape(element_shape)]
        self._size = size
        if handle is None or flow is None:
            attributes = {
                "dtype": self.dtype,
                "element_shape": self.element_shape,
                "dynamic_size": self.dynamic_size,
                "clear_after_read": clear_after_read is not False,
                "identical_element_shapes": infer_shape,
                "tensor_array_name": tensor_array_name or "",
            }
            handle, flow = apply("TensorArrayV3", [size], attributes, name or "TensorArray").outputs
        self.handle, self.flow = handle, flow

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the sizes of an element, which the first that is written says."""
        return self._shapes[0]

    def with_flow(self, flow: Tensor) -> TensorArray:
        """An object for the same array after what has given the flow."""
        made = TensorArray(self.dtype, handle=self.handle, flow=flow, infer_shape=self._infers)
        made.dynamic_size, made._shapes, made._size = self.dynamic_size, self._shapes, self._size
        return made

    def _written(self, op: str, inputs: Sequence[Any], shape: TensorShape, name: str | None) -> TensorArray:
        if self._infers:
            self._shapes[0] = self.element_shape.merge_with(shape)
        return self.with_flow(output_of(op, self.handle, *inputs, self.flow, name=name))

    def _value(self, value: Any) -> Tensor:
        return convert_to_tensor(value, self.dtype)

    def identity(self) -> TensorArray:
        """Another object for it."""
        return self.with_flow(output_of("Identity", self.flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """The array of gradients for a `source`, the name of a walk backwards, after `flow` (None: its own)."""
        found = apply("TensorArrayGradV3", [self.handle, self.flow if flow is None else flow], {"source": source}, name)
        made = TensorArray(self.dtype, handle=found.outputs[0], flow=found.outputs[1], infer_shape=self._infers)
        made._shapes = self._shapes
        return made

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element of a number."""
        inputs = [self.handle, index, self.flow]
        found = apply("TensorArrayReadV3", inputs, {"dtype": self.dtype}, name).outputs[0]
        found.set_shape(self.element_shape)
        return found

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the element `value` at `index`, an integer scalar."""
        tensor = self._value(value)
        return self._written("TensorArrayWriteV3", [index, tensor], tensor.shape, name)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Elements of given numbers along a new dimension."""
        numbers = convert_to_tensor(indices, "int32")
        attributes = {"dtype": self.dtype, "element_shape": self.element_shape}
        found = apply("TensorArrayGatherV3", [self.handle, numbers, self.flow], attributes, name).outputs[0]
        if self.element_shape.rank is not None:
            found.set_shape(TensorShape([None]).concatenate(self.element_shape))
        return found

    def stack(self, name: str | None = None) -> Tensor:
        """All elements along a new dimension."""
        found = self.gather(output_of("Range", 0, self.size(), 1), name or "TensorArrayStack")
        if isinstance(self._size, int) and self.element_shape.rank is not None and not self.dynamic_size:
            found.set_shape(TensorShape([self._size]).concatenate(self.element_shape))
        return found

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of `value` as the elements at `indices`, a vector of integers."""
        tensor = self._value(value)
        return self._written("TensorArrayScatterV3", [indices, tensor], _row_of(tensor), name)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array with rows under their numbers."""
        tensor = self._value(value)
        count = rows_of(tensor)
        return self.scatter(output_of("Range", 0, count, 1), tensor, name or "TensorArrayUnstack")

    def concat(self, name: str | None = None) -> Tensor:
        """All elements along their first dimension."""
        rest = TensorShape(None) if self.element_shape.rank is None else TensorShape(self.element_shape.as_list()[1:])
        attributes = {"dtype": self.dtype, "element_shape_except0": rest}
        found: Tensor = apply("TensorArrayConcatV3", [self.handle, self.flow], attributes, name).outputs[0]
        if rest.rank is not None:
            found.set_shape(TensorShape([None]).concatenate(rest))
        return found

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array with pieces of `value`, one behind another, of so many rows as the vector `lengths` says."""
        tensor, sizes = self._value(value), convert_to_tensor(lengths, "int64")
        dims = tensor.shape.as_list() if tensor.shape.rank else None
        shape = TensorShape(None if dims is None else [None, *dims[1:]])
        return self._written("TensorArraySplitV3", [tensor, sizes], shape, name)

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are."""
        if self._size is not None and not self.dynamic_size:
            return convert_to_tensor(self._size, "int32")
        return output_of("TensorArraySizeV3", self.handle, self.flow, name=name)

    def close(self, name: str | None = None) -> Operation:
        """Let what it holds go."""
        return apply("TensorArrayCloseV3", [self.handle], {}, name)


def _row_of(value: Tensor) -> TensorShape:
    return TensorShape(value.shape.as_list()[1:]) if value.shape.rank else TensorShape(None)


def rows_of(value: Tensor) -> Any:
    """How many rows a tensor has: a number, or a tensor where it is not known."""
    known = value.shape.as_list()[0] if value.shape.rank else None
    if known is not None:
        return known
    sizes = output_of("Shape", value)
    return sizes[0]


def tensor_of(leaf: Any) -> Any:
    """What a loop or branch carries of a value: of an array its flow."""
    return leaf.flow if isinstance(leaf, TensorArray) else leaf


def like(leaf: Any, tensor: Any) -> Any:
    """A value as another: an array after the flow where that is one."""
    return leaf.with_flow(tensor) if isinstance(leaf, TensorArray) else tensor
