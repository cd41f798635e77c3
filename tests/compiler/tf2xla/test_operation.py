"""A node as its lowering sees it: inputs by name, attributes with defaults, and every way to refuse it by name."""

import numpy as np
import pytest
from graph_nodes import FLOAT, INT, node, types

import compiler
from compiler.diagnostics import InputError, UnsupportedError
from compiler.expansion.expression import Expression
from compiler.graph import BY_NAME, FunctionReference, Graph
from compiler.tf2xla.lowering import Lowering
from compiler.tf2xla.operation import NotConstantError, Operation
from compiler.tf2xla.signature import signature
from compiler.tf2xla.values import Handle, Store

MODULE = "ENTRY e { x = f32[2,3] parameter(0)  i = s32[2] parameter(1)  c = s32[2] constant({4, 5}) }"
ADD = "x: T, y: T -> z: T; T: {floats ints}"


@pytest.fixture
def values():
    """The values of a program by name: two parameters and a constant."""
    return {i.name: Expression(i) for i in compiler.parse(MODULE).entry.instructions}


@pytest.fixture
def made(values):
    """A node of that signature on values of the program."""

    def operation(text, *names, checked=True, **attributes):
        given = [values[name] if isinstance(name, str) else name for name in names]
        computation = values["x"].instruction.computation
        library = Lowering(Graph([]), computation.module)
        return Operation(node("n", "Op", **attributes), signature(text), given, computation, library, checked=checked)

    return operation


def test_inputs_are_had_by_name_one_or_several(made, values):
    operation = made("x: T, more: N*T, rest: U[] -> z: T; T: {any}; N: int; U: list(type)",
                     "x", "x", "x", "i", "x", T=FLOAT, N=2, U=types(INT, FLOAT))  # fmt: skip
    assert operation["x"] is values["x"]
    assert operation.list("more") == [values["x"]] * 2
    assert operation.items("rest") == [values["i"], values["x"]]


@pytest.mark.parametrize(
    ("names", "attributes", "said"),
    [
        (["x"], {"T": FLOAT}, "it takes 'y', which is not given: it has 1 inputs"),
        (["x", "x", "x"], {"T": FLOAT}, "it has 1 more inputs than it takes"),
        (["x", "i"], {"T": FLOAT}, "its input 'y' must be float32, and is s32"),
        (["x", "x"], {}, "its attribute 'T' is missing"),
        (["x", "x"], {"T": BY_NAME["bool"]}, "its attribute 'T' is bool, which is none of .*float32"),
        (["x", "x"], {"T": 3}, "its attribute 'T' must be of the kind type"),
        (["x", Handle("v", None)], {"T": FLOAT}, "its input 'y' must be float32, and is a variable"),
    ],
)
def test_inputs_that_are_not_as_the_signature_says_are_refused(made, names, attributes, said):
    with pytest.raises(InputError, match=rf"node 'n' \(Op\): {said}"):
        made(ADD, *names, **attributes)


def test_what_is_only_a_name_for_messages_is_not_checked(made):
    assert str(made(ADD, checked=False).invalid("so")) == "node 'n' (Op): so"


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("int", 3, 3),
        ("float", 0.1, float(np.float32(0.1))),
        ("bool", True, True),
        ("string", b"a", b"a"),
        ("list(type)", types(FLOAT, INT), (FLOAT, INT)),
        ("func", FunctionReference("f"), FunctionReference("f")),
    ],
)
def test_an_attribute_is_of_its_kind_and_a_float_has_as_many_digits_as_files_hold(made, kind, value, found):
    assert made(f"-> z: float32; a: {kind}", a=value).attribute("a") == found


@pytest.mark.parametrize(
    ("kind", "value"), [("int", True), ("int", 1.0), ("string", "a"), ("func", b"f"), ("list(int)", 1)]
)
def test_an_attribute_of_another_kind_is_refused(made, kind, value):
    with pytest.raises(InputError, match="its attribute 'a' must be"):
        made(f"-> z: float32; a: {kind}", a=value).attribute("a")


def test_an_attribute_has_its_default_where_nothing_is_stated(made):
    assert made("-> z: float32; a: int = 7").attribute("a") == 7


def test_a_type_that_hlo_has_none_for_is_refused_and_those_that_it_has_are_given(made):
    operation = made("-> z: float32; T: type; U: list(type)", T=BY_NAME["string"], U=types(FLOAT, INT))
    assert [str(one) for one in operation.types("U")] == ["f32", "s32"]
    with pytest.raises(UnsupportedError, match=r"op Op \(node 'n'\).*HLO has no type for string"):
        operation.type("T")


def test_values_that_sizes_follow_from_must_be_known(made):
    operation = made("x: float32, i: int32, c: int32 -> z: float32", "x", "i", "c")
    assert operation.integers("c") == (4, 5)
    with pytest.raises(NotConstantError, match=r"input 1, 'i', must be a compile-time constant"):
        operation.value("i")
    with pytest.raises(NotConstantError, match=r"input 0, 'x'"):
        operation.integers("x")


@pytest.mark.parametrize(("axis", "rank", "found"), [(0, 3, 0), (2, 3, 2), (-1, 3, 2), (-3, 3, 0)])
def test_an_axis_may_be_counted_from_the_back(made, axis, rank, found):
    assert made("-> z: float32").axis(axis, rank) == found


@pytest.mark.parametrize(("axis", "rank"), [(3, 3), (-4, 3), (0, 0), (-1, 0)])
def test_an_axis_that_is_not_there_is_refused(made, axis, rank):
    with pytest.raises(InputError, match=f"its axis {axis} is none of an array with {rank} dimensions"):
        made("-> z: float32").axis(axis, rank)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda o: o.variable("x"), "its input 'x' must be a variable"),
        (lambda o: o.store("x"), "its input 'x' must be a TensorArray"),
        (lambda o: o.store("x", is_stack=True), "its input 'x' must be a stack"),
        (lambda o: o.tensor_list("x"), "its input 'x' must be a list of tensors"),
        (lambda o: o["s"], "its input 's' is a TensorArray or a stack, not an array"),
        (lambda o: o.variable("s"), "its input 's' must be a variable"),
        (lambda o: o.store("s", is_stack=True), "its input 's' must be a stack"),
    ],
)
def test_an_input_of_another_sort_is_refused(made, ask, said):
    operation = made("x: float32, s: resource -> z: float32", "x", Store("s", None))
    assert operation.store("s").name == "s"
    with pytest.raises(InputError, match=said):
        ask(operation)


def test_a_requirement_says_what_it_wants_only_where_it_is_not_met(made):
    operation = made("-> z: float32")
    operation.require([0], lambda: 1 / 0)
    with pytest.raises(InputError, match="no more than 3"):
        operation.require([], lambda: "no more than 3")
