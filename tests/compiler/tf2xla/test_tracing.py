"""A function as a computation takes and gives a tuple: what is not known, then the variables that it may use."""

import numpy as np
import pytest
from graph_nodes import FLOAT, INT, const, function, node

import compiler
from compiler.expansion.expression import Expression
from compiler.graph import FunctionReference, Graph, PartialShape
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32
from compiler.tf2xla.lowering import Lowering
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.signature import signature
from compiler.tf2xla.values import Handle

HANDLE = node("v", "VarHandleOp", dtype=FLOAT, shape=PartialShape((2,)), shared_name=b"v")
SCALE = function("scale", {"a": FLOAT, "n": INT}, {"b": FLOAT, "m": INT},
                 [node("c", "Cast", "n", SrcT=INT, DstT=FLOAT), node("t", "Mul", "a", "c:y:0", T=FLOAT)],
                 {"b": "t:z:0", "m": "n"})  # fmt: skip
ADD = function("add", {"a": FLOAT}, {"b": FLOAT},
               [HANDLE, node("w", "AssignAddVariableOp", "v:resource:0", "a", dtype=FLOAT),
                node("r", "ReadVariableOp", "v:resource:0", "^w", dtype=FLOAT)], {"b": "r:value:0"})  # fmt: skip
READ = function("read", {"a": FLOAT}, {"b": FLOAT},
                [HANDLE, node("r", "ReadVariableOp", "v:resource:0", dtype=FLOAT)], {"b": "r:value:0"})  # fmt: skip
OUTER = function("outer", {"a": FLOAT}, {"b": FLOAT}, [node("c", "add", "a")], {"b": "c:b:0"})
NOISE = function("noise", {"a": FLOAT}, {"b": FLOAT},
                 [const("s", [2]), node("r", "RandomUniform", "s:output:0", dtype=FLOAT, T=INT, seed=1, seed2=2)],
                 {"b": "r:output:0"})  # fmt: skip


@pytest.fixture
def module():
    return compiler.parse(
        "ENTRY e { x = f32[2] parameter(0)  n = s32[] parameter(1)  ROOT t = (f32[2], s32[]) tuple(x, n) }"
    )


@pytest.fixture
def lowering(module):
    return Lowering(Graph([], [SCALE, ADD, READ, OUTER, NOISE]), module, {"v": ArrayShape(F32, (2,))})


@pytest.fixture
def traced(module, lowering):
    def trace(name, inputs, *, known=None, results=None):
        caller = Operation(node("w", "While"), signature("->"), (), module.entry, lowering, checked=False)
        reference = FunctionReference(name)
        carried = lowering.tracer.carried([reference], inputs)
        return lowering.tracer.traced(reference, inputs, caller, known or {}, carried, results)

    return trace


@pytest.fixture
def given(module):
    return [Expression(one) for one in module.entry.parameters]


def test_it_takes_and_gives_one_tuple(traced, given, module):
    found = traced("scale", given)
    assert str(found.computation.root.shape) == "(f32[2], s32[])"
    (state,) = found.computation.parameters
    assert str(state.shape) == "(f32[2], s32[])"
    assert found.computation in module.computations
    assert found.changed == frozenset()


def test_what_is_known_is_written_into_it_and_not_taken(traced, given):
    found = traced("scale", given, known={1: np.int32(3)})
    (state,) = found.computation.parameters
    assert str(state.shape) == "(f32[2])"
    assert any(i.opcode == "constant" and int(i.literal.array) == 3 for i in found.computation.instructions)


def test_of_its_results_those_that_are_wanted_are_given(traced, given):
    assert str(traced("scale", given, results=[1]).computation.root.shape) == "(s32[])"


@pytest.mark.parametrize("name", ["add", "outer"])
def test_variables_that_it_or_what_it_calls_may_use_go_behind(traced, given, name):
    found = traced(name, given[:1])
    assert str(found.computation.parameters[0].shape) == "(f32[2], f32[2])"
    assert str(found.computation.root.shape) == "(f32[2], f32[2])"
    assert found.changed == {"v"}


def test_a_variable_that_is_only_read_is_given_back_as_it_was(traced, given):
    found = traced("read", given[:1])
    assert found.changed == frozenset()
    value, after = found.computation.root.operands
    assert value is after


def test_what_is_carried_is_what_has_a_value(lowering, given):
    tracer = lowering.tracer
    assert tracer.carried([FunctionReference("add")], given[:1]) == ("v",)
    assert tracer.carried([FunctionReference("scale"), FunctionReference("nobody")], given) == ()
    assert tracer.carried([], [Handle("v", F32)]) == ("v",)
    assert tracer.carried([], [Handle("other", F32)]) == ()


def test_the_state_of_random_numbers_is_carried_like_a_variable(lowering, traced, given):
    (name,) = lowering.tracer.carried([FunctionReference("noise")], given[:1])
    assert lowering.variables.shape(name) is not None
    assert traced("noise", given[:1]).changed == {name}
