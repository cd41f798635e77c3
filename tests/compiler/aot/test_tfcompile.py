"""Graphs as C++ classes: linked by C's linker alone and run, they compute what the lowered graph does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from compiler.aot import Config, CppClass, Feed, Fetch, Variable, tfcompile
from compiler.diagnostics import InputError, UnsupportedError
from compiler.graph import BY_NAME, Graph, Node, PartialShape, tensor_of

F32 = BY_NAME["float32"]
TOOLS = {"x86_64": ("g++", "gcc", ()), "aarch64": ("aarch64-linux-gnu-g++", "aarch64-linux-gnu-gcc", ("qemu-aarch64",))}
CLASS = CppClass.parse("foo::bar::MatMulAndAdd")
GRAPH = Graph(
    [
        Node("x", "Placeholder", (), attributes={"dtype": F32}),
        Node("y", "Placeholder", (), attributes={"dtype": F32, "shape": PartialShape((3, 2))}),
        Node("product", "MatMul", ("x", "y"), attributes={"T": F32}),
        Node(
            "w", "VarHandleOp", (), attributes={"dtype": F32, "shape": PartialShape((2, 2)), "shared_name": b"weights"}
        ),
        Node("grow", "AssignAddVariableOp", ("w", "product"), attributes={"dtype": F32}),
        Node("now", "ReadVariableOp", ("w", "^grow"), attributes={"dtype": F32}),
        Node("k", "VarHandleOp", (), attributes={"dtype": F32, "shape": PartialShape(())}),
        Node("factor", "ReadVariableOp", ("k",), attributes={"dtype": F32}),
        Node("scaled", "Mul", ("now", "factor"), attributes={"T": F32}),
    ]
)
X = Feed("x:0", "x", PartialShape((2, 3)))
FACTOR = Variable("k", value=np.float32(0.5))
CONFIG = Config((X, Feed("y:0")), (Fetch("product:0", "product"), Fetch("scaled:0")), (Variable("w", "w"), FACTOR))
MAIN = """
#include "mat_mul_and_add.h"
#include <stdio.h>
using foo::bar::MatMulAndAdd;
int main() {
  MatMulAndAdd one, other;
  const MatMulAndAdd& same = one;
  for (int i = 0; i < one.arg_x_count(); ++i) one.arg0_data()[i] = i + 1;
  for (int i = 0; i < one.arg1_count(); ++i) one.arg1(i / 2, i % 2) = i + 7;
  one.var_w(1, 1) = 1000;
  for (int i = 0; i < 2; ++i)
    if (!one.Run() || !other.Run()) return 1;
  printf("%g %g %g %g %g\\n", same.result0(0, 0), same.result_product(0, 1), one.result0_data()[2],
         one.result1(1, 1), same.var_w(1, 1));
  printf("%g %d %d %zu\\n", other.var_w(1, 1), one.arg0_size(), one.arg1_count(), MatMulAndAdd::kNumArgs);
  MatMulAndAdd bare(MatMulAndAdd::AllocMode::RESULTS_PROFILES_AND_TEMPS_ONLY);
  bool ran = bare.Run();
  printf("%d %s\\n", ran, bare.error_text());
  bare.set_arg_x_data(one.arg_x_data());
  bare.set_arg1_data(one.arg1_data());
  bare.set_var_w_data(other.var_w_data());
  ran = bare.Run();
  printf("%d%s %g\\n", ran, bare.error_text(), other.var_w(1, 1));
#ifdef WITH_LIBRARY
  printf("%d %s\\n", MatMulAndAdd(MatMulAndAdd::AllocMode::RESULTS_PROFILES_AND_TEMPS_ONLY).Run(),
         (std::string("[") + bare.error_msg() + "]").c_str());
#endif
}
"""
LINKED = {"alone": ((), 1), "with C++'s library": (("-DWITH_LIBRARY",), 0)}
"""What the compiler is told, and whether C's links or C++'s: by that of C nothing of C++'s library can be needed."""


