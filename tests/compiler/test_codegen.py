"""Every rule of an opcode writes code for a single element that LLVM takes, of the type that the result has."""

import pytest
from op_programs import EVALUATED, program

import compiler
from compiler.codegen import element, llvm, llvm_ir
from compiler.codegen.elemental import RULES, supports
from compiler.codegen.index import Emission
from compiler.codegen.kernel import kernel_of
from compiler.codegen.signature import elemental_of, parameters
from compiler.diagnostics import UnsupportedError
from compiler.ir.shape import ArrayShape, leaves


def instruction_of(opcode):
    return next(i for i in compiler.parse(program(opcode)).instructions() if i.opcode == opcode)


def emitted(instruction):
    """The values of an element of an instruction alone, and the text of the function that computes them."""
    module = llvm_ir.Module()
    kernel = kernel_of(instruction)
    builder = llvm_ir.Builder(module.function("f", "void", parameters(kernel)))
    emission = Emission(builder)
    dims = next(leaves(instruction.shape)).dims
    indices = tuple(emission.opaque(llvm_ir.integer(0), size) for size in dims)
    values = elemental_of(kernel, emission).elements(instruction, indices)
    builder.ret()
    return values, str(module)


OF_TUPLES = {"conditional", "get-tuple-element"}
"""What passes an element of a tuple on, and so is no code alone: a parameter that is a tuple has no elements."""


@pytest.mark.parametrize("opcode", sorted(RULES.keys() & set(EVALUATED) - OF_TUPLES))
def test_an_element_alone_is_code_of_its_type(opcode):
    instruction = instruction_of(opcode)
    assert supports(instruction)
    values, text = emitted(instruction)
    assert [value.type for value in values] == [
        element.value_type(leaf.element_type) for leaf in leaves(instruction.shape)
    ]
    llvm.parse(text, llvm.Target.host(), 0)


def test_what_no_rule_computes_is_refused():
    instruction = instruction_of("cholesky")
    assert not supports(instruction)
    assert isinstance(instruction.shape, ArrayShape)
    with pytest.raises(UnsupportedError):
        emitted(instruction)
