"""Options of a spec are those of the compiler, and nothing else that changes code is asked of the environment."""

import pytest

from xlabench.engines import cpu, nvptx
from xlabench.engines.compiled import create_compiled


@pytest.mark.parametrize("engine", [cpu, nvptx], ids=["cpu", "nvptx"])
def test_every_option_is_a_field_of_the_compilers(engine):
    made = engine.create("spec", {}, dump_to="")
    assert all(hasattr(made.options, name) for name in engine.OPTIONS)


def test_options_stand_in_the_spec_and_not_in_the_environment(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_backend_optimization_level=0")
    made = create_compiled("cpu", "cpu", {"fusion": False}, "")
    assert (made.backend, made.options.fusion, made.options.opt) == (
        "cpu",
        False,
        create_compiled("cpu", "cpu", {}, "").options.opt,
    )


def test_a_trace_hears_of_every_pass_before_it_begins():
    heard = []
    text = "ENTRY e { x = f32[] parameter(0)  unused = f32[] negate(x)  ROOT y = f32[] abs(x) }"
    trace = create_compiled("cpu", "cpu", {}, "").trace(text, heard.append)
    assert "dce" in heard
    assert {snapshot.pass_name for snapshot in trace.snapshots} <= set(heard)
