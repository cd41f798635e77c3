"""What integer twins are for: wrong elements that no bound of a rounding error can tell."""

import compiler
from compiler.edit import integer_twin
from compiler.inputs import draw
from xlabench.judging.judge import judge


def test_what_hides_in_the_bound_of_a_long_sum_is_wrong_in_its_twin():
    text = """add { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT s = bf16[] add(a, b) }
    ENTRY e { x = bf16[4096] parameter(0) o = bf16[] constant(0)
      ROOT r = bf16[] reduce(x, o), dimensions={0}, to_apply=add }"""
    verdicts = []
    for module in (compiler.parse(text), integer_twin(compiler.parse(text))):
        (x,) = draw(module, seed=1)
        x[7] = 1
        (expected,) = compiler.interpret(module, x)
        beside = x.copy()
        beside[7] = 2
        (actual,) = compiler.interpret(module, beside)
        verdicts.append(judge(module, [x], [expected], [actual]).verdict)
    assert verdicts[0] in ("bitwise", "within")
    assert verdicts[1] == "wrong"
