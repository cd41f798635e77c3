"""How many of each sorted line anybody reads: few only where every reader takes a beginning."""

import pytest

import compiler
from compiler.codegen.kernel import kernel_of
from compiler.codegen.sort_prefix import SortResults


def results(rest, operands=1):
    names, types = ["x", "y"][:operands], ["f32[4,100]", "s32[4,100]"][:operands]
    parameters = "  ".join(f"{n} = {t} parameter({k})" for k, (n, t) in enumerate(zip(names, types, strict=True)))
    elements = "  ".join(f"p{k} = {t[:3]}[] parameter({k})" for k, t in enumerate(t for t in types for _ in "ab"))
    shape = types[0] if operands == 1 else f"({', '.join(types)})"
    module = compiler.parse(f"""less {{ {elements}  ROOT r = pred[] compare(p0, p1), direction=LT }}
      ENTRY e {{ {parameters}
        s = {shape} sort({", ".join(names)}), dimensions={{1}}, to_apply=less
        {rest} }}""")
    return SortResults.of(kernel_of(next(i for i in module.entry.instructions if i.opcode == "sort")))


@pytest.mark.parametrize(
    ("rest", "read"),
    [
        ("ROOT r = f32[4,7] slice(s), slice={[0:4], [0:7]}", 7),
        ("a = f32[4,9] slice(s), slice={[0:4], [0:9]}  ROOT r = f32[4,7] slice(s), slice={[0:4], [0:7]}", 9),
        ("ROOT r = f32[4,7] slice(s), slice={[0:4], [1:8]}", 100),
        ("ROOT r = f32[4,7] slice(s), slice={[0:4], [0:14:2]}", 100),
        ("ROOT r = f32[4,100] negate(s)", 100),
        ("ROOT r = f32[4,100] copy(x)", 0),
    ],
)  # fmt: skip
def test_as_many_are_read_as_the_longest_beginning_holds(rest, read):
    found = results(rest)
    assert (found.numbers, found.stored, found.read) == ((0,), 100, read)


def test_a_result_that_is_given_out_is_read_whole():
    assert (
        results("u = f32[4,7] slice(s), slice={[0:4], [0:7]}  ROOT t = (f32[4,100], f32[4,7]) tuple(s, u)").read == 100
    )


def test_of_several_results_each_is_looked_at():
    first = "a = f32[4,100] get-tuple-element(s), index=0  u = f32[4,3] slice(a), slice={[0:4], [0:3]}"
    few = f"{first}  b = s32[4,100] get-tuple-element(s), index=1  ROOT v = s32[4,5] slice(b), slice={{[0:4], [0:5]}}"
    found = results(few, 2)
    assert (found.numbers, found.read) == ((0, 1), 5)
    assert results(f"{first}  ROOT b = s32[4,100] get-tuple-element(s), index=1", 2).read == 100
