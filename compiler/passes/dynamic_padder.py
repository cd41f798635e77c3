"""Arrays of sizes known at run time only become arrays of their bounds, with the sizes as values beside them.

Back ends then see static shapes alone.  A tuple that holds such arrays, the state of a loop say, holds the sizes too.
The entry takes a size for each dynamic dimension of its parameters, behind them, and gives those of its results behind
these; whoever calls it pads and cuts (`backends/padded.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from compiler.expansion.expression import Expression, element
from compiler.expansion.sized import Sized, same_opcode, static
from compiler.expansion.sized_rules import MAKERS, RULES, elementwise
from compiler.ir.attributes import OF_ENTRY
from compiler.ir.control import PREDECESSORS
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import UNBOUNDED, ArrayShape, Shape, TupleShape, leaves
from compiler.ir.types import S32
from compiler.ops import OPS
from compiler.ops.build import build, parameter

Value = Sized | tuple["Value", ...]
"""What stands for an instruction: arrays in the structure of its tuples."""

_SIZE = ArrayShape(S32, ())
_BRANCHES = ("true_computation", "false_computation")


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    dynamic = next((i for i in module.instructions() if any(leaf.is_dynamic for leaf in leaves(i.shape))), None)
    if dynamic is None:
        return False
    fuel.spend("put sizes beside arrays", dynamic, required=True)
    module.replace_entry(_Padder(module).entry(), forget=OF_ENTRY)
    return True


class _Padder:
    """One program while it is written anew."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.control: dict[str, Callable[[Instruction, Sequence[Value], Computation], Value]] = {
            "tuple": lambda _, operands, __: tuple(operands),
            "get-tuple-element": _element,
            "opt-barrier": lambda _, operands, __: operands[0],
            "call": self._called,
            "fusion": self._called,
            "while": self._while,
            "conditional": self._conditional,
        }

    def entry(self) -> Computation:
        """The entry, with sizes behind its parameters and behind its results."""
        source, target = self.module.entry, Computation(self.module.entry.name)
        given = [parameter(target, p.parameter_number, static(p.shape), name=p.name) for p in source.parameters]
        sizes = _parameters(target, len(given), [_SIZE] * sum(_dynamic_count(p.shape) for p in source.parameters))
        arguments = [_taken_apart(p, o.shape, sizes) for p, o in zip(given, source.parameters, strict=True)]
        result = _stated(source.root, self.body(source, target, arguments))
        target.root = build(target, "tuple", [_put_together(result, target), *_sizes(result, source.root.shape)])
        return self.module.add_computation(target)

    def body(self, source: Computation, target: Computation, arguments: Sequence[Value]) -> Value:
        """A computation's body in another, on arguments there; returns what stands for the root."""
        values: dict[Instruction, Value] = {}
        for instruction in source.instructions:
            if instruction.opcode == "parameter":
                values[instruction] = arguments[instruction.parameter_number]
                continue
            operands = [values[operand] for operand in instruction.operands]
            values[instruction] = _stated(instruction, self._written(instruction, operands, target))
        return values[source.root]

    def _written(self, instruction: Instruction, operands: Sequence[Value], target: Computation) -> Value:
        opcode = instruction.opcode
        if opcode in self.control:
            return self.control[opcode](instruction, operands, target)
        arrays = [o if isinstance(o, Sized) else Sized(_put_together(o, target)) for o in operands]
        has_sizes = any(value.sizes for operand in operands for value in _arrays(operand))
        if opcode in RULES and (has_sizes or opcode in MAKERS):
            return RULES[opcode](instruction, arrays)
        if has_sizes and not OPS[opcode].elementwise:
            raise instruction.unsupported("the size of an operand is known at run time only")
        return elementwise(instruction, arrays) if has_sizes else _anew(instruction, arrays, target)

    def _called(self, instruction: Instruction, operands: Sequence[Value], target: Computation) -> Value:
        (callee,) = instruction.called_computations()
        return self.body(callee, target, operands)

    def _callee(self, source: Computation, shape: Shape) -> tuple[Computation, Value]:
        """A computation of one argument in which sizes go with arrays; the value of its root."""
        copy = Computation(source.name)
        result = self.body(source, copy, [_flat(parameter(copy, 0, _flat_shape(shape)), shape)])
        return copy, result

    def _while(self, instruction: Instruction, operands: Sequence[Value], target: Computation) -> Value:
        shape = instruction.shape
        condition, goes_on = self._callee(instruction.attributes["condition"], shape)
        condition.root = _put_together(goes_on, condition)
        body, following = self._callee(instruction.attributes["body"], shape)
        body.root = _together(following, shape, body)
        callees = [self.module.add_computation(computation) for computation in (condition, body)]
        initial = _together(_stated(instruction, operands[0]), shape, target)
        loop = build(target, "while", [initial], condition=callees[0], body=callees[1], name=instruction.name)
        return _flat(loop, shape)

    def _conditional(self, instruction: Instruction, operands: Sequence[Value], target: Computation) -> Value:
        index, *arguments = operands
        attributes = dict(instruction.attributes)
        named = [attributes[name] for name in _BRANCHES if name in attributes]
        branches = attributes.get("branch_computations") or tuple(named)
        given, callees = [_put_together(index, target)], []
        for branch, argument in zip(branches, arguments, strict=True):
            shape = branch.parameters[0].shape
            copy, result = self._callee(branch, shape)
            copy.root = _together(_settled(result, instruction.shape, branch.root), instruction.shape, copy)
            callees.append(self.module.add_computation(copy))
            given.append(_together(_settled(argument, shape, instruction), shape, target))
        new = dict(zip(_BRANCHES, callees, strict=True)) if named else {"branch_computations": tuple(callees)}
        return _flat(build(target, "conditional", given, name=instruction.name, **new), instruction.shape)


