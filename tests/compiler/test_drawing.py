"""Drawings hold every instruction once, with what it uses, and are what Graphviz and a browser read."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import compiler
from compiler.drawing import PICTURES, graph, layout
from compiler.ops import OPS
from compiler.pipeline import PIPELINES, run
from compiler.text.opcodes import SIGNATURES

SUITES = Path(compiler.__file__).parents[1] / "suites"
PROGRAMS = sorted((SUITES / "smoke").glob("*.sim.hlo"))
STRANGE = r"""HloModule m

%f { p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }
cond { s = (f32[2], s32[]) parameter(0)  ROOT c = pred[] constant(false) }
body { ROOT s = (f32[2], s32[]) parameter(0) }

ENTRY e {
  x = f32[2] parameter(0), metadata={op_name="a \"b\" \\ <c> & \n d"}
  a = f32[2] fusion(x), kind=kLoop, calls=f
  b = f32[2] fusion(a), kind=kLoop, calls=f
  z = s32[] constant(0)
  t = (f32[2], s32[]) tuple(b, z)
  ROOT w = (f32[2], s32[]) while(t), condition=cond, body=body
}
"""


def _modules():
    for path in PROGRAMS:
        module = compiler.parse(path.read_text())
        yield path.name, module
        fused = module.clone()
        run(fused, PIPELINES["optimize"], compiler.CompileOptions())
        yield f"{path.name} fused", fused
    yield "strange", compiler.parse(STRANGE)


MODULES = dict(_modules())


def _used(module):
    """How many instructions, and operands, a drawing shows: fused computations as often as they are fused."""
    fusions = [i for i in module.instructions() if i.opcode == "fusion"]
    bodies = [body for fusion in fusions for body in fusion.called_computations()]
    own = [c for c in module.computations if c not in bodies]
    shown = [i for c in (*own, *bodies) for i in c.instructions if i.opcode != "fusion"]
    edges = sum(len(i.operands) for i in shown) + sum(len(fusion.operands) for fusion in fusions)
    calls = sum(len(list(i.called_computations())) for i in shown)
    return len(shown), edges, calls


@pytest.mark.parametrize("name", MODULES)
def test_every_instruction_and_value_is_drawn(name):
    drawn = graph.graph_of(MODULES[name])
    keys = [node.key for cluster in drawn.clusters for node in graph.nodes_of(cluster)]
    edges = [edge for edge in drawn.edges if not edge.is_broken]
    assert (len(keys), len(edges), len(drawn.edges) - len(edges)) == _used(MODULES[name])
    assert len(set(keys)) == len(keys)
    assert {key for edge in drawn.edges for key in (edge.source, edge.target)} <= set(keys)


@pytest.mark.parametrize("opcode", SIGNATURES)
def test_every_opcode_is_of_a_kind(opcode):
    assert graph.kind_of(opcode) is not graph.OTHER


@pytest.mark.parametrize("kind", graph.KINDS[:-1], ids=lambda kind: kind.name)
def test_opcodes_are_named_where_their_traits_make_them_of_another_kind(kind):
    traits = [wanted for wanted, _ in graph._KINDS.values()]
    wanted, named = graph._KINDS[kind]
    for opcode in named.split():
        first = next((one for one in traits if OPS[opcode].traits & one), None)
        assert graph.kind_of(opcode) is kind
        assert first is None or first is not wanted, f"{opcode} need not be named"


@pytest.mark.parametrize("name", MODULES)
def test_boxes_lie_inside_the_one_around_them_and_not_over_others(name):
    def check(box):
        for inner in box.inner:
            assert inner.x >= 0
            assert inner.y >= 0
            assert inner.x + inner.width <= box.width
            assert inner.y + inner.height <= box.height
            check(inner)
        for number, one in enumerate(box.inner):
            for other in box.inner[:number]:
                apart_x = one.x + one.width <= other.x or other.x + other.width <= one.x
                assert apart_x or one.y + one.height <= other.y or other.y + other.height <= one.y

    for box in layout.lay_out(graph.graph_of(MODULES[name])):
        check(box)


@pytest.mark.parametrize("name", MODULES)
def test_values_flow_downwards(name):
    drawn = graph.graph_of(MODULES[name])
    places = {}

    def place(box, y):
        places[box.of.key] = (y + box.y, y + box.y + box.height)
        for inner in box.inner:
            place(inner, y + box.y)

    for box in layout.lay_out(drawn):
        place(box, 0.0)
    for edge in drawn.edges:
        if not edge.is_broken:
            assert places[edge.source][1] <= places[edge.target][0]


@pytest.mark.parametrize("name", MODULES)
def test_the_page_is_whole_and_needs_nothing_else(name):
    page = PICTURES["html"](MODULES[name])
    [svg] = re.findall(r"<svg.*</svg>", page, re.DOTALL)
    root = ET.fromstring(svg)
    shown = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert len([opcode for opcode in shown if opcode.startswith("parameter ")]) >= len(MODULES[name].entry.parameters)
    assert not re.search(r"<script|<link|src=|href=|@import|http(?!://www.w3.org/2000/svg)", page)


def test_what_is_strange_in_a_name_is_escaped():
    module = compiler.parse(STRANGE)
    assert r"a \\\"b\\\" \\\\ <c> &amp; " in PICTURES["dot"](module)
    assert r"&quot;a \&quot;b\&quot; \\ &lt;c&gt; &amp; " in PICTURES["html"](module)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_graphviz_reads_the_graph(name):
    dot = shutil.which("dot")
    text = PICTURES["dot"](MODULES[name])
    statements = [line for line in text.splitlines()[1:-1] if not line.rstrip().endswith(("{", "}"))]
    assert all(re.fullmatch(r"(?:[^\"]|\"(?:[^\"\\]|\\.)*\")*;", line) for line in statements)
    if dot is not None:
        subprocess.run([dot, "-Tsvg", "-o/dev/null"], input=text, text=True, check=True)
