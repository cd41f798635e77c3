"""Functions of the namespace made from the records of ops and the rows of `ops/rows.py`.

A function takes the arguments that its row says and `name`, and gives the node's output, a tuple or list of them
where there are several, or the operation where there is none.  `raw_ops` has a function of keywords for every record.
"""

from __future__ import annotations

import ast
import inspect
from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from compiler.tf import RECORDS, AttributeList, DataType, PartialShape, Record
from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.dtypes import of_data_type
from xlabench.tensorflow.framework.tensor import Operation
from xlabench.tensorflow.ops.rows import rows

_REQUIRED = inspect.Parameter.empty


class Argument(NamedTuple):
    """An argument of a function: its names, the input or attribute that it is, its default."""

    names: tuple[str, ...]
    port: str
    default: Any


_NAME = Argument(("name",), "name", None)
"""The name of the node, which stands behind all others where a row does not say where."""
_REDUCTIONS = ("Sum", "Mean", "Prod", "EuclideanNorm", "Max", "Min", "All", "Any")
_PUBLIC = {
    **{f"{op}.reduction_indices": "axis" for op in _REDUCTIONS},
    "ExpandDims.dim": "axis",
    "Squeeze.squeeze_dims": "axis",
    "Split.split_dim": "axis",
    "SplitV.split_dim": "axis",
    "Select.t": "x",
    "Select.e": "y",
    "Where.input": "condition",
}
"""What `raw_ops` calls an input or attribute where graphs call it otherwise (TensorFlow, core/api_def/base_api)."""


@cache
def function(name: str) -> Callable[..., Any] | None:
    """The function of a public name, None where no row has it.

    Raises:
        AttributeError: its op has no record.
    """
    row = rows().get(name)
    if row is None:
        return None
    if row.op not in RECORDS:
        raise AttributeError(f"tf.{name}: the op {row.op} has no lowering here, and so neither a kernel nor a function")
    record = RECORDS[row.op]
    return _made(name.rpartition(".")[2], record, arguments_of(record, row.arguments), row.node_name)


@cache
def raw(op: str) -> Callable[..., Any]:
    """The function of `raw_ops` for an op."""
    return _made(op, RECORDS[op], arguments_of(RECORDS[op], ""), op)


def arguments_of(record: Record, text: str) -> tuple[Argument, ...]:
    """The arguments that a row says, or those that the signature has."""
    if text:
        given = tuple(_argument(word) for word in text.split())
        return given if any(one.port == "name" for one in given) else (*given, _NAME)
    signature = record.signature
    ports = {port.name: _REQUIRED for port in signature.inputs}
    inferred = {port.type for port in signature.inputs} | {port.number for port in signature.inputs}
    stated = {
        row.name: _REQUIRED if row.default is None else _python(row.default)
        for row in signature.attributes.values()
        if row.name not in inferred
    }
    ordered = sorted({**ports, **stated}.items(), key=lambda pair: pair[1] is not _REQUIRED)
    named = (Argument((_PUBLIC.get(f"{record.name}.{name}", name),), name, default) for name, default in ordered)
    return (*named, _NAME)


def _argument(word: str) -> Argument:
    if word == "name":
        return _NAME
    word, _, default = word.partition("=")
    public, _, port = word.partition(">")
    names = tuple(public.split("|"))
    return Argument(names, port or names[0], ast.literal_eval(default) if default else _REQUIRED)


def _python(value: Any) -> Any:
    if isinstance(value, DataType):
        return of_data_type(value)
    if isinstance(value, AttributeList):
        return tuple(_python(one) for one in value.values)
    if isinstance(value, PartialShape):
        return None
    return value.decode() if isinstance(value, bytes) else value


def _made(name: str, record: Record, arguments: tuple[Argument, ...], word: str) -> Callable[..., Any]:
    """A function by a row; its nodes are called `word` where the caller says nothing else."""
    by_name = {spelled: argument for argument in arguments for spelled in argument.names}
    order = [argument.names[0] for argument in arguments]
    stated = tuple(argument for argument in arguments if argument.port != "name")

    def call(*positional: Any, **keywords: Any) -> Any:
        if len(positional) > len(order):
            raise TypeError(f"{name}() takes {len(order)} positional arguments but {len(positional)} were given")
        given = dict(zip(order, positional, strict=False))
        for key, value in keywords.items():
            spelled = by_name[key].names[0] if key in by_name else key
            if spelled not in order:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
            if given.get(spelled) is not None and value is not None:
                raise TypeError(f"{name}() got multiple values for argument '{spelled}'")
            if value is not None or spelled not in given:
                given[spelled] = value
        node_name = given.pop("name", None) or word
        values = {}
        for argument in stated:
            value = given.get(argument.names[0], argument.default)
            if value is _REQUIRED:
                raise TypeError(f"{name}() missing required argument: '{argument.names[0]}'")
            values[argument.port] = value
        return applied(record, values, node_name)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{record.doc}\n\nThe op {record.name}: {' '.join(order)}."
    call.__signature__ = _signature(arguments)  # type: ignore[attr-defined]  # functions may have one
    return call


def _signature(arguments: tuple[Argument, ...]) -> inspect.Signature:
    """What a call may give: the arguments in order, and their other spellings behind them."""
    shown, is_optional = [], False
    for argument in arguments:
        is_optional = is_optional or len(argument.names) > 1 or argument.default is not _REQUIRED
        default = None if is_optional and argument.default is _REQUIRED else argument.default
        shown.append((argument.names[0], default))
    others = [(word, None) for argument in arguments for word in argument.names[1:]]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(word, kind, default=default) for word, default in [*shown, *others]])


def applied(record: Record, values: Mapping[str, Any], name: str | None) -> Any:
    """What the op of a `record` gives for `values`, its inputs and attributes by their names; its node is `name`."""
    inputs = [values[port.name] for port in record.signature.inputs]
    attributes = {key: value for key, value in values.items() if key in record.signature.attributes}
    return results_of(apply(record.name, inputs, attributes, name))


def results_of(operation: Operation) -> Any:
    """What a function gives of an operation: its output, its outputs, by the op's names for them, or itself."""
    ports = operation.built.signature.outputs
    if not ports:
        return operation
    if len(ports) == 1 and ports[0].is_one:
        return operation.outputs[0]
    if all(port.is_one for port in ports):
        return _named(operation.type, tuple(port.name for port in ports))(*operation.outputs)
    return list(operation.outputs)


@cache
def _named(op: str, names: tuple[str, ...]) -> type[Any]:
    """A tuple whose elements have names."""
    return namedtuple(op, names)
