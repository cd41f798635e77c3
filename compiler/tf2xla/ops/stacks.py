"""Stacks, in which loops of TensorFlow 1 keep what their gradients need: an array, and how many of its rows are used.

A program has room for as many as the stack says.  With a number that is negative it says nothing: then the program is
written once to count what is pushed, and again with room for that.
"""

from __future__ import annotations

from compiler.expansion.expression import Expression
from compiler.graph import PartialShape
from compiler.ir.types import S32
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.lists import put_at, taken_at
from compiler.tf2xla.record import Record, Trait, record, table, with_shapes
from compiler.tf2xla.terms import UNKNOWN
from compiler.tf2xla.values import Store

_MOST = 1 << 24
"""Elements of a stack: 16 million."""


def _made(operation: Operation) -> Store:
    size = operation.integer("max_size")
    variables = operation.library.variables
    name = variables.fresh(operation.node.name)
    if size < 0:
        size = variables.room_for(name)
    operation.require(size <= _MOST, f"a stack of {size} elements is more than {_MOST:,}")
    made = Store(name, operation.type("elem_type"), size=size, is_stack=True)
    variables.begin(_counter(made), operation.number(0, S32))
    return made


def _counter(stack: Store) -> str:
    return f"{stack.name}/count"


def _pushed(operation: Operation) -> Expression:
    stack, item, variables = operation.store("handle", is_stack=True), operation["elem"], operation.library.variables
    operation.require(item.type is stack.type, lambda: f"its stack is of {stack.type}, not {item.type}")
    variables.push({stack.name: 1} if stack.name in variables.unsized else {})
    if variables.shape(stack.name) is None:
        variables.begin(stack.name, operation.full(0, item.type, (stack.size, *item.dims)))
    held, count = variables.read(stack.name), variables.read(_counter(stack))
    same = held.dims[1:] == item.dims
    operation.require(same, lambda: f"its stack has elements of the sizes {list(held.dims[1:])}, not {list(item.dims)}")
    variables.write(stack.name, put_at(held, item, count))
    variables.write(_counter(stack), count + 1)
    return item


def _popped(operation: Operation) -> Expression:
    stack, variables = operation.store("handle", is_stack=True), operation.library.variables
    operation.require(stack.type is operation.type("elem_type"), lambda: f"its stack is of {stack.type}")
    operation.require(variables.shape(stack.name) is not None, "nothing was pushed to its stack")
    left = variables.read(_counter(stack)) - 1
    variables.write(_counter(stack), left)
    return taken_at(variables.read(stack.name), left)


def _closed(operation: Operation) -> None:
    operation.store("handle", is_stack=True)


def _shaped(row: Record) -> Record:
    return with_shapes(row, lambda _node: [PartialShape(())])


_TYPE = "elem_type: type"
RECORDS = table(
    _shaped(
        record(
            "StackV2",
            f"max_size: int32 -> handle: resource; {_TYPE}; stack_name: string = ''",
            _made,
            "A stack.",
            ("max_size",),
            Trait.STATEFUL,
        )
    ),
    with_shapes(
        record(
            "StackPushV2",
            "handle: resource, elem: T -> output: T; T: {any}; swap_memory: bool = false",
            _pushed,
            "One more element, which it gives.",
            traits=Trait.STATEFUL,
        ),
        lambda node: [node["elem"].shape],
    ),
    with_shapes(
        record(
            "StackPopV2",
            f"handle: resource -> elem: elem_type; {_TYPE}",
            _popped,
            "The last element, and no more of it.",
            traits=Trait.STATEFUL,
        ),
        lambda _node: [UNKNOWN],
    ),
    record("StackCloseV2", "handle: resource ->", _closed, "Nothing.", traits=Trait.STATEFUL),
)
