"""Planted bugs as a change of a few characters in a function of the compiler, made in the process that asks for it.

The new code is put into the function that everybody already holds, so it reaches those who imported it by name.  The
old text must occur exactly once, so that a mutant whose place has changed fails to plant instead of doing nothing.
"""

import inspect
import textwrap
from dataclasses import dataclass
from functools import reduce
from importlib import import_module

CPU = "cpu:opt=0 cpu:fusion=off,opt=0"
PTX = "nvptx:sim"


@dataclass(frozen=True)
class Patch:
    """In the function `where` (module under `compiler`, colon, its name) `old` becomes `new`.

    `blamed` is the stage that is to blame, then the pass, or opcodes of which a kernel must have one; several, with `|`
    between them, where one step takes another along.  `engines` are those of the campaign.
    """

    where: str
    old: str
    new: str
    blamed: str
    engines: str = CPU

    def plant(self):
        function = self.function()
        made = compile("from __future__ import annotations\n" + self.changed(), f"<{self.where}>", "exec")
        names = {}
        exec(made, function.__globals__, names)
        function.__code__ = names[function.__name__].__code__

    def function(self):
        module, _, path = self.where.partition(":")
        found = reduce(getattr, path.split("."), import_module(f"compiler.{module}"))
        return getattr(found, "fget", found)

    def changed(self):
        """The function's text with the bug."""
        text = textwrap.dedent(inspect.getsource(self.function()))
        assert text.count(self.old) == 1, f"{self.where} has {self.old!r} {text.count(self.old)} times"
        lines = text.replace(self.old, self.new).splitlines()
        first = next(number for number, line in enumerate(lines) if line.lstrip().startswith("def "))
        return "\n".join(lines[first:]) + "\n"


