"""Whatever word names a thing in a program, XLA gets to run it: names are words of the program, not of XLA."""

import numpy as np
import pytest

import compiler
from compiler.ir.attributes import ATTRIBUTES, MODULE_ATTRIBUTES
from compiler.ir.types import TYPES
from compiler.ops import OPS
from compiler.text.lexer import RESERVED
from xlabench.engines import engine
from xlabench.errors import CompileFailure

pytest.importorskip("jaxlib", reason="jaxlib is not installed")

from jaxlib import _hlo

OTHERS = {
    *("s1", "u1", "token", "opaque", "tuple", "b01f_01io", "bf_io", "mesh", "maximal_mesh", "device", "devices"),
    *("sharding", "main", "synthetic_call", "visualizing_index", "mode", "default", "index", "layout", "private"),
    *("func", "module", "return", "__", "_", "__x", "a.b", "a-b", "a.-", "e0", "x2", "nan_1", "infinity", "D", "T"),
}
WORDS = sorted({*TYPES, *RESERVED, *OPS, *ATTRIBUTES, *MODULE_ATTRIBUTES, *OTHERS})
ROLES = ("module", "called", "parameter", "inner", "entry", "given", "value", "result")
PROGRAM = """HloModule %{module}
%{called} {{
  %{parameter} = f32[] parameter(0)
  ROOT %{inner} = f32[] add(%{parameter}, %{parameter})
}}
ENTRY %{entry} {{
  %{given} = f32[4] parameter(0)
  %{value} = f32[4] negate(%{given})
  ROOT %{result} = f32[4] map(%{value}), dimensions={{0}}, to_apply=%{called}
}}
"""
X = np.arange(4, dtype=np.float32)


def program(role, word):
    return PROGRAM.format(**{name: f"{name}_" for name in ROLES} | {role: word})


@pytest.mark.parametrize("role", ROLES)
def test_every_word_may_name_everything(role):
    refused = {}
    for word in WORDS:
        module, _ = compiler.edit.named_for_xla(compiler.parse(program(role, word)))
        try:
            _hlo.hlo_module_from_text(compiler.to_text(module))
        except RuntimeError as error:
            refused[word] = str(error)
    assert refused == {}


@pytest.mark.parametrize("word", ["s1", "f32", "token", "__x", "main", "true", "ENTRY", "tuple", "b01f_01io"])
@pytest.mark.parametrize("role", ROLES)
def test_xla_runs_what_is_named_so(role, word):
    [result] = engine("xla").compile(program(role, word))(X)
    assert result.tolist() == (-2 * X).tolist()


def test_what_only_our_parser_takes_is_written_again_for_xla():
    text = PROGRAM.format(**{name: f"{name}_" for name in ROLES}).replace("%value_ = ", "s1=").replace("%value_", "s1")
    with pytest.raises(RuntimeError, match="Syntax error"):
        _hlo.hlo_module_from_text(text)
    [result] = engine("xla").compile(text)(X)
    assert result.tolist() == (-2 * X).tolist()


def test_messages_have_the_names_of_the_program():
    with pytest.raises(CompileFailure, match=r"failed to compile: of s1, in f\(s1\), not named_s1x"):
        engine("xla")._refuse(ValueError("of named_s1, in f(named_s1), not named_s1x"), {"named_s1": "s1"})
