"""Planted miscompiles: each damages one step of the real compiler in a worker process of a test, never anywhere else.

A mutant is asked for as an engine factory, `mutants:NAME`; making the engine damages the process that it is made in.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from mutant_host import program

from compiler import pipeline
from compiler.analysis import buffers
from compiler.backends.cpu.kernels import loop
from compiler.backends.nvptx.kernels import grid
from compiler.codegen import element, elemental, scalar
from compiler.codegen.llvm_ir import floating, integer
from compiler.ir.module import Instruction
from compiler.ops.build import build
from compiler.passes import (
    algebraic_simplification,
    constant_folding,
    copy_insertion,
    cse,
    data_movement_simplification,
    flatten_calls,
)
from xlabench.engines import engine as real_engine


@dataclass(frozen=True)
class Mutant:
    """One bug: how it is planted, lines in which it shows, and who must get the blame."""

    plant: Callable[[], None]
    snippet: str
    blamed: str
    engine: str = "cpu:threads=1"

    @property
    def text(self):
        return program(self.snippet)


# --- passes that are tables of rules


def _rule(table, opcode, name, wrong):
    """Put a wrong rule, under the name of the right one, first."""
    wrong.__name__ = name

    def plant():
        table[opcode] = (wrong, *(r for r in table.get(opcode, ()) if r.__name__ != name))

    return plant


ALGEBRA = algebraic_simplification.RULES
MOVEMENT = data_movement_simplification.RULES


def _negate_negate(instruction):
    (operand,) = instruction.operands
    return operand if operand.opcode == "negate" else None


def _subtract_zero(instruction):
    left, right = instruction.operands
    value = algebraic_simplification.scalar_of(left)
    return right if value is not None and value == 0 else None


def _divide_by_power_of_two(instruction):
    value = algebraic_simplification.scalar_of(instruction.operands[1])
    if value is None or value != 4:
        return None
    return build(instruction.computation, "multiply", list(instruction.operands))


def _select_constant(instruction):
    condition, then, otherwise = instruction.operands
    value = algebraic_simplification.scalar_of(condition)
    return None if value is None else otherwise if value else then


def _select_same(instruction):
    return instruction.operands[1] if instruction.operands[1].opcode == instruction.operands[2].opcode else None


def _reduce_nothing(instruction):
    operand, _ = instruction.operands
    if [operand.array.dims[d] for d in instruction.attributes["dimensions"]] != [1]:
        return None
    return build(instruction.computation, "reshape", [operand], shape=instruction.shape)


def _abs_abs(instruction):
    return instruction.operands[0] if instruction.operands[0].opcode in ("abs", "multiply") else None


def _multiply_one(instruction):
    value = algebraic_simplification.scalar_of(instruction.operands[1])
    return instruction.operands[0] if value is not None and abs(value) == 1 else None


def _transpose_of_transpose(instruction):
    (inner,) = instruction.operands
    if inner.opcode != "transpose":
        return None
    first, second = inner.attributes["dimensions"], instruction.attributes["dimensions"]
    wrong = tuple(second[d] for d in first)
    made = build(instruction.computation, "transpose", inner.operands, dimensions=wrong)
    return made if made.shape == instruction.shape else None


def _transpose_of_units(instruction):
    (operand,) = instruction.operands
    if instruction.array.rank != 3:
        return None
    return build(instruction.computation, "reshape", [operand], shape=instruction.shape)


def _broadcast_of_broadcast(instruction):
    (inner,) = instruction.operands
    if inner.opcode != "broadcast" or inner.operands[0].array.rank != 1:
        return None
    wrong = (1,) if inner.operands[0].array.dims[0] == instruction.array.dims[1] else (0,)
    return build(instruction.computation, "broadcast", inner.operands, shape=instruction.shape, dimensions=wrong)


def _reverse_nothing(instruction):
    return instruction.operands[0] if len(instruction.attributes["dimensions"]) == 1 else None


def _reshape_of_reshape(instruction):
    (inner,) = instruction.operands
    if inner.opcode != "transpose" or inner.array.rank != 2:
        return None
    return build(instruction.computation, "reshape", inner.operands, shape=instruction.shape)


def _shifted_slice(instruction):
    (operand,) = instruction.operands
    (part, *rest) = instruction.attributes["slice"]
    if operand.opcode != "slice" or part.start != 0:
        return None
    size = operand.operands[0].array.dims[0]
    moved = type(part)(size - part.limit, size)
    return build(instruction.computation, "slice", operand.operands, slice=(moved, *rest))


# --- other passes


def _rounds_when_folding():
    real = constant_folding.evaluate_instruction

    def wrong(instruction, values):
        value = real(instruction, values)
        return value.astype(np.float16).astype(value.dtype) if value.dtype == np.float32 else value

    constant_folding.evaluate_instruction = wrong


def _swaps_when_folding():
    real = constant_folding.evaluate_instruction

    def wrong(instruction, values):
        return real(instruction, values[::-1] if instruction.opcode == "subtract" else values)

    constant_folding.evaluate_instruction = wrong


def _cse_ignores(*names):
    def plant():
        cse.NOTES = cse.NOTES | set(names)

    return plant


def _cse_ignores_order():
    real = cse._key

    def wrong(instruction, bodies, operands):
        if isinstance(operands, tuple) and all(isinstance(o, Instruction) for o in operands):
            operands = frozenset(operands)
        return real(instruction, bodies, operands)

    cse._key = wrong


def _after(name, damage):
    """Let a pass do its work and then do some damage as its last rewrite."""

    def plant():
        real = pipeline.PASSES[name]

        def wrong(module, fuel):
            changed = real(module, fuel)
            for computation in module.computations:
                for instruction in list(computation.instructions):
                    changed |= bool(damage(instruction, fuel))
            return changed

        pipeline.PASSES[name] = wrong

    return plant


def _swap_inputs(instruction, fuel):
    if instruction.opcode != "fusion" or "swapped" in instruction.name:
        return False
    operands = list(instruction.operands)
    pairs = [(a, b) for a in range(len(operands)) for b in range(a) if operands[a].shape == operands[b].shape]
    uses = {i.opcode for i in instruction.attributes["calls"].instructions}
    if not pairs or "subtract" not in uses or "negate" not in uses or not fuel.spend("order inputs", instruction):
        return False
    a, b = pairs[0]
    operands[a], operands[b] = operands[b], operands[a]
    instruction.set_operands(operands)
    instruction.name += ".swapped"
    return True


def _transposed_dot(instruction, fuel):
    if instruction.opcode != "dot" or "damaged" in instruction.name:
        return False
    left = instruction.operands[0].array
    square = left.rank == 2 and left.dims[0] == left.dims[1]
    if not square or not fuel.spend("fold transpose into dot", instruction):
        return False
    instruction.name += ".damaged"
    (dimension,) = instruction.attributes["lhs_contracting_dims"]
    instruction.attributes["lhs_contracting_dims"] = (1 - dimension,)
    return True


def _swapped_call():
    real = flatten_calls.inline
    flatten_calls.inline = lambda body, arguments, add: real(body, arguments[::-1], add)


def _keeps_loop_state():
    """A loop body may overwrite what it still reads: nothing is copied."""
    copy_insertion._unchanged = lambda body: set(body.root.operands) if body.root.opcode == "tuple" else {body.root}


def _breaks_on(name, opcode):
    """A pass that cannot stand an opcode."""

    def damage(instruction, fuel):
        if instruction.opcode == opcode:
            raise KeyError(opcode)

    return _after(name, damage)


def _loops_on(name, opcode):
    """A pass that never ends when it sees an opcode."""

    def damage(instruction, fuel):
        while instruction.opcode == opcode:
            pass

    return _after(name, damage)


def _wrong_shape(instruction, fuel):
    """The verifier is not asked; the back end has to live with it."""
    if instruction.opcode != "concatenate" or "narrow" in instruction.name or not fuel.spend("narrow", instruction):
        return False
    instruction.name += ".narrow"
    instruction.attributes["dimensions"] = (1 - instruction.attributes["dimensions"][0],)
    return True


# --- buffers, and how values are emitted


def _short_lives():
    real = buffers._Walk._view

    def wrong(self, instruction):
        found = real(self, instruction)
        for buffer in found:
            buffer.last = min(buffer.last, self.clock)
        return found

    buffers._Walk._touch = lambda self, touched: None
    buffers._Walk._view = wrong


def _emit(opcode, rule):
    def plant():
        real = scalar.RULES[opcode]
        scalar.RULES[opcode] = lambda s, operands: rule(real, s, operands)

    return plant


def _nan_maximum(real, s, operands):
    left, right = operands
    return s.builder.select(s.builder.compare("ogt", left, right), left, right) if s.is_float else real(s, operands)


def _loose_compare(real, s, operands):
    if s.is_float or s.instruction.attributes["direction"] != "LT":
        return real(s, operands)
    return s.builder.compare("sle", *operands)


def _wrong_shift(real, s, operands):
    return s.builder.binary("shl", operands[0], s.builder.binary("and", operands[1], integer(3, operands[1].type)))


def _wide_remainder(real, s, operands):
    left, right = operands
    if s.is_float:
        return real(s, operands)
    return s.builder.binary("and", left, s.builder.binary("sub", right, integer(1, right.type)))


def _clamps_low_only(real, s, operands):
    return scalar.RULES["maximum"](s, operands[:2])


def _sign_of_negative(real, s, operands):
    return s.builder.select(
        s.builder.compare("ogt", operands[0], floating(0.0, operands[0].type)),
        floating(1.0, operands[0].type),
        floating(0.0, operands[0].type),
    )


def _negates_bits(real, s, operands):
    return real(s, operands) if s.is_float else s.builder.binary("xor", operands[0], integer(-1, operands[0].type))


def _never_wraps(real, s, operands):
    return s.builder.binary("add", *operands, "nsw") if operands[0].type == "i32" else real(s, operands)


def _aborts(real, s, operands):
    os.abort()


def _cannot(real, s, operands):
    raise RuntimeError("cannot select")


def _element(opcode, rule):
    """Damage how the element of an opcode that moves data is found."""

    def plant():
        real = elemental.RULES[opcode]
        elemental.RULES[opcode] = lambda values, instruction, at: rule(real, values, instruction, at)

    return plant


def _pads_late(real, values, instruction, at):
    *before, last = at
    moved = last.plus(1) if instruction.attributes["padding"][-1].low else last
    return real(values, instruction, (*before, moved))


def _reverses_all_but_one(real, values, instruction, at):
    if 0 not in instruction.attributes["dimensions"] or len(at) < 2:
        return real(values, instruction, at)
    return values.value(instruction.operands[0], at)


def _no_barrier():
    grid.barrier = lambda builder: None


def _lost_tail():
    class Nest:
        def __getattr__(self, name):
            return getattr(real, name)

        def loops(self, builder, group, **options):
            if len(group.loops) == 1 and group.size % 8:
                whole = group.size - group.size % 8
                group = real.Group(whole, (whole,))
            return real.loops(builder, group, **options)

    real = loop.nest
    loop.nest = Nest()


def _converts_by_rounding():
    real = element.convert

    def wrong(builder, value, source, target):
        if source.is_float and target.is_integer:
            value = builder.intrinsic("roundeven.f32", [value])
        return real(builder, value, source, target)

    element.convert = wrong


_PLANTED = set()

MUTANTS = {
    "negate_negate": Mutant(
        _rule(ALGEBRA, "negate", "_negate_negate", _negate_negate),
        "m = f32[12,10] negate(x)\n z = f32[12,10] negate(m)",
        "pass/algebraic-simplification/negate_negate",
    ),
    "subtract_from_zero": Mutant(
        _rule(ALGEBRA, "subtract", "_subtract_zero", _subtract_zero),
        "zeros = f32[12,10] broadcast(zero), dimensions={}\n z = f32[12,10] subtract(zeros, x)",
        "pass/algebraic-simplification/subtract_zero",
    ),
    "divide_by_four": Mutant(
        _rule(ALGEBRA, "divide", "_divide_by_power_of_two", _divide_by_power_of_two),
        "four = f32[] constant(4)\n fours = f32[12,10] broadcast(four), dimensions={}\n"
        " z = f32[12,10] divide(x, fours)",
        "pass/algebraic-simplification/divide_by_power_of_two",
    ),
    "select_wrong_branch": Mutant(
        _rule(ALGEBRA, "select", "_select_constant", _select_constant),
        "yes = pred[] constant(true)\n all = pred[12,10] broadcast(yes), dimensions={}\n"
        " z = f32[12,10] select(all, x, y)",
        "pass/algebraic-simplification/select_constant",
    ),
    "select_same_opcode": Mutant(
        _rule(ALGEBRA, "select", "_select_same", _select_same),
        "w = pred[12,10] compare(x, p0), direction=LT\n e = f32[12,10] cosine(x)\n f = f32[12,10] cosine(y)\n"
        " z = f32[12,10] select(w, e, f)",
        "pass/algebraic-simplification/select_same",
    ),
    "reduce_identity": Mutant(
        _rule(ALGEBRA, "reduce", "_reduce_nothing", _reduce_nothing),
        "r = f32[12,1,10] reshape(x)\n z = f32[12,10] reduce(r, one), dimensions={1}, to_apply=sum",
        "pass/algebraic-simplification/reduce_nothing",
    ),
    "abs_of_product": Mutant(
        _rule(ALGEBRA, "abs", "_abs_abs", _abs_abs),
        "q = f32[12,10] multiply(p0, p1)\n z = f32[12,10] abs(q)",
        "pass/algebraic-simplification/abs_abs",
    ),
    "multiply_minus_one": Mutant(
        _rule(ALGEBRA, "multiply", "_multiply_one", _multiply_one),
        "minus = f32[] constant(-1)\n minuses = f32[12,10] broadcast(minus), dimensions={}\n"
        " z = f32[12,10] multiply(x, minuses)",
        "pass/algebraic-simplification/multiply_one",
    ),
    "transpose_order": Mutant(
        _rule(MOVEMENT, "transpose", "_transpose_of_transpose", _transpose_of_transpose),
        "part = f32[8,8] slice(x), slice={[0:8], [0:8]}\n r = f32[4,4,4] reshape(part)\n"
        " a = f32[4,4,4] transpose(r), dimensions={1,2,0}\n b = f32[4,4,4] transpose(a), dimensions={1,0,2}\n"
        " g = f32[64] reshape(b)\n"
        " h = f32[120] pad(g, zero), padding=56_0\n z = f32[12,10] reshape(h)",
        "pass/data-movement-simplification/transpose_of_transpose",
    ),
    "transpose_is_reshape": Mutant(
        _rule(MOVEMENT, "transpose", "_transpose_of_units", _transpose_of_units),
        "r = f32[3,4,10] reshape(x)\n t = f32[4,3,10] transpose(r), dimensions={1,0,2}\n z = f32[12,10] reshape(t)",
        "pass/data-movement-simplification/transpose_of_units",
    ),
    "broadcast_dimension": Mutant(
        _rule(MOVEMENT, "broadcast", "_broadcast_of_broadcast", _broadcast_of_broadcast),
        "v = f32[10] reduce(x, zero), dimensions={0}, to_apply=sum\n"
        " w = f32[10,10] broadcast(v), dimensions={0}\n u = f32[10,10,12] broadcast(w), dimensions={0,1}\n"
        " d = f32[10,12] reduce(u, bottom), dimensions={1}, to_apply=largest\n"
        " z = f32[12,10] transpose(d), dimensions={1,0}",
        "pass/data-movement-simplification/broadcast_of_broadcast",
    ),
    "reverse_dropped": Mutant(
        _rule(MOVEMENT, "reverse", "_reverse_nothing", _reverse_nothing),
        "z = f32[12,10] reverse(x), dimensions={1}",
        "pass/data-movement-simplification/reverse_nothing",
    ),
    "reshape_of_transpose": Mutant(
        _rule(MOVEMENT, "reshape", "_reshape_of_reshape", _reshape_of_reshape),
        "t = f32[10,12] transpose(x), dimensions={1,0}\n z = f32[12,10] reshape(t)",
        "pass/data-movement-simplification/reshape_of_reshape",
    ),
    "slice_of_slice": Mutant(
        _rule(MOVEMENT, "slice", "_slice_of_slice", _shifted_slice),
        "a = f32[8,10] slice(x), slice={[1:9], [0:10]}\n b = f32[6,10] slice(a), slice={[0:6], [0:10]}\n"
        " z = f32[12,10] pad(b, zero), padding=3_3x0_0",
        "pass/data-movement-simplification/slice_of_slice",
    ),
    "fold_rounding": Mutant(
        _rounds_when_folding,
        "a = f32[] constant(1.2345678)\n b = f32[] sine(a)\n c = f32[12,10] broadcast(b), dimensions={}\n"
        " z = f32[12,10] add(c, x)",
        "pass/constant-folding/fold",
    ),
    "fold_swapped": Mutant(
        _swaps_when_folding,
        "a = f32[] constant(3)\n b = f32[] subtract(a, one)\n c = f32[12,10] broadcast(b), dimensions={}\n"
        " z = f32[12,10] add(c, x)",
        "pass/constant-folding/fold",
    ),
    "cse_direction": Mutant(
        _cse_ignores("direction"),
        "a = pred[12,10] compare(x, p0), direction=LT\n b = pred[12,10] compare(x, p0), direction=GT\n"
        " c = f32[12,10] select(a, x, p1)\n z = f32[12,10] select(b, c, p0)",
        "pass/cse/merge with equal",
    ),
    "cse_slice": Mutant(
        _cse_ignores("slice"),
        "a = f32[6,10] slice(x), slice={[0:6], [0:10]}\n b = f32[6,10] slice(x), slice={[6:12], [0:10]}\n"
        " z = f32[12,10] concatenate(b, a), dimensions={0}",
        "pass/cse/merge with equal",
    ),
    "cse_dimensions": Mutant(
        _cse_ignores("dimensions"),
        "s = f32[10,10] slice(x), slice={[0:10], [0:10]}\n"
        " a = f32[10] reduce(s, zero), dimensions={0}, to_apply=sum\n"
        " b = f32[10] reduce(s, zero), dimensions={1}, to_apply=sum\n"
        " c = f32[10] divide(a, b)\n z = f32[12,10] broadcast(c), dimensions={1}",
        "pass/cse/merge with equal",
    ),
    "cse_order": Mutant(
        _cse_ignores_order,
        "a = f32[12,10] subtract(x, y)\n b = f32[12,10] subtract(y, x)\n z = f32[12,10] maximum(a, b)",
        "pass/cse/merge with equal",
    ),
    "fusion_inputs": Mutant(
        _after("fusion", _swap_inputs),
        "a = f32[12,10] negate(p0)\n z = f32[12,10] subtract(a, p1)",
        "pass/fusion/order inputs",
    ),
    "dot_dimension": Mutant(
        _after("transpose-folding", _transposed_dot),
        "a = f32[10,10] slice(x), slice={[0:10], [0:10]}\n"
        " d = f32[10,10] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " z = f32[12,10] pad(d, zero), padding=0_2x0_0",
        "pass/transpose-folding/fold transpose into dot",
    ),
    "call_arguments": Mutant(
        _swapped_call,
        "z = f32[12,10] call(x, y), to_apply=scaled",
        "pass/flatten-calls/inline call",
    ),
    "short_lives": Mutant(
        _short_lives,
        "d1 = f32[10,10] dot(flipped, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " d2 = f32[10,10] dot(flipped, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " d3 = f32[10,10] dot(d1, d2), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " d4 = f32[10,10] dot(d3, d1), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " d5 = f32[10,10] dot(d4, d2), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " z = f32[12,10] pad(d5, zero), padding=0_2x0_0",
        "program",
    ),
    "nan_maximum": Mutant(
        _emit("maximum", _nan_maximum),
        "a = f32[12,10] log(p0)\n z = f32[12,10] maximum(a, p1)",
        "kernel",
    ),
    "loose_compare": Mutant(
        _emit("compare", _loose_compare),
        "k = s32[12,10] iota(), iota_dimension=1\n w = pred[12,10] compare(k, n), direction=LT\n"
        " z = f32[12,10] select(w, x, y)",
        "kernel",
    ),
    "shift": Mutant(
        _emit("shift-left", _wrong_shift),
        "k = s32[12,10] iota(), iota_dimension=0\n h = s32[12,10] shift-left(n, k)\n z = f32[12,10] convert(h)",
        "kernel",
    ),
    "remainder": Mutant(
        _emit("remainder", _wide_remainder),
        "k = s32[12,10] iota(), iota_dimension=0\n h = s32[12,10] remainder(n, k)\n z = f32[12,10] convert(h)",
        "kernel",
    ),
    "clamp": Mutant(
        _emit("clamp", _clamps_low_only),
        "z = f32[12,10] clamp(s2, p0, s1)",
        "kernel",
    ),
    "sign": Mutant(_emit("sign", _sign_of_negative), "z = f32[12,10] sign(p0)", "kernel"),
    "integer_negate": Mutant(
        _emit("negate", _negates_bits),
        "h = s32[12,10] negate(n)\n z = f32[12,10] convert(h)",
        "kernel",
    ),
    "lost_barrier": Mutant(
        _no_barrier,
        "a = f32[12] reduce(s2, one), dimensions={1}, to_apply=sum\n z = f32[12,10] broadcast(a), dimensions={0}",
        "kernel",
        engine="nvptx:sim",
    ),
    "pad": Mutant(
        _element("pad", _pads_late),
        "a = f32[12,8] slice(x), slice={[0:12], [1:9]}\n z = f32[12,10] pad(a, zero), padding=0_0x1_1",
        "kernel",
    ),
    "reverse_rows": Mutant(
        _element("reverse", _reverses_all_but_one), "z = f32[12,10] reverse(x), dimensions={0,1}", "kernel"
    ),
    "loop_state": Mutant(
        _keeps_loop_state,
        "i0 = s32[] constant(0)\n s = (s32[], f32[12,10], f32[12,10]) tuple(i0, x, y)\n"
        " l = (s32[], f32[12,10], f32[12,10]) while(s), condition=going, body=turn\n"
        " lx = f32[12,10] get-tuple-element(l), index=1\n ly = f32[12,10] get-tuple-element(l), index=2\n"
        " z = f32[12,10] divide(lx, ly)",
        "program",
    ),
    "pass_raises": Mutant(_breaks_on("cse", "clamp"), "z = f32[12,10] clamp(s2, p0, s1)", "pass/cse"),
    "pass_hangs": Mutant(_loops_on("dce", "floor"), "z = f32[12,10] floor(p0)", "pass/dce"),
    "invalid_module": Mutant(
        _after("cse", _wrong_shape),
        "a = f32[6,10] slice(x), slice={[0:6], [0:10]}\n b = f32[6,10] slice(x), slice={[6:12], [0:10]}\n"
        " z = f32[12,10] concatenate(b, a), dimensions={0}",
        "pass/cse/narrow",
    ),
    "sum_never_wraps": Mutant(
        _emit("add", _never_wraps),
        "most = s32[] constant(2147483647)\n mosts = s32[12,10] broadcast(most), dimensions={}\n"
        " m = s32[12,10] or(n, mosts)\n i1 = s32[] constant(1)\n i1s = s32[12,10] broadcast(i1), dimensions={}\n"
        " q = s32[12,10] add(m, i1s)\n w = pred[12,10] compare(q, m), direction=GT\n"
        " z = f32[12,10] select(w, x, y)",
        "llvm/",
    ),
    "emitter_aborts": Mutant(_emit("ceil", _aborts), "z = f32[12,10] ceil(p0)", "kernel"),
    "emitter_raises": Mutant(_emit("floor", _cannot), "z = f32[12,10] floor(p0)", "kernel"),
    "lost_tail": Mutant(
        _lost_tail,
        "a = f32[11,10] slice(x), slice={[0:11], [0:10]}\n b = f32[11,10] tanh(a)\n"
        " z = f32[12,10] pad(b, zero), padding=0_1x0_0",
        "kernel",
    ),
    "convert_rounds": Mutant(
        _converts_by_rounding,
        "five = f32[] constant(5)\n fives = f32[12,10] broadcast(five), dimensions={}\n"
        " a = f32[12,10] multiply(p0, fives)\n h = s32[12,10] convert(a)\n z = f32[12,10] convert(h)",
        "kernel",
    ),
}


def __getattr__(name):
    """The factory of a mutant."""
    if name not in MUTANTS:
        raise AttributeError(name)

    def engine(spec):
        if name not in _PLANTED:
            _PLANTED.add(name)
            MUTANTS[name].plant()
        return real_engine(spec)

    return engine
