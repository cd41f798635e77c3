"""Mixed precision: floats of different width among an instruction's operands, result and called computations.

XLA's verifier takes them as one type wherever an op computes or moves elements, so such programs are valid; the op
records know uniform types only.  Here, and nowhere else, an instruction of mixed precision is given its meaning: its
operands are converted to the widest of the types in play, the op is done in that type, its result is converted to the
one stated.  `unify` writes that down as a computation, which the reference evaluates in the instruction's place and
passes put there.  A called computation keeps its own types, between converts; only a collective's, which names a
reduction and no more, takes the type of what is reduced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.diagnostics import CompilerError, ShapeError
from compiler.ir.combiner import binary_opcode
from compiler.ir.control import PREDECESSORS, stand_in
from compiler.ir.module import Attributes, Computation, Instruction, Module, inline
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ir.shape_rules import UNSTATED, agree, is_stated
from compiler.ir.types import ElementType, wider
from compiler.ops import OPS, Trait, having, narrowing

EXACT = having(Trait.STRICT_TYPES)
"""Opcodes that reinterpret values or hand them on as they are: their types must match exactly."""

_REDUCING = having(Trait.COLLECTIVE) & having(Trait.COMBINES)

_OF_OPERANDS = (
    narrowing(Trait.INDEXED | Trait.COMBINES, "dynamic-update-slice scatter select-and-scatter") | {"sort"} | _REDUCING
)
"""Ops whose result, where none is stated, has the types of as many operands."""


def infer(instruction: Instruction) -> Shape:
    """The shape that the instruction's op gives, by its rule or, in mixed precision, by that of the unified op.

    What is stated may differ from it in the widths of floats, where the op takes that.  Raises a ShapeError where
    nothing fits.
    """
    op = OPS[instruction.opcode]
    try:
        inferred = op.infer(instruction)
    except ShapeError:
        if instruction.opcode in EXACT:
            raise
        return _unified_shape(instruction, op)
    if not is_stated(instruction) or instruction.opcode in EXACT or agree(inferred, instruction.shape):
        return inferred
    return instruction.shape if _agree_but_for_widths(inferred, instruction.shape) else inferred


def derived(instruction: Instruction) -> Shape:
    """The shape that an instruction's operands give; the stated one where they give that, or none."""
    if OPS[instruction.opcode].miscounted(len(instruction.operands)):
        return instruction.shape
    try:
        inferred = infer(instruction)
    except ShapeError:
        return instruction.shape
    return instruction.shape if agree(inferred, instruction.shape) else inferred


def _unified_shape(instruction: Instruction, op: Op) -> Shape:
    """What an instruction yields whose operands do not go together as they are."""
    try:
        body = _unify(instruction, op)
    except ShapeError:
        body = None
    if body is None:
        return op.infer(instruction)
    return body.root.shape


def is_mixed(instruction: Instruction) -> bool:
    """Whether an instruction of a valid module is one that its op's record does not know as it is."""
    if instruction.opcode in EXACT or not instruction.operands or not _looks_mixed(instruction):
        return False
    try:
        return not agree(OPS[instruction.opcode].infer(instruction), instruction.shape)
    except CompilerError:
        return True


def unify(instruction: Instruction) -> Computation:
    """A computation of an instruction's operands in which the op has one float type, between converts."""
    return _unify(instruction, OPS[instruction.opcode])


def evaluation(instruction: Instruction) -> Callable[[Instruction, Sequence[Value], Evaluator], Value]:
    """The NumPy meaning of an instruction of mixed precision."""
    body = unify(instruction)

    def meaning(_: Instruction, values: Sequence[Value], evaluator: Evaluator) -> Value:
        known: dict[Instruction, Value] = {}
        for step in body.instructions:
            if step.opcode == "parameter":
                known[step] = values[step.parameter_number]
                continue
            evaluate = OPS[step.opcode].evaluate
            assert evaluate is not None, f"{step.opcode} has no meaning on one host"
            known[step] = evaluate(step, [known[operand] for operand in step.operands], evaluator)
        return known[body.root]

    return meaning


def unify_module(module: Module, allow: Callable[[Instruction], Any] = lambda _: None) -> bool:
    """Unify every instruction of mixed precision, in place; `allow` hears of each.  Returns whether there was one."""
    changed = False
    pending = list(module.computations)
    known = set(pending)
    for computation in pending:
        mixed = [instruction for instruction in computation.instructions if is_mixed(instruction)]
        for instruction in mixed:
            allow(instruction)
            body = unify(instruction)
            result = inline(body, instruction.operands, computation.add)
            instruction.replace_uses_with(result)
            stand_in(computation, instruction, result)
            added = [c for step in body.instructions for c in step.called_computations() if c not in known]
            for callee in dict.fromkeys(added):
                known.add(module.add_computation(callee))
                pending.append(callee)
        if mixed:
            computation.remove(mixed)
            computation.sort()
            changed = True
    if changed:
        module.sort_computations()
    return changed


