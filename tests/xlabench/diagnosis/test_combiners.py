"""Only bodies that are known to be free of order are free of doubt; a form is known whatever its names and types."""

import pytest

import compiler
from xlabench.diagnosis.combiners import callers, doubtful


def module(body, type_="f32", names="ab"):
    a, b = names
    return compiler.parse(f"""c {{ {a} = {type_}[] parameter(0)  {b} = {type_}[] parameter(1)  ROOT r = {body} }}
    ENTRY e {{ x = {type_}[4] parameter(0)  z = {type_}[] constant(0)
      ROOT s = {type_}[] reduce(x, z), dimensions={{0}}, to_apply=c }}""")


@pytest.mark.parametrize(
    ("body", "doubts"),
    [
        ("f32[] add(a, b)", 0),
        ("f32[] maximum(b, a)", 0),
        ("f32[] subtract(a, b)", 1),
        ("f32[] add(a, a)", 1),
        ("f32[] copy(a)", 1),
    ],
)
def test_what_depends_on_the_order_of_calls_is_doubtful(body, doubts):
    found = module(body)
    assert len(doubtful(found)) == doubts
    assert [i.opcode for i, _ in callers(found)] == ["reduce"] * doubts


def test_a_form_has_no_names_and_types():
    assert doubtful(module("f32[] subtract(a, b)")) == doubtful(module("f64[] subtract(p, q)", "f64", "pq"))
    assert doubtful(module("f32[] subtract(a, b)")) != doubtful(module("f32[] subtract(b, a)"))
