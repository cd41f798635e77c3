"""`python -m compiler tf2xla`: graphs and functions of files, their feeds and fetches, and what is wrong about them."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from graph_nodes import DOUBLE, FLOAT, INT, X, node, placeholder

import compiler
from compiler.__main__ import cli
from compiler.graph import Graph, Node, PartialShape, to_text

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

RESHAPE = [placeholder("x"), placeholder("dims", INT), node("same", "Identity", "dims", T=INT)]
RESHAPE += [node("r", "Reshape", "x", "same", T=FLOAT, Tshape=INT)]


def test_the_command_lowers_graphs_and_functions(tmp_path):
    path = tmp_path / "g.pbtxt"
    sized = [Node("x", "Placeholder", (), "", {"dtype": FLOAT, "shape": PartialShape((2, 3))}), *RESHAPE[1:]]
    path.write_text(to_text(Graph(sized, [DOUBLE])), encoding="utf-8")
    done = CliRunner().invoke(cli, ["tf2xla", str(path), "--feed", "dims=s32[2] {3, 2}", "--fetch", "r", "--json"])
    told = json.loads(done.stdout)
    assert (done.exit_code, told["inputs"], told["outputs"]) == (0, ["x"], ["r"])
    np.testing.assert_array_equal(compiler.interpret(told["text"], X)[0], X.reshape(3, 2))
    done = CliRunner().invoke(cli, ["tf2xla", str(path), "--function", "double", "--feed", "a=f32[3]"])
    np.testing.assert_array_equal(compiler.interpret(done.stdout, X[0])[0], 2 * X[0])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--fetch", "r"], 2, "it is not fed"),
        ([], 2, "nothing is asked for: give --fetch"),
        (["--fetch", "r", "--feed", "x"], 2, "give it as NAME=SHAPE"),
        (["--fetch", "r", "--feed", "x=(f32[2])"], 2, "<shape>:1:8"),
        (["--fetch", "r", "--feed", "x=f33[2]"], 2, "f33"),
        (["--fetch", "r", "--feed", "x=f32[2] {1"], 2, "<literal>"),
        (["--fetch", "r", "--feed", "x=f32[2] {...}"], 2, "left out"),
        (["--function", "double"], 2, "takes a: give one --feed for each"),
        (["--function", "dubble"], 2, "did you mean double"),
        (["--fetch", "w"], 125, "op Wild"),
    ],
)
def test_the_command_says_what_is_wrong(tmp_path, arguments, code, said):
    path = tmp_path / "g.pbtxt"
    path.write_text(to_text(Graph([*RESHAPE, node("w", "Wild")], [DOUBLE])), encoding="utf-8")
    done = CliRunner().invoke(cli, ["tf2xla", str(path), *arguments])
    assert done.exit_code == code, done.output
    assert re.search(said, done.stderr)
