"""A signature is read from one line, with all that a port or an attribute can be."""

import pytest

from compiler.graph import BY_NAME, AttributeList
from compiler.tf2xla import RECORDS
from compiler.tf2xla.signature import Port, signature


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("x: T", Port("x", "T")),
        ("x: float32", Port("x", "float32")),
        ("x: N*T", Port("x", "T", "N")),
        ("x: Tin[]", Port("x", "Tin", is_list=True)),
        ("x: Ref(T)", Port("x", "T", is_reference=True)),
    ],
)
def test_a_port_is_one_tensor_or_several(text, port):
    read = signature(f"{text} ->")
    assert read.inputs == (port,)
    assert read.outputs == ()
    assert port.is_one is (not port.number and not port.is_list)
    assert signature(f"-> {text}").outputs == (port,)


@pytest.mark.parametrize(
    ("text", "kind", "default"),
    [
        ("N: int", "int", None),
        ("N: int = 3", "int", 3),
        ("a: float = 0.5", "float", 0.5),
        ("a: bool = true", "bool", True),
        ("a: bool = false", "bool", False),
        ("a: string = 'x'", "string", b"x"),
        ("a: list(int) = []", "list(int)", AttributeList("", ())),
        ("a: list(int) = [1 2]", "list(int)", AttributeList("i", (1, 2))),
    ],
)
def test_an_attribute_has_a_kind_and_perhaps_a_default(text, kind, default):
    row = signature(f"->; {text}").attributes[text[0]]
    assert (row.kind, row.default) == (kind, default)


def test_sets_of_types_have_names():
    rows = signature("->; T: {ints float32} = int8; U: {any}; V: {reals}").attributes
    assert rows["T"].allowed == {BY_NAME[name] for name in ("int8", "int16", "int32", "int64", "float32")}
    assert rows["T"].default == BY_NAME["int8"]
    assert rows["U"].allowed == frozenset()
    assert BY_NAME["complex64"] not in rows["V"].allowed


@pytest.mark.parametrize("name", RECORDS)
def test_every_records_ports_have_types_that_are_known(name):
    row = RECORDS[name].signature
    for port in (*row.inputs, *row.outputs):
        assert port.type in row.attributes or port.type in BY_NAME
        assert not port.number or row.attributes[port.number].kind == "int"
