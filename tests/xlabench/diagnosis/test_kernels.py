"""What in a wrong kernel is wrong: an opcode, or nothing that it computes, shown by something plainer in its place."""

from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler import edit
from compiler.ops import Trait, having
from xlabench.diagnosis.case import Case, Recorded
from xlabench.diagnosis.kernels import class_of, guilty, is_wrong_where_results_lie, opcodes
from xlabench.diagnosis.probe import Judgement

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
MOST = ADD.replace("add", "most").replace("f32[] most(", "f32[] maximum(")
CHAIN = "ENTRY e { x = f32[8] parameter(0)  n = f32[8] negate(x)  t = f32[8] tanh(n)  ROOT r = f32[8] abs(t) }"
REDUCE = (
    MOST
    + """ENTRY e { x = f32[4,8] parameter(0)  z = f32[] constant(-inf)
  ROOT r = f32[4] reduce(x, z), dimensions={1}, to_apply=most }"""
)
DOT = """ENTRY e { x = f32[4,8] parameter(0)  y = f32[8,2] parameter(1)
  ROOT d = f32[4,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""
TWO = """ENTRY e { x = f32[8] parameter(0)  n = f32[8] negate(x)  a = s32[8] convert(x)
  ROOT t = (f32[8], s32[8]) tuple(n, a) }"""
WRONG = Judgement("wrong", "")


class Engine:
    """Fails wherever a program has something, and gives back what was asked."""

    def __init__(self, is_bad, verdict="wrong"):
        self.is_bad, self.verdict, self.asked = is_bad, verdict, []

    def judge(self, case):
        self.asked.append(case)
        return Judgement(self.verdict if self.is_bad(case.module) else "bitwise", "")

    def record(self, case):
        return Recorded({}, {}, "nobody ran it")


def case(text):
    module = compiler.parse(text)
    return Case(module, tuple(np.zeros(p.array.dims, p.array.element_type.dtype) for p in module.entry.parameters))


def found(text, is_bad, verdict="wrong"):
    told = []
    engine = Engine(is_bad, verdict)
    wanted = Judgement(verdict, "")
    return guilty(engine, case(text), wanted, lambda *said: told.append(said)), told


def has(*names):
    return lambda module: {i.opcode for i in module.instructions()} >= set(names)


@pytest.mark.parametrize(
    ("text", "names"), [(CHAIN, "abs+negate+tanh"), (REDUCE, "maximum+reduce"), (TWO, "convert+negate")]
)
def test_a_kernel_is_called_by_what_it_computes_each_opcode_once(text, names):
    assert opcodes(compiler.parse(text)) == names


def test_garbage_is_wrong_or_flaky_by_chance():
    assert class_of("flaky") == class_of("wrong") == "wrong"
    assert class_of("crash") == "crash"


def test_where_anything_elementwise_fails_no_opcode_is_to_blame():
    one = "ENTRY e { x = f32[8] parameter(0)  ROOT t = f32[8] tanh(x) }"
    assert found(one, lambda _: True) == ("any elementwise", [("a plain elementwise kernel in its place", "wrong")])


def test_where_nothing_plainer_fails_it_is_the_opcode():
    one = "ENTRY e { x = f32[8] parameter(0)  ROOT t = f32[8] tanh(x) }"
    name, told = found(one, has("tanh"))
    assert name == "tanh"
    assert [said for said, _ in told if "simple steps" not in said] == [
        "a plain elementwise kernel in its place",
        "a plain larger elementwise kernel in its place",
        "a plain large elementwise kernel in its place",
    ]
    assert "simple steps" in told[-1][0]


SEVERAL = {
    "topk": "ENTRY e { x = f32[8] parameter(0)  ROOT t = (f32[2], s32[2]) topk(x), k=2, largest=true }",
    "custom-call": """ENTRY e { x = f32[4,4] parameter(0)
      ROOT r = (f32[4,4], s32[4], s32[]) custom-call(x), custom_call_target="lapack_sgetrf_ffi" }""",
    "tanh": "ENTRY e { x = f32[8] parameter(0)  ROOT t = f32[8] tanh(x) }",
}


@pytest.mark.parametrize("opcode", SEVERAL)
@pytest.mark.parametrize("elements", [1, 1 << 10])
def test_what_fails_by_its_size_fails_whatever_it_computes(opcode, elements):
    def is_large(module):
        return sum(shape.size for shape in edit.leaves(module.entry.root.shape)) >= elements

    assert found(SEVERAL[opcode], has(opcode))[0] == opcodes(compiler.parse(SEVERAL[opcode]))
    assert found(SEVERAL[opcode], is_large, "crash")[0] == "any elementwise"


def test_a_reduction_that_fails_with_a_sum_is_any_reduction():
    assert found(REDUCE, has("reduce"))[0] == "any reduce"
    assert found(REDUCE, has("reduce", "maximum"))[0] == "maximum+reduce"


def test_a_product_that_fails_as_a_sum_of_as_many_is_any_reduction():
    name, told = found(DOT, has("reduce"))
    assert name == "any reduce"
    assert told[-1] == ("a plain reduce kernel in its place", "wrong")
    assert found(DOT, has("dot"))[0] == "dot"


def test_it_has_to_fail_in_the_same_way():
    one = "ENTRY e { x = f32[8] parameter(0)  ROOT t = f32[8] tanh(x) }"
    told = []
    assert guilty(Engine(lambda _: True, "crash"), case(one), WRONG, lambda *said: told.append(said)) == "tanh"
    assert {verdict for _, verdict in told} == {"crash"}
    assert guilty(Engine(lambda _: True, "flaky"), case(one), WRONG, lambda *_: None) == "any elementwise"


def test_what_stands_in_its_place_tells_places_apart_and_is_another_opcode():
    engine = Engine(lambda _: False)
    guilty(engine, case("ENTRY e { p = pred[8] parameter(0)  x = f32[8] parameter(1)\n"
                        "ROOT s = f32[8] select(p, x, x) }"), WRONG, lambda *_: None)  # fmt: skip
    for asked in engine.asked:
        assert "select" not in {i.opcode for i in asked.module.instructions()}
        assert all(len(set(array.reshape(-1).tolist())) > 1 for array in asked.inputs)


@pytest.mark.parametrize(
    ("is_bad", "expected"),
    [
        (lambda module: len(module.entry.root.operands) == 2, True),
        (lambda module: True, False),
        (lambda module: False, False),
    ],
    ids=["with two only", "always", "never"],
)
def test_results_lie_wrong_where_two_do_and_one_does_not(is_bad, expected):
    assert is_wrong_where_results_lie(Engine(is_bad), case(TWO), WRONG) is expected


def test_one_result_cannot_lie_wrong_beside_another():
    assert not is_wrong_where_results_lie(Engine(lambda _: True), case(CHAIN), WRONG)


class WrongSteps(Engine):
    """Fails wherever a program has one of some opcodes, and says which results that are."""

    def __init__(self, *steps):
        super().__init__(has_any(*steps))
        self.steps = steps

    def judge(self, case):
        root = case.module.entry.root
        results = root.operands if root.opcode == "tuple" else (root,)
        wrong = tuple(number for number, result in enumerate(results) if result.opcode in self.steps)
        return replace(super().judge(case), wrong=wrong)


def has_any(*names):
    return lambda module: not {i.opcode for i in module.instructions()}.isdisjoint(names)


@pytest.mark.parametrize("opcode", sorted(having(Trait.ELEMENTWISE) & having(Trait.APPROXIMATE)))
def test_of_a_function_the_step_is_to_blame_that_is_wrong_itself(opcode):
    operands = "x, y" if opcode in ("atan2", "power") else "x"
    function = case(
        f"ENTRY e {{ x = f32[8] parameter(0) y = f32[8] parameter(1) ROOT r = f32[8] {opcode}({operands}) }}"
    )
    for step in ("abs", "negate", "multiply", "divide", "floor"):
        assert guilty(WrongSteps(opcode, step), function, WRONG, lambda *_: None) == step
    assert guilty(WrongSteps(opcode), function, WRONG, lambda *_: None) == opcode


@pytest.mark.parametrize("text", [DOT, "ENTRY e { x = f32[8] parameter(0) ROOT r = f32[8] add(x, x) }"])
def test_what_is_no_function_is_to_blame_itself(text):
    (opcode,) = {i.opcode for i in compiler.parse(text).instructions()} - {"parameter"}
    assert guilty(WrongSteps(opcode, "abs"), case(text), WRONG, lambda *_: None) == opcode


@pytest.mark.parametrize("sign", [1, -1])
def test_a_step_is_asked_about_both_signs(sign):
    class OfSign(WrongSteps):
        def judge(self, case):
            is_shown = "abs" not in {i.opcode for i in case.module.instructions()} or (case.inputs[0] * sign > 0).all()
            return super().judge(case) if is_shown else Judgement("bitwise", "")

    function = case("ENTRY e { x = f32[8] parameter(0) ROOT r = f32[8] tanh(x) }")
    given = Case(function.module, (np.ones(8, np.float32),))
    assert guilty(OfSign("tanh", "abs"), given, WRONG, lambda *_: None) == "abs"