def unified(module: Module) -> Module:
    """The module, or a copy without mixed precision where it has some."""
    if not any(map(is_mixed, module.instructions())):
        return module
    copy = module.clone()
    unify_module(copy)
    return copy


def _float_types(instruction: Instruction) -> list[ElementType]:
    """The float types in play: operands', result's, and those that called computations take and give; each once."""
    shapes = [operand.shape for operand in instruction.operands]
    if is_stated(instruction):
        shapes.append(instruction.shape)
    for callee in instruction.called_computations():
        shapes += [callee.root.shape, *(parameter.shape for parameter in callee.parameters)]
    types: dict[ElementType, None] = {}
    for shape in shapes:
        if isinstance(shape, ArrayShape):  # nearly always
            types[shape.element_type] = None
        else:
            types |= dict.fromkeys(leaf.element_type for leaf in leaves(shape))
    return [type_ for type_ in types if type_.is_float]


def _looks_mixed(instruction: Instruction) -> bool:
    return len(_float_types(instruction)) > 1 or (instruction.opcode in _REDUCING and _is_foreign(instruction))


def _is_foreign(instruction: Instruction) -> bool:
    """Whether a collective's computation takes something else than scalars of what is reduced."""
    parameters = instruction.attributes["to_apply"].parameters
    wanted = [ArrayShape(leaf.element_type, ()) for o in instruction.operands for leaf in leaves(o.shape)]
    return any(not agree(parameter.shape, shape) for shape in wanted for parameter in parameters)


def _agree_but_for_widths(left: Shape, right: Shape) -> bool:
    """Whether two shapes are the same when all floats are one type."""
    types = {leaf.element_type for shape in (left, right) for leaf in leaves(shape) if leaf.element_type.is_float}
    if not types:
        return False
    one = next(iter(types))
    return agree(_widened(left, one), _widened(right, one))


def _widened(shape: Shape, element_type: ElementType) -> Shape:
    """A shape whose floats have all become one type."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(_widened(element, element_type) for element in shape.elements))
    if isinstance(shape, ArrayShape) and shape.element_type.is_float:
        return shape.with_type(element_type)
    return shape


def _unify(instruction: Instruction, op: Op) -> Computation:
    types = _float_types(instruction)
    if instruction.opcode in _REDUCING and _is_foreign(instruction):
        return _reduced_apart(instruction, op)
    if not types:
        op.infer(instruction)
        raise ShapeError(f"{instruction.opcode} has no floats to convert")
    wide = types[0]
    for element_type in types[1:]:
        wide = wider(wide, element_type)
    body = Computation(f"{instruction.name}.unified")
    parameters = _parameters(body, [operand.shape for operand in instruction.operands])
    operands = [_converted(body, parameter, _widened(parameter.shape, wide)) for parameter in parameters]
    core = _core(instruction, operands, wide)
    shape = op.infer(core)
    core.shape = shape
    body.add(core)
    body.root = _converted(body, core, instruction.shape if is_stated(instruction) else _unstated(instruction, shape))
    return body


def _core(instruction: Instruction, operands: Sequence[Instruction], wide: ElementType) -> Instruction:
    attributes: Attributes = {}
    for name, value in instruction.attributes.items():
        if isinstance(value, Computation):
            attributes[name] = _adapted(value, wide)
        elif name != PREDECESSORS:
            attributes[name] = value
    stated = _widened(instruction.shape, wide) if is_stated(instruction) else UNSTATED
    return Instruction(instruction.opcode, stated, operands, attributes, name=instruction.name)


def _parameters(computation: Computation, shapes: Sequence[Shape]) -> list[Instruction]:
    return [
        computation.add(Instruction("parameter", shape, (), {"parameter_number": number}, name=f"p{number}"))
        for number, shape in enumerate(shapes)
    ]


def _adapted(callee: Computation, wide: ElementType) -> Computation:
    """A computation that takes and gives floats of one type only, and converts them to and from what it computes in."""
    taken = [parameter.shape for parameter in callee.parameters]
    if any(number != parameter.parameter_number for number, parameter in enumerate(callee.parameters)):
        raise ShapeError(f"{callee.name} takes no parameters 0 to {len(taken) - 1}")
    given = callee.root.shape
    if all(agree(_widened(shape, wide), shape) for shape in (*taken, given)):
        return callee
    outer = Computation(f"{callee.name}.{wide}")
    parameters = _parameters(outer, [_widened(shape, wide) for shape in taken])
    own = [_converted(outer, parameter, shape) for parameter, shape in zip(parameters, taken, strict=True)]
    outer.root = _converted(outer, inline(callee, own, outer.add), _widened(given, wide))
    return outer


def _converted(computation: Computation, value: Instruction, shape: Shape) -> Instruction:
    """A value with its floats as a shape wants them; what differs otherwise is nobody's affair here."""
    if isinstance(shape, TupleShape) and isinstance(value.shape, TupleShape):
        if agree(value.shape, shape):
            return value
        results = []
        for index, (given, wanted) in enumerate(zip(value.shape.elements, shape.elements, strict=True)):
            element = Instruction("get-tuple-element", given, (value,), {"index": index})
            results.append(_converted(computation, computation.add(element), wanted))
        return computation.add(Instruction("tuple", TupleShape(tuple(p.shape for p in results)), results))
    if not isinstance(shape, ArrayShape) or not isinstance(value.shape, ArrayShape):
        return value
    if shape.element_type is value.shape.element_type:
        return value
    return computation.add(Instruction("convert", value.shape.with_type(shape.element_type), (value,)))


