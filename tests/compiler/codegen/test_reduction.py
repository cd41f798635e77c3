"""Forms of reductions: values that may be joined any number of times, and dimensions that are walked as one."""

import numpy as np
import pytest

import compiler
from compiler.codegen.kernel import kernel_of
from compiler.codegen.reduction import IDENTITIES, Group, Reduction, identities_of
from compiler.ir.types import TYPES

SPECIAL = [-0.0, 0.0, 1.5, -2.0, np.inf, -np.inf]


def reduce(text, dims="4", dimensions="0", start="0", type_="f32"):
    result = ",".join(d for n, d in enumerate(dims.split(",")) if str(n) not in dimensions.split(","))
    return compiler.parse(f"""f {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1) {text} }}
      ENTRY e {{ x = {type_}[{dims}] parameter(0)  z = {type_}[] constant({start})
      ROOT y = {type_}[{result}] reduce(x, z), dimensions={{{dimensions}}}, to_apply=f }}""").entry.root


LOGICAL, ORDERED = {"and", "or", "xor"}, {"maximum", "minimum"}
WITHOUT = {"pred": {"add", "multiply"}, "f32": LOGICAL, "bf16": LOGICAL, "f8e5m2": LOGICAL, "c64": LOGICAL | ORDERED}
"""What there is not of a type."""
OF_TYPES = [
    (name, opcode)
    for name in ("pred", "s8", "u8", "s64", "u64", "f32", "bf16", "f8e5m2", "c64")
    for opcode in IDENTITIES
    if opcode not in WITHOUT.get(name, ())
]


@pytest.mark.parametrize(("name", "opcode"), OF_TYPES)
def test_an_identity_leaves_every_value_as_it_is(name, opcode):
    kind = TYPES[name]
    x = np.array([0, 1, 2, 127] if kind.is_integer or name == "pred" else SPECIAL).astype(kind.dtype)
    identity = np.array(IDENTITIES[opcode](kind)).astype(kind.dtype)
    text = f"ENTRY e {{ x = {name}[] parameter(0)  y = {name}[] parameter(1)  ROOT r = {name}[] {opcode}(x, y) }}"
    if kind.is_complex and opcode == "multiply":
        x = x[np.isfinite(x)]  # of an infinite number and one that is real the product is partly NaN
    for value in x:
        for pair in ((value, identity), (identity, value)):
            (found,) = compiler.interpret(text, *[np.asarray(one, kind.dtype) for one in pair])
            assert found.tobytes() == np.asarray(value, kind.dtype).tobytes(), value


def test_an_unknown_reducer_has_the_identity_that_it_shows():
    of_first = "c = pred[] compare(a, b), direction=GE  ROOT r = f32[] select(c, a, b)"
    (found,) = identities_of(reduce(of_first, start="-inf"))
    assert str(found).startswith("float")
    assert identities_of(reduce("n = f32[] negate(a)  ROOT r = f32[] subtract(n, b)", start="1")) is None
    assert identities_of(reduce("s = f32[] add(a, b)  ROOT r = f32[] add(s, s)", start="3")) is None


@pytest.mark.parametrize(
    ("dims", "dimensions", "groups", "is_row"),
    [
        ("4", "0", [Group(0, 1, reduced=True, size=4)], True),
        ("2,3,5", "1,2", [Group(0, 1, reduced=False, size=2), Group(1, 3, reduced=True, size=15)], True),
        ("2,3,5", "0", [Group(0, 1, reduced=True, size=2), Group(1, 3, reduced=False, size=15)], False),
    ],
)
def test_neighbours_of_one_kind_are_one_group(dims, dimensions, groups, is_row):
    form = Reduction(kernel_of(reduce("ROOT r = f32[] add(a, b)", dims, dimensions)))
    assert (form.groups, form.is_row) == (groups, is_row)
    assert form.kept == np.prod([group.size for group in groups if not group.reduced], dtype=int)
