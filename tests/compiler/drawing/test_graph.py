"""Every instruction is drawn, and every opcode is of a kind."""

import pytest
from drawn_modules import MODULES

from compiler.drawing import graph
from compiler.ops import OPS
from compiler.text.opcodes import SIGNATURES


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
