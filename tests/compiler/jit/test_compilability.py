"""Why a node can be in no cluster is said, through functions down to a depth."""

import pytest
from cluster_graphs import FLOAT, graph_of
from graph_nodes import function, node

from compiler.jit.compilability import DEEPEST, Compilability
from compiler.jit.devices import Policy, Registration


def objection(line, *functions, everything=False):
    library = {one.name: one for one in functions}
    graph = graph_of(f"x = Placeholder()\n{line}")
    registration = Registration(Policy.ALWAYS, allows_everything=everything)
    return Compilability(library, registration).objection(graph.nodes[-1])


def called(name, inner):
    op = inner if isinstance(inner, str) else inner.name
    attributes = {"T": FLOAT} if isinstance(inner, str) else {}
    return function(name, {"a": FLOAT}, {"c": FLOAT}, [node("n", op, "a", **attributes)], {"c": "n:y:0"})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a = Abs(x)", ""),
        ("a = Abss(x)", "op Abss has no lowering; did you mean"),
        ("a = Print(x)", "op Print is never compiled"),
        ("a = _Retval(x)", "it is a feed or a fetch"),
        ("a = Abs(x) {_scoped_allocator=1}", "it shares memory with another node"),
        ("a = Abs()", "it has 0 inputs, and its op takes 1"),
    ],
)
def test_an_op_is_objected_to_by_name(line, said):
    found = objection(line)
    assert found.startswith(said) if said else found == ""


@pytest.mark.parametrize(
    "line",
    [
        "a = CheckNumerics(x)",
        "a = RandomUniform(x) {T=int32, dtype=float32}",
        "a = TensorArrayV3(x) {dtype=float32}",
        "a = StackV2(x) {elem_type=float32}",
    ],
)
def test_what_a_kernel_does_better_is_left_to_it_where_there_are_kernels(line):
    assert objection(line) != ""
    assert "checks" not in objection(line, everything=True)


def test_functions_are_looked_into():
    good, bad = called("good", "Abs"), called("bad", "Print")
    assert objection("a = good(x)", good) == ""
    assert objection("a = bad(x)", bad) == "function 'bad', node 'n': op Print is never compiled"
    outer = called("outer", bad)
    assert objection("a = outer(x)", outer, bad).startswith("function 'outer', node 'n': function 'bad'")


def test_functions_that_stand_too_deep_are_refused():
    library = [called("f0", "Abs")]
    for number in range(DEEPEST + 1):
        library.append(called(f"f{number + 1}", library[-1]))
    assert objection("a = f3(x)", *library) == ""
    assert f"more than {DEEPEST} deep" in objection(f"a = f{DEEPEST + 1}(x)", *library)


def test_a_function_that_calls_itself_ends_as_too_deep():
    again = function("again", {"a": FLOAT}, {"c": FLOAT}, [node("n", "again", "a")], {"c": "n:c:0"})
    assert "deep in each other" in objection("a = again(x)", again)
