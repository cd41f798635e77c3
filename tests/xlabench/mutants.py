"""Planted miscompiles: each damages one step of the real compiler in a worker process of a test, never anywhere else.

A mutant is asked for as an engine factory, `mutants:NAME`; making the engine damages the process that it is made in.
Those here come with a program that shows them; those of `planted_text` are for campaigns to find.
"""

from collections.abc import Callable
from dataclasses import dataclass

import planted_code
import planted_passes
from mutant_host import program
from planted_text import CPU, PATCHES, Patch

from xlabench.engines import engine as real_engine


@dataclass(frozen=True)
class Mutant:
    """One bug: how it is planted, lines in which it shows, and who must get the blame."""

    plant: Callable[[], None]
    snippet: str
    blamed: str
    engine: str = "cpu:threads=1"
    timeout_s: float = 20.0

    @property
    def text(self):
        return program(self.snippet)

    @property
    def engines(self):
        """Those of a campaign that is to find it; only code that LLVM optimises shows what LLVM makes of it."""
        return self.engine if self.engine == "nvptx:sim" or self.blamed.startswith("llvm") else CPU


_PLANTED = set()

MUTANTS = {
    "negate_negate": Mutant(
        planted_passes.rule(planted_passes.ALGEBRA, "negate", "_negate_negate", planted_passes.negate_negate),
        "m = f32[12,10] negate(x)\n z = f32[12,10] negate(m)",
        "pass/algebraic-simplification/negate_negate",
    ),
    "subtract_from_zero": Mutant(
        planted_passes.rule(planted_passes.ALGEBRA, "subtract", "_subtract_zero", planted_passes.subtract_zero),
        "zeros = f32[12,10] broadcast(zero), dimensions={}\n z = f32[12,10] subtract(zeros, x)",
        "pass/algebraic-simplification/subtract_zero",
    ),
    "divide_by_four": Mutant(
        planted_passes.rule(
            planted_passes.ALGEBRA, "divide", "_divide_by_power_of_two", planted_passes.divide_by_power_of_two
        ),
        "four = f32[] constant(4)\n fours = f32[12,10] broadcast(four), dimensions={}\n"
        " z = f32[12,10] divide(x, fours)",
        "pass/algebraic-simplification/divide_by_power_of_two",
    ),
    "select_wrong_branch": Mutant(
        planted_passes.rule(planted_passes.ALGEBRA, "select", "_select_constant", planted_passes.select_constant),
        "yes = pred[] constant(true)\n all = pred[12,10] broadcast(yes), dimensions={}\n"
        " z = f32[12,10] select(all, x, y)",
        "pass/algebraic-simplification/select_constant",
    ),
    "select_same_opcode": Mutant(
        planted_passes.rule(planted_passes.ALGEBRA, "select", "_select_same", planted_passes.select_same),
        "w = pred[12,10] compare(x, p0), direction=LT\n e = f32[12,10] cosine(x)\n f = f32[12,10] cosine(y)\n"
        " z = f32[12,10] select(w, e, f)",
        "pass/algebraic-simplification/select_same",
    ),
    "reduce_identity": Mutant(
        planted_passes.rule(planted_passes.ALGEBRA, "reduce", "_reduce_nothing", planted_passes.reduce_nothing),
        "r = f32[12,1,10] reshape(x)\n z = f32[12,10] reduce(r, one), dimensions={1}, to_apply=sum",
        "pass/algebraic-simplification/reduce_nothing",
    ),
    "abs_of_product": Mutant(
        planted_passes.rule(planted_passes.ALGEBRA, "abs", "_abs_abs", planted_passes.abs_abs),
        "q = f32[12,10] multiply(p0, p1)\n z = f32[12,10] abs(q)",
        "pass/algebraic-simplification/abs_abs",
    ),
    "multiply_minus_one": Mutant(
        planted_passes.rule(planted_passes.ALGEBRA, "multiply", "_identity", planted_passes.multiply_one),
        "minus = f32[] constant(-1)\n minuses = f32[12,10] broadcast(minus), dimensions={}\n"
        " z = f32[12,10] multiply(x, minuses)",
        "pass/algebraic-simplification/multiply_one",
    ),
    "transpose_order": Mutant(
        planted_passes.rule(
            planted_passes.MOVEMENT, "transpose", "_transpose_of_transpose", planted_passes.transpose_of_transpose
        ),
        "part = f32[8,8] slice(x), slice={[0:8], [0:8]}\n r = f32[4,4,4] reshape(part)\n"
        " a = f32[4,4,4] transpose(r), dimensions={1,2,0}\n b = f32[4,4,4] transpose(a), dimensions={1,0,2}\n"
        " g = f32[64] reshape(b)\n"
        " h = f32[120] pad(g, zero), padding=56_0\n z = f32[12,10] reshape(h)",
        "pass/data-movement-simplification/transpose_of_transpose",
    ),
    "transpose_is_reshape": Mutant(
        planted_passes.rule(
            planted_passes.MOVEMENT, "transpose", "_transpose_of_units", planted_passes.transpose_of_units
        ),
        "r = f32[3,4,10] reshape(x)\n t = f32[4,3,10] transpose(r), dimensions={1,0,2}\n z = f32[12,10] reshape(t)",
        "pass/data-movement-simplification/transpose_of_units",
    ),
    "broadcast_dimension": Mutant(
        planted_passes.rule(
            planted_passes.MOVEMENT, "broadcast", "_broadcast_of_broadcast", planted_passes.broadcast_of_broadcast
        ),
        "v = f32[10] reduce(x, zero), dimensions={0}, to_apply=sum\n"
        " w = f32[10,10] broadcast(v), dimensions={0}\n u = f32[10,10,12] broadcast(w), dimensions={0,1}\n"
        " d = f32[10,12] reduce(u, bottom), dimensions={1}, to_apply=largest\n"
        " z = f32[12,10] transpose(d), dimensions={1,0}",
        "pass/data-movement-simplification/broadcast_of_broadcast",
    ),
    "reverse_dropped": Mutant(
        planted_passes.rule(planted_passes.MOVEMENT, "reverse", "_reverse_nothing", planted_passes.reverse_nothing),
        "z = f32[12,10] reverse(x), dimensions={1}",
        "pass/data-movement-simplification/reverse_nothing",
    ),
    "reshape_of_transpose": Mutant(
        planted_passes.rule(
            planted_passes.MOVEMENT, "reshape", "_reshape_of_reshape", planted_passes.reshape_of_reshape
        ),
        "t = f32[10,12] transpose(x), dimensions={1,0}\n z = f32[12,10] reshape(t)",
        "pass/data-movement-simplification/reshape_of_reshape",
    ),
    "slice_of_slice": Mutant(
        planted_passes.rule(planted_passes.MOVEMENT, "slice", "_slice_of_slice", planted_passes.shifted_slice),
        "a = f32[8,10] slice(x), slice={[1:9], [0:10]}\n b = f32[6,10] slice(a), slice={[0:6], [0:10]}\n"
        " z = f32[12,10] pad(b, zero), padding=3_3x0_0",
        "pass/data-movement-simplification/slice_of_slice",
    ),
    "fold_rounding": Mutant(
        planted_passes.rounds_when_folding,
        "a = f32[] constant(1.2345678)\n b = f32[] sine(a)\n c = f32[12,10] broadcast(b), dimensions={}\n"
        " z = f32[12,10] add(c, x)",
        "pass/constant-folding/fold",
    ),
    "fold_swapped": Mutant(
        planted_passes.swaps_when_folding,
        "a = f32[] constant(3)\n b = f32[] subtract(a, one)\n c = f32[12,10] broadcast(b), dimensions={}\n"
        " z = f32[12,10] add(c, x)",
        "pass/constant-folding/fold",
    ),
    "cse_direction": Mutant(
        planted_passes.cse_ignores("direction"),
        "a = pred[12,10] compare(x, p0), direction=LT\n b = pred[12,10] compare(x, p0), direction=GT\n"
        " c = f32[12,10] select(a, x, p1)\n z = f32[12,10] select(b, c, p0)",
        "pass/cse/merge with equal",
    ),
    "cse_slice": Mutant(
        planted_passes.cse_ignores("slice"),
        "a = f32[6,10] slice(x), slice={[0:6], [0:10]}\n b = f32[6,10] slice(x), slice={[6:12], [0:10]}\n"
        " z = f32[12,10] concatenate(b, a), dimensions={0}",
        "pass/cse/merge with equal",
    ),
    "cse_dimensions": Mutant(
        planted_passes.cse_ignores("dimensions"),
        "s = f32[10,10] slice(x), slice={[0:10], [0:10]}\n"
        " a = f32[10] reduce(s, zero), dimensions={0}, to_apply=sum\n"
        " b = f32[10] reduce(s, zero), dimensions={1}, to_apply=sum\n"
        " c = f32[10] divide(a, b)\n z = f32[12,10] broadcast(c), dimensions={1}",
        "pass/cse/merge with equal",
    ),
    "cse_order": Mutant(
        Patch(
            "passes.cse:run",
            "operands = instruction.operands",
            "operands = frozenset(instruction.operands)",
            "",
        ).plant,
        "a = f32[12,10] subtract(x, y)\n b = f32[12,10] subtract(y, x)\n z = f32[12,10] maximum(a, b)",
        "pass/cse/merge with equal",
    ),
    "fusion_inputs": Mutant(
        planted_passes.after("fusion", planted_passes.swap_inputs),
        "a = f32[12,10] negate(p0)\n z = f32[12,10] subtract(a, p1)",
        "pass/fusion/order inputs",
    ),
    "dot_dimension": Mutant(
        planted_passes.after("transpose-folding", planted_passes.transposed_dot),
        "a = f32[10,10] slice(x), slice={[0:10], [0:10]}\n"
        " d = f32[10,10] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " z = f32[12,10] pad(d, zero), padding=0_2x0_0",
        "pass/transpose-folding/fold transpose into dot",
    ),
    "call_arguments": Mutant(
        planted_passes.swapped_call,
        "z = f32[12,10] call(x, y), to_apply=scaled",
        "pass/flatten-calls/inline call|pass/flatten-calls/inline fusion",
    ),
    "short_lives": Mutant(
        planted_code.short_lives,
        "d1 = f32[10,10] dot(flipped, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " d2 = f32[10,10] dot(flipped, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " d3 = f32[10,10] dot(d1, d2), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " d4 = f32[10,10] dot(d3, d1), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " d5 = f32[10,10] dot(d4, d2), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " z = f32[12,10] pad(d5, zero), padding=0_2x0_0",
        "program",
    ),
    "over_what_is_moved": Mutant(
        planted_code.over_what_is_moved,
        "d1 = f32[10,10] dot(flipped, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " d2 = f32[10,10] reverse(d1), dimensions={0}\n d3 = f32[10,10] multiply(d1, d2)\n"
        " d4 = f32[10,10] dot(d3, d3), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " z = f32[12,10] pad(d4, zero), padding=0_2x0_0",
        "program",
    ),
    "nan_maximum": Mutant(
        planted_code.emit("maximum", planted_code.nan_maximum),
        "a = f32[12,10] log(p0)\n z = f32[12,10] maximum(a, p1)",
        "kernel",
    ),
    "loose_compare": Mutant(
        planted_code.emit("compare", planted_code.loose_compare),
        "k = s32[12,10] iota(), iota_dimension=1\n w = pred[12,10] compare(k, n), direction=LT\n"
        " z = f32[12,10] select(w, x, y)",
        "kernel",
    ),
    "shift": Mutant(
        planted_code.emit("shift-left", planted_code.wrong_shift),
        "k = s32[12,10] iota(), iota_dimension=0\n h = s32[12,10] shift-left(n, k)\n z = f32[12,10] convert(h)",
        "kernel",
    ),
    "remainder": Mutant(
        planted_code.emit("remainder", planted_code.wide_remainder),
        "k = s32[12,10] iota(), iota_dimension=0\n h = s32[12,10] remainder(n, k)\n z = f32[12,10] convert(h)",
        "kernel",
    ),
    "clamp": Mutant(
        planted_code.emit("clamp", planted_code.clamps_low_only),
        "z = f32[12,10] clamp(s2, p0, s1)",
        "kernel",
    ),
    "sign": Mutant(planted_code.emit("sign", planted_code.sign_of_negative), "z = f32[12,10] sign(p0)", "kernel/sign"),
    "integer_negate": Mutant(
        planted_code.emit("negate", planted_code.negates_bits),
        "h = s32[12,10] negate(n)\n z = f32[12,10] convert(h)",
        "kernel",
    ),
    "lost_barrier": Mutant(
        planted_code.no_barrier,
        "a = f32[12] reduce(s2, one), dimensions={1}, to_apply=sum\n z = f32[12,10] broadcast(a), dimensions={0}",
        "kernel|program",
        engine="nvptx:sim",
    ),
    "pad": Mutant(
        planted_code.element_of("pad", planted_code.pads_late),
        "a = f32[12,8] slice(x), slice={[0:12], [1:9]}\n z = f32[12,10] pad(a, zero), padding=0_0x1_1",
        "kernel",
    ),
    "reverse_rows": Mutant(
        planted_code.element_of("reverse", planted_code.reverses_all_but_one),
        "z = f32[12,10] reverse(x), dimensions={0,1}",
        "kernel",
    ),
    "pass_raises": Mutant(planted_passes.breaks_on("cse", "clamp"), "z = f32[12,10] clamp(s2, p0, s1)", "pass/cse"),
    "pass_hangs": Mutant(
        planted_passes.loops_on("dce", "floor"), "z = f32[12,10] floor(p0)", "pass/dce", timeout_s=3.0
    ),
    "invalid_module": Mutant(
        planted_passes.after("cse", planted_passes.wrong_shape),
        "a = f32[6,10] slice(x), slice={[0:6], [0:10]}\n b = f32[6,10] slice(x), slice={[6:12], [0:10]}\n"
        " z = f32[12,10] concatenate(b, a), dimensions={0}",
        "pass/cse/narrow",
    ),
    "sum_never_wraps": Mutant(
        planted_code.emit("add", planted_code.never_wraps),
        "most = s32[] constant(2147483647)\n mosts = s32[12,10] broadcast(most), dimensions={}\n"
        " m = s32[12,10] or(n, mosts)\n i1 = s32[] constant(1)\n i1s = s32[12,10] broadcast(i1), dimensions={}\n"
        " q = s32[12,10] add(m, i1s)\n w = pred[12,10] compare(q, m), direction=GT\n"
        " z = f32[12,10] select(w, x, y)",
        "llvm/",
    ),
    "emitter_aborts": Mutant(planted_code.emit("ceil", planted_code.aborts), "z = f32[12,10] ceil(p0)", "kernel"),
    "emitter_raises": Mutant(planted_code.emit("floor", planted_code.cannot), "z = f32[12,10] floor(p0)", "kernel"),
    "lost_tail": Mutant(
        planted_code.lost_tail,
        "a = f32[11,10] slice(x), slice={[0:11], [0:10]}\n b = f32[11,10] tanh(a)\n"
        " d = f32[10,10] dot(b, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
        " z = f32[12,10] pad(d, zero), padding=0_2x0_0",
        "kernel/any elementwise",
    ),
    "convert_rounds": Mutant(
        planted_code.converts_by_rounding,
        "five = f32[] constant(5)\n fives = f32[12,10] broadcast(five), dimensions={}\n"
        " a = f32[12,10] multiply(p0, fives)\n h = s32[12,10] convert(a)\n z = f32[12,10] convert(h)",
        "kernel",
    ),
}


ALL = {**MUTANTS, **PATCHES}


def __getattr__(name):
    """The factory of a mutant."""
    if name not in ALL:
        raise AttributeError(name)

    def engine(spec):
        if name not in _PLANTED:
            _PLANTED.add(name)
            ALL[name].plant()
        return real_engine(spec)

    return engine
