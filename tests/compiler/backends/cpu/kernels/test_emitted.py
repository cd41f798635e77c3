"""What a kernel's functions are given: arrays, the workspace, and which chunk of how many they do."""

import pytest

import compiler
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin, parameters
from compiler.codegen.kernel import kernel_of
from compiler.codegen.llvm_ir import Module

ROOT = compiler.parse(
    "ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) ROOT r = f32[4] add(x, y) }"
).entry.root


def test_every_function_gets_arrays_the_workspace_and_its_chunk():
    assert [name for _, name in parameters(kernel_of(ROOT))] == ["in0", "in1", "out0", "workspace", "thread", "threads"]
    assert [f"{type_} %{name}" for type_, name in parameters(kernel_of(ROOT))[-2:]] == [str(THREAD), str(THREADS)]


@pytest.mark.parametrize("suffix", ["", ".sum"])
def test_a_function_is_called_as_its_kernel_and_nobody_elses(suffix):
    function = begin(Module(), kernel_of(ROOT), suffix)
    assert function.name == f"e_r{suffix}"
    assert "internal" in str(function)
    assert "noinline" in str(function)
