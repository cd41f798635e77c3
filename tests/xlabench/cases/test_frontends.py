"""What JAX lowers a function to, as text that leads back to the function: its names, its arguments', its lines."""

from importlib import import_module, util

import numpy as np
import pytest

import compiler
from xlabench.errors import BenchError

pytestmark = [pytest.mark.skipif(util.find_spec("jax") is None, reason="jax is not installed"), pytest.mark.slow]

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def lowered(function, *arguments):
    frontends = import_module("xlabench.cases.frontends")  # where it is needed: it imports JAX
    return compiler.parse(frontends.of_jax(function, arguments))


def step(state, row, _unused):
    return state["w"] @ row


def test_names_and_lines_are_those_of_the_function():
    module = lowered(step, {"w": X}, X[0], X)
    assert module.name == "jit_step"
    given = [dict(parameter.attributes["metadata"])["op_name"] for parameter in module.entry.parameters]
    assert sorted(given) == ["_unused", "row", "state['w']"]
    (product,) = [one for one in module.instructions() if one.opcode == "dot"]
    assert compiler.edit.source_of(product) == f"{__file__}:{step.__code__.co_firstlineno + 1} (step)"


def test_a_function_that_is_jitted_leaves_out_what_it_does_not_use():
    jax = import_module("jax")
    assert len(lowered(jax.jit(step), {"w": X}, X[0], X).entry.parameters) == 2
    assert len(lowered(step, {"w": X}, X[0], X).entry.parameters) == 3


def test_sizes_that_were_left_open_are_those_of_the_arguments_or_refused():
    jax, export = import_module("jax"), import_module("jax.export")
    open_size = jax.ShapeDtypeStruct(export.symbolic_shape("n"), np.float32)
    exported = export.export(jax.jit(lambda x: x + x.shape[0]))(open_size)
    assert lowered(exported.call, X[0]).entry.root.shape.dims == (3,)
    with pytest.raises(BenchError, match="jaxlib cannot convert what JAX lowers it to"):
        lowered(exported.call, open_size)
