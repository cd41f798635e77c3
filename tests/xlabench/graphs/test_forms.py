"""What stands in a file is read a second time, by what knows the format alone."""

import numpy as np
import pytest

from compiler.tf import BY_NAME, AttributeList, FunctionReference, Graph, Node, PartialShape, tensor_of
from xlabench.fuzzing.graphs import cases, wired
from xlabench.graphs import forms

VALUES = {
    "truth": True,
    "number": -3,
    "float": 0.5,
    "text": b"abc",
    "type": BY_NAME["complex128"],
    "reference": BY_NAME["float32"].reference,
    "shape": PartialShape((2, None)),
    "open": PartialShape(None),
    "tensor": tensor_of(np.arange(6, dtype=np.int64).reshape(2, 3)),
    "function": FunctionReference("f"),
    "texts": AttributeList("s", (b"a", b"")),
    "numbers": AttributeList("i", (0, -1, 1 << 40)),
    "types": AttributeList("type", (BY_NAME["bool"], BY_NAME["variant"])),
    "shapes": AttributeList("shape", (PartialShape((3,)), PartialShape(None))),
}
OTHERS = {
    "truth": False, "number": 3, "float": -0.5, "text": b"xyz", "type": BY_NAME["complex64"],
    "reference": BY_NAME["float32"], "shape": PartialShape((2, 1)), "open": PartialShape(()),
    "tensor": tensor_of(np.arange(6, dtype=np.int64).reshape(3, 2)), "function": FunctionReference("g"),
    "texts": AttributeList("s", (b"a", b"b")), "numbers": AttributeList("i", (0, -1, 1)),
    "types": AttributeList("type", (BY_NAME["bool"], BY_NAME["resource"])),
    "shapes": AttributeList("shape", (PartialShape((3,)), PartialShape((1,)))),
}  # fmt: skip


def graph_with(values):
    return Graph([Node("a", "Op", (), "/cpu:0", dict(values)), Node("b", "Op", ("a", "a:1", "^a"))])


@pytest.mark.parametrize("number", range(6))
def test_drawn_graphs_are_what_their_files_say(number):
    rng = np.random.default_rng([73, number])
    assert forms.problems(cases.draw_graph(rng, number).graph, number / 6) == []
    assert forms.problems(wired.draw(rng), number / 6) == []


def test_every_kind_of_attribute_is_read():
    assert VALUES.keys() == OTHERS.keys()
    assert forms.problems(graph_with(VALUES), 0.5) == []


@pytest.mark.parametrize("name", VALUES)
def test_a_file_that_says_another_value_is_told(monkeypatch, name):
    binary = forms.to_binary(graph_with(VALUES | {name: OTHERS[name]}))
    monkeypatch.setattr(forms, "to_binary", lambda _: binary)
    assert forms.problems(graph_with(VALUES), 0.5)[0].startswith("binary: it does not say")


@pytest.mark.parametrize("size", [0, 1, 127, 128, 20_000])
def test_what_nothing_here_has_a_name_for_is_kept_whatever_the_size(monkeypatch, size):
    graph = graph_with({"text": b"a" * size})
    assert forms.problems(graph, 0.5) == []
    kept = forms.parse_graph

    def forgetful(source):
        read = kept(source)
        return graph_with({"text": b"a" * size}) if isinstance(source, bytes) else read

    monkeypatch.setattr(forms, "parse_graph", forgetful)
    assert "rest: what nothing here has a name for is lost" in forms.problems(graph, 0.5)


def test_what_is_cut_off_is_refused_and_raises_nothing_else(monkeypatch):
    def read(data):
        if data == b"":
            raise IndexError("it")
        return graph_with(VALUES)

    monkeypatch.setattr(forms, "parse_graph", read)
    assert forms.problems(graph_with(VALUES), 0.0)[-1:] == ["cut: IndexError: it"]
