"""Where and in which order things are computed: outlined, inlined, looped once, guarded, repeated, reordered."""

from __future__ import annotations

from compiler.analysis.effects import control_predecessors
from compiler.generate.choices import chance, pick
from compiler.ir.control import is_ordered, predecessors
from compiler.ir.module import Computation, Instruction, inline
from compiler.ir.shape import Shape, TupleShape
from compiler.ir.types import PRED, S32
from compiler.mutation.site import Mutation, Site, filled, is_movable, is_value, scalar
from compiler.ops import OPS
from compiler.ops.build import build, parameter


def _body(site: Site, name: str) -> Computation:
    """A computation of the site's instruction alone; its parameters are the distinct operands."""
    body = site.module.add_computation(Computation(name))
    operands = _operands(site)
    given = {operand: parameter(body, number, operand.shape) for number, operand in enumerate(operands)}
    body.root = body.add(site.instruction.clone([given[o] for o in site.instruction.operands]))
    return body


def _operands(site: Site) -> list[Instruction]:
    return list(dict.fromkeys(site.instruction.operands))


def _call(site: Site) -> Instruction:
    """f(x) -> call(x), to_apply={f(x)}."""
    return site.build("call", _operands(site), to_apply=_body(site, "outlined"))


def _fusion(site: Site) -> Instruction:
    """f(x) -> fusion(x), calls={f(x)}."""
    return site.build("fusion", _operands(site), kind="kLoop", calls=_body(site, "fused"))


def _inline(site: Site) -> Instruction:
    """call(x), to_apply={f(x)} -> f(x); the same for a fusion."""
    attributes = site.instruction.attributes
    body = attributes.get("to_apply") or attributes["calls"]
    return inline(body, site.instruction.operands, site.computation.add)


def _unpacked(computation: Computation, shape: Shape) -> list[Instruction]:
    assert isinstance(shape, TupleShape)
    whole = parameter(computation, 0, shape)
    return [build(computation, "get-tuple-element", [whole], index=k) for k in range(len(shape.elements))]


def _loop(site: Site) -> Instruction:
    """f(x) -> while of one iteration, which computes f(x)."""
    operands = _operands(site)
    state = site.build("tuple", [site.scalar(0, S32), site.filled(0), *operands])
    condition = site.module.add_computation(Computation("once"))
    count, *_ = _unpacked(condition, state.shape)
    condition.root = build(condition, "compare", [count, scalar(condition, 1, S32)], direction="LT")
    body = site.module.add_computation(Computation("iteration"))
    iteration, _, *values = _unpacked(body, state.shape)
    given = dict(zip(operands, values, strict=True))
    done = body.add(site.instruction.clone([given[o] for o in site.instruction.operands], shape=site.shape))
    following = build(body, "add", [iteration, scalar(body, 1, S32)])
    body.root = build(body, "tuple", [following, done, *values])
    loop = site.build("while", [state], condition=condition, body=body)
    return site.build("get-tuple-element", [loop], index=1)


def _conditional(site: Site) -> Instruction:
    """f(x) -> conditional(true, x, 0), the second branch never being taken."""
    operands = _operands(site)
    packed = site.build("tuple", operands)
    taken = site.module.add_computation(Computation("taken"))
    given = dict(zip(operands, _unpacked(taken, packed.shape), strict=True))
    taken.root = taken.add(site.instruction.clone([given[o] for o in site.instruction.operands], shape=site.shape))
    other = site.module.add_computation(Computation("never"))
    parameter(other, 0, packed.shape)
    other.root = filled(other, 0, site.shape)
    if chance(site.choices, 50):
        test = site.scalar(True, PRED)  # noqa: FBT003
        return site.build("conditional", [test, packed, packed], true_computation=taken, false_computation=other)
    index = site.scalar(pick(site.choices, (1, 5, -1)), S32)  # what lies outside means the last branch
    return site.build("conditional", [index, packed, packed], branch_computations=(other, taken))


def _barrier(site: Site) -> Instruction:
    """`x -> opt-barrier(x)`."""
    return site.build("opt-barrier", [site.instruction])


def _in_tuple(site: Site) -> Instruction:
    """`x -> get-tuple-element(tuple(..., x, ...))`, with a barrier between them at times."""
    others = [i for i in site.instruction.operands if is_value(i)]
    elements = [site.instruction, *others[:1]]
    at = 0
    if len(elements) > 1 and chance(site.choices, 50):
        elements.reverse()
        at = 1
    packed = site.build("tuple", elements)
    if chance(site.choices, 50):
        packed = site.build("opt-barrier", [packed])
    return site.build("get-tuple-element", [packed], index=at)


def _repeat(site: Site) -> Instruction:
    """f(x) -> f(x), computed once more."""
    return site.computation.add(site.instruction.clone(site.instruction.operands))


def _dead(site: Site) -> Instruction:
    """f(x) -> f(x), and something beside it that nobody uses."""
    site.build("copy", [_repeat(site)])
    return site.instruction


def _reorder(site: Site) -> Instruction:
    """All instructions of the computation in another order in which operands come first."""
    computation = site.computation
    waiting = {i: len(set(_before(i))) for i in computation.instructions}
    after: dict[Instruction, list[Instruction]] = {}
    for instruction in computation.instructions:
        for earlier in dict.fromkeys(_before(instruction)):
            after.setdefault(earlier, []).append(instruction)
    ready = [i for i in computation.instructions if not waiting[i]]
    order: list[Instruction] = []
    while ready:
        order.append(ready.pop(site.choices.integer(0, len(ready) - 1)))
        for follower in after.get(order[-1], ()):
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    computation.instructions = order
    return site.instruction


def _before(instruction: Instruction) -> tuple[Instruction, ...]:
    return (*instruction.operands, *predecessors(instruction))


def _is_outlined(instruction: Instruction) -> bool:
    return instruction.opcode in ("call", "fusion") and not is_ordered(instruction)


def _is_fusible(instruction: Instruction) -> bool:
    return is_movable(instruction) and OPS[instruction.opcode].elementwise and bool(instruction.operands)


def _has_inputs(instruction: Instruction) -> bool:
    return is_movable(instruction) and bool(instruction.operands)


def _is_free(instruction: Instruction) -> bool:
    return is_movable(instruction) and instruction not in control_predecessors(instruction.computation)


def _is_root(instruction: Instruction) -> bool:
    return instruction.is_root and len(instruction.computation.instructions) > 2


MUTATIONS: dict[str, Mutation] = {
    "outline-into-call": Mutation(_has_inputs, _call),
    "outline-into-fusion": Mutation(_is_fusible, _fusion),
    "inline": Mutation(_is_outlined, _inline),
    "loop-once": Mutation(_has_inputs, _loop),
    "conditional": Mutation(_has_inputs, _conditional),
    "barrier": Mutation(is_value, _barrier),
    "in-tuple": Mutation(is_value, _in_tuple),
    "repeat": Mutation(_is_free, _repeat),
    "dead-code": Mutation(_is_free, _dead),
    "reorder": Mutation(_is_root, _reorder, everywhere=True),
}
