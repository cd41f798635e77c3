"""Updates in place mean what copies mean: whoever else reads the old contents still sees them."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.ir.rewrite import Fuel
from compiler.passes import in_place_updates

HEAD = "HloModule m\n"
LOOP = """cond {{
  s = (s32[], f32[8,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT p = pred[] compare(i, n), direction=LT
}}
body {{
  s = (s32[], f32[8,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8,4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  zero = s32[] constant(0)
  j = s32[] add(i, one)
  row = f32[1,4] dynamic-slice(x, i, zero), dynamic_slice_sizes={{1,4}}
  twice = f32[1,4] add(row, row)
{body}
}}
ENTRY e {{
  x = f32[8,4] parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[8,4]) tuple(z, x)
  w = (s32[], f32[8,4]) while(s), condition=cond, body=body
  ROOT r = f32[8,4] get-tuple-element(w), index=1
}}
"""

PROGRAMS = {
    "a row of a loop's state from that row": HEAD
    + LOOP.format(
        body="  u = f32[8,4] dynamic-update-slice(x, twice, i, zero)\n  ROOT o = (s32[], f32[8,4]) tuple(j, u)"
    ),
    "the whole old state beside the update": HEAD
    + LOOP.format(
        body="  u = f32[8,4] dynamic-update-slice(x, twice, i, zero)\n"
        "  v = f32[8,4] subtract(u, x)\n  ROOT o = (s32[], f32[8,4]) tuple(j, v)"
    ),
    "two updates of one state": HEAD
    + LOOP.format(
        body="  u = f32[8,4] dynamic-update-slice(x, twice, i, zero)\n"
        "  v = f32[8,4] dynamic-update-slice(x, twice, zero, zero)\n"
        "  w = f32[8,4] add(u, v)\n  ROOT o = (s32[], f32[8,4]) tuple(j, w)"
    ),
    "an update of an update": HEAD
    + LOOP.format(
        body="  u = f32[8,4] dynamic-update-slice(x, twice, i, zero)\n"
        "  v = f32[8,4] dynamic-update-slice(u, twice, zero, zero)\n"
        "  ROOT o = (s32[], f32[8,4]) tuple(j, v)"
    ),
    "a parameter, which must not change": HEAD
    + """ENTRY e {
  x = f32[8,4] parameter(0)
  i = s32[] constant(3)
  zero = s32[] constant(0)
  one = f32[] constant(1)
  row = f32[1,4] broadcast(one), dimensions={}
  u = f32[8,4] dynamic-update-slice(x, row, i, zero)
  ROOT t = (f32[8,4], f32[8,4]) tuple(x, u)
}""",
    "a value that is a result itself": HEAD
    + """ENTRY e {
  x = f32[8,4] parameter(0)
  e = f32[8,4] exponential(x)
  r = f32[4,8] transpose(e), dimensions={1,0}
  b = f32[8,4] reshape(e)
  i = s32[] constant(3)
  zero = s32[] constant(0)
  one = f32[] constant(1)
  row = f32[1,4] broadcast(one), dimensions={}
  u = f32[8,4] dynamic-update-slice(e, row, i, zero)
  ROOT t = (f32[8,4], f32[8,4], f32[4,8], f32[8,4]) tuple(e, u, r, b)
}""",
}


@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_update_in_place_leaves_other_readers_what_they_had(name, backend):
    module = compiler.parse(PROGRAMS[name])
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
    given = x.copy()
    options = compiler.CompileOptions(device="sim" if backend == "nvptx" else "", verify_each=True)

    actual = compiler.compile(module, backend=backend, options=options)(x)

    for one, other in zip(compiler.interpret(module, given), actual, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-6)
    assert np.array_equal(x, given)


def test_a_loop_that_fills_an_array_writes_only_the_update():
    module = compiler.parse(PROGRAMS["a row of a loop's state from that row"])
    text = compiler.compile(module).artifacts["cpu_after_optimizations.txt"]

    assert "output_to_operand_aliasing={{}:" in text
    assert " copy(" not in text


STATE = "(s32[], f32[8,4])"
FILLING = """cond_{name} {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT p = pred[] compare(i, n), direction=LT
}}
{name} {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8,4] get-tuple-element(s), index=1
  row = f32[1,4] constant({{{{1,2,3,4}}}})
  one = s32[] constant(1)
  zero = s32[] constant(0)
  u = f32[8,4] dynamic-update-slice(x, row, i, zero)
  j = s32[] add(i, one)
  ROOT o = {state} tuple(j, u)
}}
"""


def test_updates_come_in_the_order_of_the_module():
    """Else the number of a rewrite, by which a guilty one is found, would be another in the next process."""
    names = [f"loop{number}" for number in range(9)]
    loops = "".join(FILLING.format(name=name, state=STATE) for name in names)
    calls = "".join(f"  {name}.w = {STATE} while(s), condition=cond_{name}, body={name}\n" for name in names)
    root = f"  ROOT r = ({', '.join([STATE] * 9)}) tuple({', '.join(f'{name}.w' for name in names)})\n"
    module, fuel = compiler.parse(f"{HEAD}{loops}ENTRY e {{\n  s = {STATE} parameter(0)\n{calls}{root}}}"), Fuel()

    in_place_updates.run(module, fuel)

    assert [rewrite.where.partition("/")[0] for rewrite in fuel.rewrites] == names
