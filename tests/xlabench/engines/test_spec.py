import pytest

import compiler
import xlabench
from xlabench.engines import ENGINES, engine
from xlabench.errors import BenchError


@pytest.mark.parametrize(
    ("spec", "backend", "options"),
    [
        ("cpu", "cpu", {}),
        ("cpu:fusion=off", "cpu", {"fusion": False}),
        ("cpu:fusion", "cpu", {"fusion": True}),
        ("cpu:fusion=TRUE", "cpu", {"fusion": True}),
        ("cpu:threads=1,opt=0", "cpu", {"threads": 1, "opt": 0}),
        ("cpu:fuel=12", "cpu", {"fuel": 12}),
        ("cpu:disable_passes=dce+cse", "cpu", {"disable_passes": ("dce", "cse")}),
        ("nvptx", "nvptx", {}),
        ("nvptx:sim", "nvptx", {"device": "sim"}),
        ("nvptx:ptxas,fusion=off", "nvptx", {"device": "ptxas", "fusion": False}),
    ],
)
def test_options_of_a_spec_are_options_of_the_compiler(spec, backend, options):
    made = engine(spec)
    assert (made.backend, made.options) == (backend, compiler.CompileOptions(**options))


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("cpu:", "cpu"),
        (" cpu : threads=2, fusion=off", "cpu:fusion=off,threads=2"),
        ("nvptx:opt=1,sim", "nvptx:sim,opt=1"),
        ("reference", "reference"),
    ],
)
def test_a_spec_has_one_normal_form(written, normal):
    assert engine(written).spec == engine(normal).spec == normal


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "unknown engine ''; known are: reference, cpu, nvptx, xla"),
        ("gpu", "unknown engine 'gpu'"),
        ("cpu:speed=fast", "unknown option 'speed'; known are: fusion="),
        ("cpu:sim", "unknown option 'sim'"),
        ("nvptx:simm", "known are: sim, ptxas, fusion="),
        ("reference:fusion=off", "known are: wide="),
        ("cpu:fusion=maybe", "fusion cannot be 'maybe'; give on or off"),
        ("cpu:threads=-1", "threads cannot be '-1'; give an integer from 0 to 1024"),
        ("cpu:threads=many", "give an integer"),
        ("cpu:threads", "threads cannot be ''"),
        ("cpu:opt=4", "an integer from 0 to 3"),
        ("cpu:opt=1,opt=2", "given twice"),
        ("nvptx:sim,ptxas", "two devices"),
        ("nvptx:sim=off", "unknown option 'sim'"),
    ],
)
def test_a_bad_spec_names_what_is_known(spec, message):
    with pytest.raises(BenchError, match=message) as caught:
        engine(spec)
    assert repr(spec) in str(caught.value)


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "xla"])
def test_every_engine_is_made_from_the_front_door(name):
    assert xlabench.engine(name).spec == name


def test_an_engine_that_compiles_hands_on_where_to_dump():
    assert engine("cpu", dump_to="somewhere").options.dump_to == "somewhere"


def test_an_engine_that_compiles_dumps_what_the_variable_asks_for(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_hlo_as_proto --xla_dump_hlo_pass_re=dce --xla_dump_hlo_snapshots")
    options = engine("cpu", dump_to="somewhere").options
    assert (options.dump_as, options.dump_pass_re, options.dump_snapshots) == (("proto",), "dce", True)
    assert engine("cpu").options.dump_as == ("text",)


def test_the_reference_has_nothing_to_dump():
    with pytest.raises(BenchError, match="nothing to dump"):
        engine("reference", dump_to="somewhere")
