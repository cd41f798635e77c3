"""Parts of a workspace begin at lines of a cache, one behind the other."""

import pytest

from compiler.codegen.llvm_ir import Builder, Module, Value
from compiler.codegen.workspace import Workspace, whole_lines


@pytest.mark.parametrize(("size", "lines"), [(0, 0), (1, 64), (64, 64), (65, 128)])
def test_bytes_come_in_whole_lines(size, lines):
    assert whole_lines(size) == lines


def test_a_workspace_is_all_its_parts():
    workspace = Workspace({"a": 1, "b": 0, "c": 100})
    assert workspace.size_bytes == 192
    assert [workspace.bytes_of(name) for name in "abc"] == [64, 0, 128]
    assert Workspace({}).size_bytes == 0


def test_each_part_begins_where_the_one_before_ends():
    function = Module().function("f", "void", [("ptr", "base")])
    regions = Workspace({"a": 1, "b": 65, "c": 8}).regions(Builder(function), Value("ptr", "%base"))
    assert list(regions) == ["a", "b", "c"]
    text = "\n".join(function.lines)
    assert "i64 64" in text
    assert "i64 192" in text
