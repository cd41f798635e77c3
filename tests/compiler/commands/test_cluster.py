"""`python -m compiler cluster`: which nodes are compiled together, why others are not, and how it is drawn."""

import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner
from cluster_graphs import graph_of
from graphs import FIRST, meta, write_model

import compiler
from compiler.__main__ import cli
from compiler.graph import PartialShape, parse_graph, to_text
from compiler.jit import cluster_of

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

TEXT = """
    x = Placeholder()
    a = Neg(x)
    b = Exp(a)
    c = Wobble(b)
    d = AddV2(b, c)
    e = Softmax(d)
    f = MatMul(e, b)
    g = Neg(f)
    u = Neg(x)
"""
LISTED = """cluster_0: 4 nodes
  d (AddV2)
  e (Softmax)
  f (MatMul)
  g (Neg)
in no cluster:
  a (Neg): its cluster has 2 ops that count, fewer than 4
  b (Exp): its cluster has 2 ops that count, fewer than 4
  c (Wobble): op Wobble has no lowering
  _arg_x_0_0 (_Arg): it is a feed or a fetch
  _retval_g_0_0 (_Retval): it is a feed or a fetch
"""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Run the command on the graph."""
    monkeypatch.delenv("TF_XLA_FLAGS", raising=False)
    path = tmp_path / "g.pbtxt"
    path.write_text(to_text(graph_of(TEXT)), encoding="utf-8")
    return lambda *arguments: CliRunner().invoke(cli, ["cluster", str(path), *arguments])


def test_clusters_are_listed_with_reasons_for_the_rest(told):
    done = told("--fetch", "g")
    assert (done.exit_code, done.stdout) == (0, LISTED)


def test_flags_and_feeds_count(told):
    done = told(
        "--flags=--tf_xla_min_cluster_size=1 --tf_xla_clustering_fuel=3",
        "--feed",
        "b",
        "--fetch",
        "g",
        "--fetch",
        "^u",
        "--json",
    )
    facts = json.loads(done.stdout)
    assert facts["clusters"] == {"cluster_0": ["d", "e", "f"]}
    assert facts["reasons"]["g"] == "--tf_xla_clustering_fuel=3 is used up"
    assert "a" not in facts["reasons"], "it is not needed"
    assert (facts["notes"], "in no cluster" in facts["text"]) == ([], True)


def test_the_environment_counts(told, monkeypatch):
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_ops_to_cluster=Neg --tf_xla_min_cluster_size=1")
    assert json.loads(told("--fetch", "g", "--json").stdout)["clusters"] == {"cluster_0": ["a"], "cluster_1": ["g"]}


def test_graphs_between_passes_are_dumped(told, tmp_path, monkeypatch):
    monkeypatch.setenv("TF_DUMP_GRAPH_PREFIX", str(tmp_path / "dumps"))
    assert told("--flags=--tf_xla_clustering_debug").exit_code == 0
    assert "mark_for_compilation.pbtxt" in {path.name for path in (tmp_path / "dumps").iterdir()}


def test_it_is_printed_in_every_form(told):
    marked = parse_graph(told("--form", "text").stdout)
    assert {one.name for one in marked.nodes if cluster_of(one)} == {"d", "e", "f", "g"}
    assert "cluster_0/xla_run = _XlaRun(" in told("--fetch", "g", "--form", "optimized").stdout
    page, picture = (told("--form", form).stdout for form in ("html", "dot"))
    for text in (page, picture):
        assert "cluster_0: 4 nodes" in text
        assert "op Wobble has no lowering" in text
    assert page.startswith("<!doctype html>")
    assert '<summary>cluster_0</summary><pre id="text_0">the sizes of b are not known</pre>' in page


class Page(HTMLParser):
    """The elements of a page that are open, its ids, and where its links lead."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.tags = [], [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.ids += [value for name, value in attributes if name == "id"]
        self.links += [value for name, value in attributes if name == "href"]
        self.open += [] if tag == "meta" else [tag]

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_page_is_whole_and_its_frames_lead_to_their_programs(told):
    page = Page(told("--form", "html").stdout)
    assert not page.open
    assert len(page.ids) == len(set(page.ids))
    assert page.links == ["#text_0"]
    assert "text_0" in page.ids
    assert page.tags.isdisjoint({"script", "img", "iframe"})


def test_a_page_opens_the_program_of_a_cluster(tmp_path):
    graph = graph_of(
        "x = Placeholder()\nv = VarHandleOp()\nr = ReadVariableOp(v)\na = Neg(x)\nb = Exp(a)\nc = MatMul(b, r)"
    )
    for one in graph.nodes[:2]:
        one.attributes["shape"] = PartialShape((2, 2))
    path = tmp_path / "g.pbtxt"
    path.write_text(to_text(graph), encoding="utf-8")
    page = CliRunner().invoke(cli, ["cluster", str(path), "--fetch", "c", "--form", "html"]).stdout
    program = html.unescape(re.search('<pre id="text_0">(HloModule cluster_0.*?)</pre>', page, re.DOTALL)[1])
    x, v = np.eye(2, dtype=np.float32), np.full((2, 2), 2, np.float32)
    np.testing.assert_allclose(compiler.interpret(program, x, v)[0], np.exp(-x) @ v, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--flags=--tf_xla_auto_jot=1"], "did you mean --tf_xla_auto_jit"),
        (["--fetch", "h"], "no node 'h' in the graph"),
        (["--fetch", "^h"], "no node 'h' in the graph"),
        (["--fetch", "g", "--feed", "^x"], "names no output"),
    ],
)
def test_what_is_wrong_is_said(told, arguments, said):
    done = told(*arguments)
    assert done.exit_code == 2, done.output
    assert said in done.stderr


def test_of_a_model_its_signature_is_looked_at(tmp_path):
    folder = write_model(tmp_path / "m", meta(FIRST))
    facts = json.loads(CliRunner().invoke(cli, ["cluster", str(folder), "--json"]).stdout)
    names = {*facts["reasons"], *(node for nodes in facts["clusters"].values() for node in nodes)}
    assert not {name for name in names if "save" in name.lower()}, "nothing that saves or restores"
    assert any(name.startswith("_retval_") for name in names)


def test_of_a_long_name_the_end_is_shown(tmp_path):
    long = "StatefulPartitionedCall/StatefulPartitionedCall/model/dense/MatMul"
    path = tmp_path / "g.pbtxt"
    path.write_text(to_text(graph_of(f"x = Placeholder()\n{long} = Neg(x)")), encoding="utf-8")
    page = CliRunner().invoke(cli, ["cluster", str(path), "--form", "html"]).stdout
    assert ">.../model/dense/MatMul<" in page
