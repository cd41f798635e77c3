"""The programs of one op on the interpreter of StableHLO that jaxlib carries.

It is written from StableHLO's specification, by others and in other ways than XLA's code, so it is a second witness.
It computes in the program's own types, one element after another; what it does not know ends the process, so that the
families it lacks are named here, and those where it is known to differ (see `compiler/ops/README.md`).
"""

from __future__ import annotations

from dataclasses import replace

import golden
import numpy as np
import pytest

import compiler
from compiler.ir.literal import Literal
from compiler.ir.shape import ArrayShape
from compiler.ir.shape import leaves as leaves_of
from compiler.ir.types import S32, TYPES, of_dtype
from compiler.ops.build import build

pytest.importorskip("jaxlib", reason="jaxlib is not installed")

from jax._src.interpreters import mlir as jax_mlir
from jaxlib import _hlo, _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

LACKS = (
    *("RFFT", "acosh", "acos", "asinh", "asin", "atanh", "cosh", "sinh", "bn", "chol", "convert", "divide", "dot0"),
    *("dot4", "dotmix", "erf", "iota", "rbg", "remainder", "stoch", "topk", "tri", "rng", "IFFT", "FFT", "IRFFT"),
)
"""Beginnings of families with programs that end its process: no meaning there, or only in some element types."""

DIFFERS = (
    *("compareEQTOTAL", "compareGETOTAL", "compareGTTOTAL", "compareLETOTAL", "compareLTTOTAL", "compareNETOTAL"),
    *(
        "rwinit",
        "sas",
        "sortLT",
        "sortGT",
        "scatteradd",
        "scatterand",
        "scattermaximum",
        "scatterminimum",
        "scattermultiply",
    ),
    *("scatteror", "scatterxor", "logistic"),
)
"""Beginnings of families where it is another language, or overflows.

Total order is no order of its own there, padding is combined, windows partly outside are scattered in part, and the
order of NaN in a sort is open.
"""

SUMS = ("reduce", "rw", "scatter", "dot", "conv", "cumsum")
TOLERANCE = 256
"""In units of the element type, of the largest element: it rounds each partial sum to that type."""

CASES = [c for c in golden.cases("xla_cpu") if not golden.family(c).startswith((*LACKS, *DIFFERS))]
FAMILIES = sorted({golden.family(case) for case in CASES})


def test_most_programs_are_compared():
    assert len(CASES) > 1100
    assert len(FAMILIES) > 130


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reference_agrees_with_stablehlo(family):
    wrong = {}
    for case in CASES:
        if golden.family(case) != family:
            continue
        module = compiler.parse(case.text)
        expected = evaluate(module, case.inputs)
        mine = compiler.interpret(module, *case.inputs)
        of_sum = family.startswith(SUMS)
        wrong[case.name] = golden.difference(
            replace(case, results=tuple(expected), tolerance=TOLERANCE if of_sum else 2, of_sum=of_sum), mine
        )
    assert {name: text for name, text in wrong.items() if text} == {}


def evaluate(module, inputs):
    """The results of StableHLO's interpreter; complex and narrow ones leave it as parts and as bits."""
    shapes = list(leaves_of(module.entry.root.shape))
    proto = _hlo.hlo_module_from_text(compiler.to_text(closed(module, inputs))).as_serialized_hlo_module_proto()
    with jax_mlir.make_ir_context():
        converted = ir.Module.parse(_jax.mlir.hlo_to_stablehlo(proto))
        leaves = [np.array(value) for value in stablehlo.eval_module(converted, [])]
    return [assemble(leaves, shape) for shape in shapes]


def results_of(module):
    root = module.entry.root
    if root.opcode == "tuple" or isinstance(root.shape, ArrayShape):
        return list(root.operands) if root.opcode == "tuple" else [root]
    return [build(module.entry, "get-tuple-element", [root], index=n) for n in range(len(root.shape.elements))]


def closed(module, inputs):
    """The program with its inputs as constants, and integers as results: bits of floats, and those of complex parts."""
    module = module.clone()
    entry = module.entry
    for parameter, array in zip(entry.parameters, inputs, strict=True):
        constant = build(entry, "constant", shape=parameter.shape, literal=Literal(parameter.shape, array))
        parameter.replace_uses_with(constant)
        entry.remove([parameter])
    entry.sort()
    leaves = []
    for result in results_of(module):
        complex_ = result.array.element_type.is_complex
        parts = [build(entry, name, [result]) for name in ("real", "imag")] if complex_ else [result]
        leaves += [bits_of(entry, part) for part in parts]
    entry.root = build(entry, "tuple", leaves)
    module.attributes.pop("entry_computation_layout", None)
    return module


def bits_of(entry, value):
    element_type = value.array.element_type
    if element_type.is_integer and element_type.bits < 8:
        return build(entry, "convert", [value], shape=ArrayShape(S32, value.array.dims))
    if not element_type.is_float:
        return value
    shape = ArrayShape(TYPES[f"u{element_type.bits}"], value.array.dims)
    return build(entry, "bitcast-convert", [value], shape=shape)


def assemble(leaves, shape):
    element_type = shape.element_type
    if element_type.is_complex:
        part = np.dtype(f"f{element_type.size_bytes // 2}")
        real, imaginary = (leaves.pop(0).view(part).reshape(shape.dims) for _ in range(2))
        return np.stack([real, imaginary], axis=-1).view(element_type.dtype).reshape(shape.dims)
    leaf = leaves.pop(0).reshape(shape.dims)
    if of_dtype(leaf.dtype) is element_type or not element_type.is_float:
        return leaf.astype(element_type.dtype)
    return np.ascontiguousarray(leaf).view(element_type.dtype).reshape(shape.dims)
