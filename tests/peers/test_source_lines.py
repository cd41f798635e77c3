"""What JAX says of a function stays with it: names, arguments, and lines, which who looks into a failure is told."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import compiler
import xlabench
from compiler import edit
from xlabench import jobs
from xlabench.cli import cli
from xlabench.diagnosis import blame
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import Prober, Setup

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy

PLANTED = Path(__file__).parents[1] / "xlabench"
X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)
ROW = np.ones(2, np.float32)


def damped(z):
    return jnp.exp(-z)


def step(params, y):
    h = damped(params["w"])
    turned = jnp.flip(h, 0)

    def body(carry, row):
        return carry / 2 + jnp.tanh(row), None

    total, _ = jax.lax.scan(body, y, turned)
    return total - params["more"][0]


@pytest.fixture(scope="module")
def module():
    return xlabench.from_jax(step, {"w": X, "more": [ROW]}, ROW)


def line_of(function, fragment):
    lines, first = inspect.getsourcelines(function)
    [number] = [first + at for at, text in enumerate(lines) if fragment in text]
    return f"{__file__}:{number}"


def sources(module):
    return {i.opcode: edit.source_of(i) for i in module.instructions()}


def test_a_module_is_called_as_the_function_and_its_parameters_as_the_arguments(module):
    assert module.name == "jit_step"
    names = [parameter.name.rsplit(".", 1)[0] for parameter in module.entry.parameters]
    assert names == ["params__more___0_", "params__w__", "y"]
    paths = [dict(parameter.attributes["metadata"])["op_name"] for parameter in module.entry.parameters]
    assert paths == [r"params['more'][0]", r"params['w']", "y"]


def test_instructions_have_the_lines_of_this_file(module):
    lines = sources(module)
    assert lines["exponential"] == f"{line_of(damped, 'jnp.exp')} (damped)"
    assert lines["subtract"] == f"{line_of(step, 'return total')} (step)"
    assert lines["while"] == f"{line_of(step, 'jax.lax.scan')} (step)"
    assert lines["tanh"] == f"{line_of(step, 'jnp.tanh')} (step.<locals>.body)"
    # JAX's own function, of which JAX says no line.
    assert lines["reverse"] == f"{line_of(step, 'jnp.flip')} (step)"


def test_lines_stay_when_a_program_is_written_and_read_again(module):
    assert sources(compiler.parse(str(module))) == sources(module)


@pytest.mark.parametrize("planted", ["reverse_rows", "reverse_dropped"])
def test_a_planted_bug_is_traced_to_the_line(module, tmp_path, monkeypatch, planted):
    monkeypatch.setenv("PYTHONPATH", str(PLANTED))
    monkeypatch.setattr(jobs, "ENGINES", f"mutants:{planted}")
    (tmp_path / "step.hlo").write_text(str(module))
    expected = f"{line_of(step, 'jnp.flip')} (step)"
    alone = CliRunner().invoke(cli, ["isolate", str(tmp_path / "step.hlo"), "--json"])
    rows = {row["opcode"]: row for row in json.loads(alone.stdout)["instructions"]}
    assert (rows["reverse"]["verdict"], rows["reverse"]["source"]) == ("wrong", expected)
    with Prober(Setup("cpu", factory=f"mutants:{planted}")) as prober:
        found = blame.find(prober, Case(module, (ROW, X, ROW)))
    assert found.sources == (expected,)