def _reduced_apart(instruction: Instruction, op: Op) -> Computation:
    """A collective whose computation only names a reduction: each operand is reduced by it in the operand's type."""
    named = instruction.attributes["to_apply"]
    opcode = binary_opcode(named)
    shapes = [operand.shape for operand in instruction.operands]
    if opcode is None or not all(isinstance(shape, ArrayShape) for shape in shapes):
        op.infer(instruction)
        raise ShapeError(f"{named.name}, called by {instruction.opcode}, names no reduction for {shapes}")
    stated = instruction.shape if is_stated(instruction) else UNSTATED
    single = len(shapes) == 1 and not isinstance(stated, TupleShape)
    results = stated.elements if isinstance(stated, TupleShape) else (stated,) * len(shapes)
    if len(results) != len(shapes):
        op.infer(instruction)
    body = Computation(f"{instruction.name}.unified")
    elements = []
    for parameter, result in zip(_parameters(body, shapes), results, strict=True):
        own = parameter.array.element_type
        attributes = {k: v for k, v in instruction.attributes.items() if k != PREDECESSORS}
        attributes["to_apply"] = _reduction(named, opcode, own)
        wanted = result.with_type(own) if isinstance(result, ArrayShape) and result is not UNSTATED else result
        plain = "all-reduce" if instruction.opcode == "all-reduce-start" else instruction.opcode
        result_ = Instruction(plain, wanted, (parameter,), attributes, name=instruction.name)
        result_.shape = OPS[plain].infer(result_)
        elements.append(_converted(body, body.add(result_), result_.shape if result is UNSTATED else result))
    body.root = (
        elements[0]
        if single
        else body.add(Instruction("tuple", TupleShape(tuple(p.shape for p in elements)), elements))
    )
    return body


def _reduction(named: Computation, opcode: str, element_type: ElementType) -> Computation:
    """The reduction that a computation names, of scalars of a type."""
    computation = Computation(f"{named.name}.{element_type}")
    scalar = ArrayShape(element_type, ())
    operands = _parameters(computation, [scalar, scalar])
    computation.root = computation.add(Instruction(opcode, scalar, operands))
    return computation


def _unstated(instruction: Instruction, shape: Shape) -> Shape:
    """What a unified op yields where the program leaves the types to the op."""
    opcode, operands = instruction.opcode, instruction.operands
    own: Sequence[Shape]
    if opcode in ("reduce", "map"):
        own = [*leaves(instruction.attributes["to_apply"].root.shape)]
    elif opcode == "reduce-window":
        own = [operand.shape for operand in operands[len(operands) // 2 :]]
    elif opcode in ("clamp", "triangular-solve"):
        own = [operands[1].shape]
    elif opcode in _OF_OPERANDS:
        own = [operand.shape for operand in operands]
    else:
        return shape
    types = [leaf.element_type for given in own for leaf in leaves(given)]
    if isinstance(shape, TupleShape):
        pairs = zip(shape.elements, types, strict=False)
        return TupleShape(tuple(e.with_type(t) if isinstance(e, ArrayShape) else e for e, t in pairs))
    return shape.with_type(types[0]) if isinstance(shape, ArrayShape) else shape