def _element(instruction: Instruction, operands: Sequence[Value], target: Computation) -> Value:
    (whole,) = operands
    if isinstance(whole, tuple):
        return whole[instruction.attributes["index"]]
    return _anew(instruction, [whole], target)


def _anew(instruction: Instruction, arrays: Sequence[Sized], target: Computation) -> Value:
    """An instruction none of whose operands has sizes."""
    if arrays:
        return Sized(same_opcode(instruction, arrays))
    copy = instruction.clone([], shape=static(instruction.shape))
    copy.attributes.pop(PREDECESSORS, None)
    return Sized(target.add(copy))


def _stated(instruction: Instruction, value: Value) -> Value:
    return _settled(value, instruction.shape, instruction)


def _settled(value: Value, shape: Shape, instruction: Instruction) -> Value:
    """A value with sizes for exactly the dimensions that a shape says are dynamic."""
    if isinstance(value, tuple):
        assert isinstance(shape, TupleShape)
        return tuple(
            _settled(element_, inner, instruction) for element_, inner in zip(value, shape.elements, strict=True)
        )
    if isinstance(shape, TupleShape):
        if not _dynamic_count(shape):
            return value
        elements = [Sized(element(value.instruction, index)) for index in range(len(shape.elements))]
        return _settled(tuple(elements), shape, instruction)
    if not isinstance(shape, ArrayShape):
        return value
    if UNBOUNDED in shape.dims:
        raise instruction.unsupported(f"{shape} has a dimension without a bound")
    flags = shape.dynamic or (False,) * shape.rank
    lost = [d for d in value.sizes if not flags[d]]
    if lost:
        raise instruction.unsupported(f"the size of dimension {lost[0]} of {shape} is known at run time only")
    return Sized(value.instruction, {d: value.size(d) for d, flag in enumerate(flags) if flag})


def _arrays(value: Value) -> Iterator[Sized]:
    if isinstance(value, Sized):
        yield value
    else:
        for element_ in value:
            yield from _arrays(element_)


def _put_together(value: Value, target: Computation) -> Instruction:
    """One instruction for a value, without its sizes."""
    if isinstance(value, Sized):
        return value.instruction
    return build(target, "tuple", [_put_together(element_, target) for element_ in value])


def _sizes(value: Value, shape: Shape) -> list[Instruction]:
    """The sizes of a value's arrays in the order of its leaves and their dimensions."""
    if isinstance(value, tuple):
        assert isinstance(shape, TupleShape)
        return [size for element_, inner in zip(value, shape.elements, strict=True) for size in _sizes(element_, inner)]
    return [value.sizes[d].instruction for d in sorted(value.sizes)]


def _together(value: Value, shape: Shape, target: Computation) -> Instruction:
    """One instruction for a value and its sizes: a pair of both where there are sizes."""
    whole, sizes = _put_together(value, target), _sizes(value, shape)
    return build(target, "tuple", [whole, *sizes]) if sizes else whole


def _flat_shape(shape: Shape) -> Shape:
    count = _dynamic_count(shape)
    return TupleShape((static(shape), *[_SIZE] * count)) if count else static(shape)


def _flat(instruction: Instruction, shape: Shape) -> Value:
    """What `_together` put together."""
    count = _dynamic_count(shape)
    if not count:
        return Sized(instruction)
    sizes = iter([element(instruction, 1 + index) for index in range(count)])
    return _taken_apart(element(instruction, 0), shape, sizes)


def _taken_apart(instruction: Instruction, shape: Shape, sizes: Iterator[Instruction]) -> Value:
    """The arrays of an instruction with their sizes, which come in order."""
    if not _dynamic_count(shape):
        return Sized(instruction)
    if isinstance(shape, TupleShape):
        return tuple(
            _taken_apart(element(instruction, k), element_, sizes) for k, element_ in enumerate(shape.elements)
        )
    assert isinstance(shape, ArrayShape)
    return Sized(instruction, {d: Expression(next(sizes)) for d, flag in enumerate(shape.dynamic) if flag})


def _dynamic_count(shape: Shape) -> int:
    return sum(sum(leaf.dynamic) for leaf in leaves(shape))


def _parameters(target: Computation, first: int, shapes: Sequence[Shape]) -> Iterator[Instruction]:
    return iter([parameter(target, first + index, shape) for index, shape in enumerate(shapes)])