@pytest.mark.slow
@pytest.mark.parametrize("linked", LINKED)
@pytest.mark.parametrize("machine", TOOLS)
def test_a_linked_class_computes_what_the_graph_says(machine: str, linked: str, tmp_path: Path) -> None:
    *compilers, runner = TOOLS[machine]
    missing = [tool for tool in (*compilers, *runner) if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    for name, data in tfcompile(GRAPH, CONFIG, CLASS, machine).items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "main.cc").write_text(MAIN)
    options, linker = LINKED[linked]
    strict = ["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-std=c++11", "-fno-exceptions", *options]
    subprocess.run([compilers[0], *strict, "-c", "main.cc"], cwd=tmp_path, check=True)
    objects = ["main.o", "mat_mul_and_add.o", "-lm"]
    subprocess.run([compilers[linker], "-static", "-o", "main", *objects], cwd=tmp_path, check=True)
    done = subprocess.run([*runner, str(tmp_path / "main")], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "58 64 139 654 1308",
        "0 24 6 2",
        "0 an argument has no data, or its data is not aligned to 16 bytes",
        "1 154",
        *(["0 []"] if options else []),
    ]


WRONG = {
    "sizes that nobody says": (Config((Feed("x:0"),), (Fetch("product:0"),)), "feed 'x:0' has sizes <unknown>"),
    "no node": (Config((), (Fetch("z:0"),)), "no node gives 'z:0'"),
    "a variable that nobody keeps": (Config((X, Feed("y:0")), (Fetch("now:0"),)), "variable 'weights' is written: say"),
    "a constant that is written": (
        Config((X, Feed("y:0")), (Fetch("now:0"),), (Variable("w", is_constant=True),)), "says `readonly: true`",
    ),
    "a value that is written": (
        Config((X, Feed("y:0")), (Fetch("now:0"),), (Variable("w", value=np.ones((2, 2), np.float32)),)), "is written",
    ),
    "a value of other sizes": (
        Config((), (Fetch("factor:0"),), (Variable("k", value=np.ones(3, np.float32)),)), r"given is float32\[3\]",
    ),
    "no variable": (Config((), (Fetch("factor:0"),), (Variable("x"),)), "'x' is no variable but a Placeholder"),
    "nothing": (Config(), "nothing is fetched"),
    "one name twice": (Config((X, Feed("y:0", "x")), (Fetch("product:0"),)), "name of a feed 'x' stands there twice"),
    "no name of C++": (Config((X,), (Fetch("product:0", "a-b"),)), "'a-b' is no name in C"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_is_said(name: str) -> None:
    config, said = WRONG[name]
    with pytest.raises(InputError, match=said):
        tfcompile(GRAPH, config, CLASS)


def test_what_has_no_lowering_is_named() -> None:
    graph = Graph([Node("n", "StringNGrams", (), attributes={})])
    with pytest.raises(UnsupportedError, match="StringNGrams"):
        tfcompile(graph, Config((), (Fetch("n:0"),)), CLASS)


def test_sizes_that_values_decide_are_refused() -> None:
    axis = tensor_of(np.int32(0))
    nodes = [
        Node("x", "Placeholder", (), attributes={"dtype": F32, "shape": PartialShape((5,))}),
        Node("left", "Placeholder", (), attributes={"dtype": axis.type, "shape": PartialShape(())}),
        Node("axis", "Const", (), attributes={"dtype": axis.type, "value": axis}),
        Node("y", "XlaSetDynamicDimensionSize", ("x", "axis", "left"), attributes={"T": F32}),
    ]
    config = Config((Feed("x:0"), Feed("left:0")), (Fetch("y:0"),))
    with pytest.raises(UnsupportedError, match=r"fetch y:0.*values decide the sizes of f32\[<=5\]"):
        tfcompile(Graph(nodes), config, CLASS)


@pytest.mark.parametrize("text", ["", "::", "a::", "1a", "a b", "ns::class", "ns::double"])
def test_a_class_has_a_name_of_cpp(text: str) -> None:
    with pytest.raises(InputError, match="no name of C"):
        CppClass.parse(text)


@pytest.mark.parametrize(
    ("text", "namespaces", "file"),
    [("C", (), "c"), ("::a::MatMul", ("a",), "mat_mul"), ("a::b::my_model2X", ("a", "b"), "my_model2_x")],
)
def test_files_are_called_as_the_class(text: str, namespaces: tuple[str, ...], file: str) -> None:
    made = CppClass.parse(text)
    assert (made.namespaces, made.file) == (namespaces, file)
