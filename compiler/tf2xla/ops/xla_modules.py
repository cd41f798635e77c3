"""Programs that stand in a graph as StableHLO, as JAX exports them: read by the front end and called like a function.

Sizes that the program leaves open are those of its arguments.  What asks for more than a program says is refused by
name: functions of the graph's library that it calls, tokens, and one of several platforms chosen by an argument.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.diagnostics import CompilerError, UnsupportedError
from compiler.expansion.expression import Expression, element
from compiler.graph import PartialShape
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ops.build import build
from compiler.text.parser import parse
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Trait, record, table, with_shapes
from compiler.tf2xla.terms import Built


def _called(operation: Operation) -> list[list[Expression]]:
    if operation.attribute("function_list"):
        raise operation.unsupported("its module calls functions of the graph (function_list): write them out")
    if operation.attribute("has_token_input_output"):
        raise operation.unsupported("its module takes and gives tokens: export it without ordered effects")
    platforms = [one.decode() for one in operation.attribute("platforms")]
    if len(platforms) > 1:
        raise operation.unsupported(f"its module is for one of {', '.join(platforms)}: export it for one of them")
    args = operation.list("args")
    called = _taken(operation.module, _read(operation, args))
    _check(operation, called, args)
    result = build(operation.computation, "call", [one.instruction for one in args], to_apply=called)
    if not isinstance(result.shape, TupleShape):
        return [_typed(operation, [Expression(result)])]
    return [_typed(operation, [Expression(element(result, n)) for n in range(len(result.shape.elements))])]


def _read(operation: Operation, args: Sequence[Expression]) -> Module:
    """The module, by the front end; an error of it says which node it is in."""
    where = f"the module of node {operation.node.name!r}"
    try:
        return parse(operation.attribute("module"), filename=where, shapes=[one.dims for one in args])
    except UnsupportedError as error:
        raise operation.unsupported(str(error)) from error
    except CompilerError as error:
        raise operation.invalid(f"its module cannot be read: {error}") from error


def _taken(module: Module, read: Module) -> Computation:
    """The computations of another module as those of this one; gives its entry."""
    entry = read.entry
    assert entry is not None
    for one in read.computations:
        module.add_computation(one)
    return entry


def _check(operation: Operation, called: Computation, args: Sequence[Expression]) -> None:
    wanted, given = (
        [str(_plain(one)) for one in shapes] for shapes in (called.parameters, [a.instruction for a in args])
    )
    shown = [", ".join(one) or "nothing" for one in (wanted, given)]
    operation.require(wanted == given, f"its module takes {shown[0]}, and is given {shown[1]}")


def _plain(instruction: Instruction) -> Shape:
    """A shape without what it says of memory."""
    shape = instruction.shape
    return ArrayShape(shape.element_type, shape.dims) if isinstance(shape, ArrayShape) else shape


def _typed(operation: Operation, results: list[Expression]) -> list[Expression]:
    stated = operation.types("Tout")
    same = [one.type for one in results] == list(stated)
    shown = [", ".join(map(str, kinds)) for kinds in ([one.type for one in results], stated)]
    operation.require(same, lambda: f"its module gives {shown[0]}, and the node says {shown[1]}")
    return results


def _shapes(node: Built) -> list[PartialShape]:
    return list(node.attribute("Sout"))


RECORDS = table(
    with_shapes(
        record(
            "XlaCallModule",
            "args: Tin[] -> output: Tout[]; version: int; module: string; Sout: list(shape); Tout: list(type); "
            "Tin: list(type); dim_args_spec: list(string) = []; platforms: list(string) = []; "
            "function_list: list(func) = []; has_token_input_output: bool = false; "
            "disabled_checks: list(string) = []; use_shardy_partitioner: bool = false",
            _called,
            "A program in StableHLO.",
            traits=Trait.STATEFUL,
        ),
        _shapes,
    )
)