PATCHES = {
    # Passes.
    "topk_order": Patch(
        "passes.topk_expander:_comparator", '"GT" if is_largest', '"LT" if is_largest', "pass/topk-expander"
    ),
    "scan_reverse": Patch("passes.scan_expander:_step", "(scan.length - 1)", "(scan.length - 2)", "pass/scan-expander"),
    "unrolled_once_more": Patch(
        "passes.loop_unrolling:_Counter.trip_count",
        "return iteration\n",
        "return iteration + 1\n",
        "pass/loop-unrolling",
    ),
    "epsilon_sign": Patch(
        "passes.batch_norm_expander:_inference",
        "variance + norm.epsilon",
        "variance - norm.epsilon",
        "pass/batch-norm-expander",
    ),
    "rng_rotation": Patch("passes.rng_expander:_three_fry", "32 - rotation", "31 - rotation", "pass/rng-expander"),
    "ragged_groups": Patch(
        "passes.grouped_dot_expander:_group_mask", '"LT", iota(', '"LE", iota(', "pass/grouped-dot-expander"
    ),
    "dimension_size": Patch(
        "passes.marker_removal:_size", "shape.dims[along], S32", "shape.dims[-1], S32", "pass/marker-removal"
    ),
    "layout_order": Patch(
        "passes.layout_normalization:_order",
        "tuple(reversed(layout.minor_to_major))",
        "tuple(layout.minor_to_major)",
        "pass/layout-normalization",
    ),
    "solver_adjoint": Patch(
        "passes.complex_solver_expander:_triangular_solve",
        'conjugate=transpose == "ADJOINT"',
        'conjugate=transpose != "ADJOINT"',
        "pass/complex-solver-expander",
    ),
    "permute_own": Patch(
        "passes.collective_expander:_permute",
        "if sends_to_itself",
        "if not sends_to_itself",
        "pass/collective-expander",
    ),
    "tuple_element": Patch(
        "passes.tuple_simplification:_simpler",
        'instruction.operands[0].operands[instruction.attributes["index"]]',
        "next(o for o in instruction.operands[0].operands if o.shape == instruction.shape)",
        "pass/tuple-simplification",
    ),
    # Memory.
    "missing_copy": Patch("passes.copy_insertion:_take", "if taken & seen", "if False", "program"),
    "in_place_clobbers": Patch(
        "passes.in_place_updates:_update",
        "any(_conflicts(reader, instruction, operand) for reader in readers)",
        "any(())",
        "program|pass/in-place-updates",
    ),
    "wrong_alias": Patch("analysis.buffers:_Walk._view", "sum(widths[:index])", "sum(widths[: index - 1])", "program"),
    "loop_state": Patch("analysis.buffers:_Walk._while", "other.first = start", "pass", "program"),
    "buffers_overlap": Patch("analysis.storage:pack", "o.first <= buffer.last", "o.first < buffer.last", "program"),
    "reused_too_soon": Patch(
        "analysis.buffers:_Walk._is_last_reader", "known.last == self.clock", "known.first < self.clock", "program"
    ),
    "state_still_read": Patch(
        "analysis.buffers:_Walk._is_last_reader", "known) != self.clock or", "known) is None or", "program"
    ),
    "result_lent_too_long": Patch(
        "analysis.storage:pack_into", "buffer.last >= result.first", "buffer.first > result.first", "program"
    ),
    # Kernels, mostly of CPUs.
    "gather_limit": Patch(
        "codegen.movement:_gather",
        'operand.array.dims[dimension] - attributes["slice_sizes"][dimension]',
        "operand.array.dims[dimension] - 1",
        "kernel/gather",
    ),
    "start_clamped_early": Patch(
        "codegen.movement:clamped",
        "integer(limit, own)",
        "integer(limit - 1, own)",
        "kernel/dynamic-slice+dynamic-update-slice+gather",
    ),
    "slice_start": Patch(
        "codegen.movement:_slice", "plus(d.start)", "plus(d.start if d.stride == 1 else 0)", "kernel/slice"
    ),
    "pad_last": Patch("codegen.movement:_pad", "(size - 1) * step + 1", "(size - 1) * step", "kernel/pad"),
    "concatenate_edge": Patch("codegen.movement:_concatenate", '"slt"', '"sle"', "kernel/concatenate"),
    "byte_order": Patch(
        "codegen.movement:_bitcast_convert",
        "number * have",
        "(want // have - 1 - number) * have",
        "kernel/bitcast-convert",
    ),
    "divide_by_zero": Patch(
        "codegen.scalar.integer_division:divide", "integer(-1, left.type), quotient", "right, quotient", "kernel/divide"
    ),
    "overflow_traps": Patch(
        "codegen.scalar.integer_division:_safe", "if not signed", "if signed or True", "kernel/divide+remainder"
    ),
    "total_order": Patch(
        "codegen.scalar.rules:_total_order",
        'builder.binary("xor", bits, builder.binary("lshr", sign, integer(1, type_)))',
        "bits",
        "kernel/compare",
    ),
    "unsigned_compare": Patch("codegen.scalar.rules:_compare", '("s" if signed else "u")', '"s"', "kernel/compare"),
    "high_product": Patch(
        "codegen.scalar.rules:_high_product", "element_type.bits, wide", "element_type.bits - 1, wide", "kernel/mulhi"
    ),
    "ties_away": Patch(
        "codegen.scalar.rounding:reduce_precision",
        '"add", odd, integer((1 << (dropped - 1)) - 1, type_)',
        '"and", integer(-1, type_), integer(1 << (dropped - 1), type_)',
        "kernel/reduce-precision",
    ),
    "bf16_truncates": Patch("codegen.element:_round_to_bf16", "integer(0x7FFF", "integer(0x0000", "kernel"),
    "minimum_from_zero": Patch(
        "codegen.reduction:_greatest",
        "return (1 << (element_type.bits - element_type.is_signed)) - 1",
        "return 0",
        "kernel/reduce+minimum",
    ),
    "window_dilation": Patch(
        "codegen.windows:covered_index",
        "inner.times(dimension.rhs_dilate)",
        "inner",
        "kernel/reduce-window+convolution",
    ),
    "window_reversal": Patch(
        "codegen.windows:covered_index", ".plus(dimension.size - 1) if", " if", "kernel/reduce-window+convolution"
    ),
    "scatter_outside": Patch(
        "codegen.scattering:_target", "extents[dimension][1] + 1", "extents[dimension][1]", "kernel/scatter"
    ),
    "sort_descending": Patch(
        "codegen.sort_key:SortKey.directed", "if self.descending", "if not self.descending", "kernel/sort"
    ),
    "sort_negative": Patch("codegen.sort_key:ordered", '"ashr"', '"lshr"', "kernel/sort"),
    "fft_chirps": Patch(
        "backends.cpu.kernels.fft.line:Lines._tables",
        "chirps[:0:-1].conj()",
        "chirps[1:].conj()",
        "kernel/fft",
    ),
    "solve_stops_early": Patch(
        "codegen.triangular:Substitution.solve",
        "(builder.add(row, integer(1)), integer(self.size))",
        "(builder.add(row, integer(1)), integer(self.size - 1))",
        "kernel/triangular-solve",
    ),
    "masked_tail": Patch("backends.cpu.kernels.vectors.lanes:Lanes._mask", '"ult"', '"ule"', "kernel"),
    "scan_direction": Patch(
        "backends.cpu.kernels.window.scan:Scan.position", "if self.way.backwards", "if not self.way.backwards", "kernel"
    ),
    "complex_product": Patch(
        "codegen.complex_numbers:Complex.__mul__", "self.re * other.im +", "self.re * other.im -", "kernel"
    ),
    # PTX.
    "shuffle_lane": Patch("backends.nvptx.kernels.grid:spread_lanes", '"idx", 0', '"idx", 1', "kernel", PTX),
    "shuffle_distance": Patch(
        "backends.nvptx.kernels.grid:reduce_lanes",
        '"down", distance',
        '"down", distance - distance // 8',
        "kernel",
        PTX,
    ),
    "last_thread": Patch(
        "backends.nvptx.kernels.grid:for_each", "number, integer(count)", "number, integer(count - 1)", "kernel", PTX
    ),
    "merge_edge": Patch(
        "backends.nvptx.kernels.sort.merge_path:MergePath._next",
        '"slt", from_right',
        '"sle", from_right',
        "kernel/sort",
        PTX,
    ),
    "tile_edge": Patch(
        "backends.nvptx.kernels.dot.matrix_product:inside",
        "integer(bound)",
        "integer(bound - 1)",
        "kernel/dot+convolution",
        PTX,
    ),
    "scan_warps": Patch(
        "backends.nvptx.kernels.window.kernel:_Tile._before",
        "distance *= 2",
        "distance *= 4",
        "kernel/reduce-window",
        PTX,
    ),
    "blocks_rounded_down": Patch(
        "backends.nvptx.kernels.grid:blocks_for",
        "-(-elements // threads)",
        "max(1, elements // threads)",
        "kernel",
        PTX,
    ),
}
"""The catalogue, by name."""
