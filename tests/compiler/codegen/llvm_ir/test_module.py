"""Names in a module of LLVM's."""

import pytest

from compiler.codegen.llvm_ir import Module


def test_a_global_is_defined_once_under_each_name():
    module = Module()
    first, again = (module.define_global("table", "global i8 0").name for _ in range(2))
    other, next_other = (module.define_global("table", f"global i8 {number}").name for number in (1, 2))
    assert (first, again, other, next_other) == ("@table", "@table", "@table.2", "@table.3")
    assert module.define_global("table.2", "global i8 1").name == other
    assert module.define_global("table.4", "global i8 4").name == "@table.4"
    assert module.define_global("table", "global i8 3").name == "@table.5"
    assert len(module.globals) == 5


def test_bytes_are_constant_data():
    module = Module()
    assert module.define_bytes("text", b"\0A\xff", alignment=4).name == "@text"
    assert module.define_bytes("none", b"").name == "@none"
    assert module.globals == {
        "text": r'internal constant [3 x i8] c"\00\41\ff", align 4',
        "none": 'internal constant [0 x i8] c"", align 1',
    }


def test_a_function_is_declared_for_one_signature():
    module = Module()
    assert {module.declare("llvm.fabs.f64", "double", ["double"]) for _ in range(2)} == {"@llvm.fabs.f64"}
    assert len(module.declarations) == 1
    with pytest.raises(ValueError, match=r"declared twice: declare double @llvm.fabs.f64\(double\), and declare <4 x"):
        module.declare("llvm.fabs.f64", "<4 x double>", ["<4 x double>"])
