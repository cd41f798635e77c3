"""Every opcode that the reference evaluates runs natively on a small program; the forms that do not are listed here."""

from __future__ import annotations

import pytest
from op_programs import EVALUATED, around, program

import compiler
from compiler import inputs
from compiler.backends import BACKENDS
from xlabench.judging.differ import compare

OPTIONS = compiler.CompileOptions(device="sim", verify_each=True)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("opcode", EVALUATED)
def test_every_opcode_that_the_reference_evaluates_runs_natively(opcode, backend):
    module = compiler.parse(program(opcode))
    arrays = inputs.draw(module, 0)
    expected = compiler.interpret(module, *arrays)
    comparison = compare(expected, compiler.compile(module, backend, OPTIONS)(*arrays))
    assert comparison.agreement in ("bitwise", "within"), comparison.describe()
    assert any(opcode == i.opcode for i in module.instructions())


UNSUPPORTED = {
    "a dimension without a bound": "n = s32[] constant(2) ROOT r = f32[?] dynamic-reshape(x, n)",
    "a custom call for a routine of LAPACK": "ROOT r = (f32[2,3], f32[2])"
    ' custom-call(m), custom_call_target="lapack_sgelqf_ffi"',
    "an array that other devices make longer": "ROOT r = f32[8] all-gather(x), dimensions={0}, replica_groups={}",
}
"""Forms of the opcodes above that have no native code: they are refused, never computed in another way."""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", UNSUPPORTED)
def test_what_has_no_native_code_is_refused(form, backend):
    with pytest.raises(compiler.UnsupportedError):
        compiler.compile(compiler.parse(around(UNSUPPORTED[form])), backend, OPTIONS)
