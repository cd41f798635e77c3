"""Branches and loops in the code of one element mean what the operation does, and stand where engines take them."""

import numpy as np
import pytest

import compiler
from compiler.generate import FLOW, flow
from compiler.generate.choices import RandomChoices
from compiler.generate.combining import combiner, combiners
from compiler.generate.exhaustive import Packing, space_of
from compiler.generate.scope import Program, Scope, Space
from compiler.interpreter import Interpreter
from compiler.ir.module import Computation, Module
from compiler.ir.types import TYPES
from compiler.pipeline import PIPELINES, run

KINDS = ("pred", "s8", "u32", "bf16", "f64", "c64")
DRAWN = 160


def scope_for(seed, banned=frozenset(), opcodes=frozenset({"while", "conditional"})):
    module = Module("m")
    module.entry = module.add_computation(Computation("main"))
    program = Program(
        RandomChoices(seed), Space(opcodes, frozenset(), banned, most_elements=64), module, lambda _: None
    )
    return Scope(program, module.entry, depth=0)


def flowing(kind, banned=frozenset()):
    """Combiners with the opcode that each stands for, of those drawn such as are more than an operation."""
    for seed in range(DRAWN):
        opcode = combiners(TYPES[kind])[seed % len(combiners(TYPES[kind]))]
        made = combiner(scope_for(seed, banned), opcode, TYPES[kind])
        if len(made.instructions) > 3:
            yield opcode, made


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_combined_as_by_the_plain_operation(kind, monkeypatch):
    monkeypatch.setattr(flow, "_PERCENT", 100)
    rng, seen = np.random.default_rng(0), set()
    for opcode, made in flowing(kind):
        left, right = (rng.integers(0, 3, 64).astype(TYPES[kind].dtype) for _ in range(2))
        plain = Computation("plain")
        with monkeypatch.context() as without:
            without.setattr(flow, "_PERCENT", 0)
            plain = combiner(scope_for(0), opcode, TYPES[kind])
        expected, actual = (np.asarray(Interpreter().map(one, [left, right])) for one in (plain, made))
        assert np.array_equal(expected, actual)
        seen |= {i.opcode for i in made.instructions}
    assert {"conditional", "while"} <= seen


def test_some_combiners_flow_and_none_where_an_engine_does_not_take_that():
    assert 0 < sum(1 for _ in flowing("s8")) < DRAWN / 5
    assert not list(flowing("s8", frozenset({FLOW})))


@pytest.mark.parametrize("opcodes", [(), ("while",), ("conditional",)])
def test_no_combiner_flows_where_loops_or_branches_are_not_drawn(opcodes, monkeypatch):
    monkeypatch.setattr(flow, "_PERCENT", 100)
    made = [combiner(scope_for(seed, opcodes=frozenset(opcodes)), "add", TYPES["s8"]) for seed in range(20)]
    assert {len(one.instructions) for one in made} == {3}


@pytest.mark.parametrize("kind", ["s32", "f32"])
def test_no_pass_takes_them_out_of_what_is_mapped(kind):
    left = 0
    for seed in range(DRAWN):
        packing = Packing("m", space_of((kind, "s32", "pred"), frozenset()))
        packing.chain(["map"], TYPES[kind], (5,), RandomChoices(seed))
        module = packing.finish()
        if module is None:
            continue
        compiler.verify(module)
        flows = {"conditional", "while"} & {i.opcode for i in module.instructions()}
        run(module, PIPELINES["optimize"], compiler.CompileOptions())
        left += bool(flows) and any(i.opcode in ("conditional", "while") for i in module.instructions())
    assert left > DRAWN / 20
