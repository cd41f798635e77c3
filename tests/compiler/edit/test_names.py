"""What XLA has other uses for is renamed, and nothing else; each new name leads back to one old one."""

import pytest

import compiler
from compiler.edit import named_for_xla
from compiler.ir.types import TYPES

PROGRAM = """HloModule {module}
{called} {{
  {inner} = f32[] parameter(0)
  ROOT sum = f32[] add({inner}, {inner})
}}
ENTRY e {{
  x = f32[4] parameter(0)
  {value} = f32[4] negate(x)
  ROOT r = f32[4] map({value}), dimensions={{0}}, to_apply={called}, control-predecessors={{{value}}}
}}
"""


def program(**names):
    given = {"module": "m", "called": "c", "inner": "p", "value": "v"} | names
    return compiler.parse(PROGRAM.format(**{role: f"%{name}" for role, name in given.items()}))


@pytest.mark.parametrize("name", [*TYPES, "__", "__x"])
def test_instructions_with_names_of_types_or_of_xlas_own_are_renamed(name):
    module = program(inner=name, value=name)
    renamed, names = named_for_xla(module)
    [new] = names
    assert names == {new: name}
    assert new not in TYPES
    assert not new.startswith("__")
    assert sum(i.name == new for i in renamed.instructions()) == 2
    assert compiler.to_text(renamed) == compiler.to_text(module).replace(f"%{name} ", f"{new} ").replace(
        f"%{name}", new
    ).replace(f"  {name} ", f"  {new} ").replace(f"({name}", f"({new}").replace(f" {name})", f" {new})").replace(
        f"{{{name}}}", f"{{{new}}}"
    )
    compiler.verify(renamed)


def test_only_the_entry_may_be_main():
    renamed, names = named_for_xla(program(called="main"))
    assert names == {"named_main": "main"}
    assert [c.name for c in renamed.computations] == ["named_main", "e"]
    entry = compiler.parse("ENTRY main { ROOT x = f32[] parameter(0) }")
    assert named_for_xla(entry)[1] == {}


def test_new_names_are_free_ones():
    _, names = named_for_xla(program(inner="named_s1", value="s1"))
    assert names == {"named_s1.1": "s1"}
    _, names = named_for_xla(program(inner="s1", value="__s1"))
    assert sorted(names.values()) == ["__s1", "s1"]


def test_other_programs_stay_as_they_are():
    module = program()
    renamed, names = named_for_xla(module)
    assert (renamed, names) == (module, {})
