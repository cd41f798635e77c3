import json

import numpy as np
import pytest
from click.testing import CliRunner

import compiler
from xlabench.cli import cli

PROGRAM = """HloModule doubled

ENTRY e {
  x = f32[4] parameter(0)
  n = s32[2] parameter(1)
  y = f32[4] add(x, x)
  ROOT t = (f32[4], s32[2]) tuple(y, n)
}
"""
RECIPE = {
    "seed": 11,
    "params": [
        {"name": "x", "shape": [4], "dtype": "f32", "gen": {"kind": "normal"}},
        {"name": "n", "shape": [2], "dtype": "s32", "gen": {"kind": "int", "lo": 0, "hi": 9}},
    ],
    "rtol": 0.5,
    "atol": 0.0,
}


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "p.hlo"
    path.write_text(PROGRAM)
    return path


def _run(*arguments):
    return CliRunner().invoke(cli, ["run", *map(str, arguments), "--in-process"])


def _off_by_one(results):
    results[0] = results[0].copy()
    results[0][2] += 1
    return results


def _raising(error):
    def change(_results):
        raise error

    return change


def test_two_engines_that_agree_exit_with_0_and_say_the_seed(program):
    done = _run(program, "--engine", "cpu")
    assert done.exit_code == 0, done.output
    assert "doubled: cpu against reference" in done.stdout
    assert "generated, seed 0" in done.stdout
    assert "bitwise: all results are equal to the bit" in done.stdout


def test_a_wrong_result_exits_with_1_and_shows_where(program, scripted):
    scripted(_off_by_one)
    done = _run(program, "--engine", "scripted")
    assert done.exit_code == 1
    assert "1 of 4" in done.stdout
    assert "25.000%" in done.stdout
    assert "wrong: 1 of 6 elements are wrong" in done.stdout


@pytest.mark.parametrize(
    ("error", "code", "verdict"),
    [
        (compiler.UnsupportedError("opcode fft", "us"), 125, "unsupported"),
        (compiler.CompilerError("a misaligned access in line 7"), 4, "crash"),
    ],
)
def test_an_engine_that_fails_is_a_verdict(program, scripted, error, code, verdict):
    scripted(_raising(error))
    done = _run(program, "--engine", "scripted", "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["exit_code"], report["verdict"]) == (code, code, verdict)
    assert str(error) in report["message"]


def test_json_is_one_object_and_nothing_else(program, scripted):
    scripted(_off_by_one)
    done = _run(program, "--engine", "scripted", "--json")
    report = json.loads(done.stdout)
    assert (report["verdict"], report["exit_code"], report["seed"]) == ("wrong", 1, 0)
    assert (report["mismatches"], report["elements"]) == (1, 6)
    (worst,) = report["results"][0]["worst"]
    assert worst["index"] == [2]
    assert worst["ulps"] > 0
    assert done.stderr == ""


def test_json_has_no_nan(program, scripted):
    scripted(lambda results: [results[0] * np.float32("nan"), results[1]])
    report = json.loads(_run(program, "--engine", "scripted", "--json").stdout, parse_constant=pytest.fail)
    assert report["results"][0]["max_abs"] == "nan"


def test_the_recipe_beside_a_program_is_used(program):
    program.with_suffix(".json").write_text(json.dumps(RECIPE))
    report = json.loads(_run(program, "--json").stdout)
    assert (report["seed"], report["rtol"], report["inputs"]) == (11, 0.5, str(program.with_suffix(".json")))


def test_options_go_before_the_recipe(program):
    program.with_suffix(".json").write_text(json.dumps(RECIPE))
    report = json.loads(_run(program, "--json", "--seed", 3, "--rtol", 0.25).stdout)
    assert (report["seed"], report["rtol"], report["atol"]) == (3, 0.25, None)


def test_inputs_can_be_given(program, tmp_path):
    np.savez(tmp_path / "in.npz", x=np.ones(4, np.float32), n=np.zeros(2, np.int32))
    report = json.loads(_run(program, "--json", "--inputs", tmp_path / "in.npz").stdout)
    assert (report["verdict"], report["seed"]) == ("bitwise", None)


def test_bounds_decide(program, scripted):
    scripted(_off_by_one)
    assert _run(program, "--engine", "scripted", "--atol", 2).exit_code == 0


def test_the_engine_leaves_its_forms_where_it_is_told(program, tmp_path):
    done = _run(program, "--engine", "cpu", "--dump-to", tmp_path / "dump")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "dump" / "index.json").is_file()


def test_a_failure_can_be_kept(program, tmp_path):
    np.savez(tmp_path / "in.npz", x=np.ones(4, np.float32), n=np.zeros(2, np.int32))
    done = _run(program, "--engine", "reference", "--bundle", tmp_path / "bundle")
    assert done.exit_code == 0
    assert not (tmp_path / "bundle").exists()


@pytest.mark.slow
def test_a_failure_that_only_this_process_knows_is_kept_unverified(program, scripted, tmp_path):
    scripted(_off_by_one)
    done = _run(program, "--engine", "scripted", "--bundle", tmp_path / "bundle")
    assert done.exit_code == 1
    assert "not verified" in done.stdout
    assert (tmp_path / "bundle" / "actual.npz").is_file()


def test_a_place_where_no_bundle_can_be_is_refused_before_anything_runs(program, scripted, tmp_path):
    scripted(_raising(AssertionError("ran")))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").write_text("of somebody")
    done = _run(program, "--engine", "scripted", "--bundle", tmp_path / "full")
    assert done.exit_code == 2, done.exception
    assert "exists and is not a bundle" in done.stderr


def test_a_verdict_is_said_though_its_bundle_cannot_be_written(program, scripted, tmp_path):
    def spoil(results):
        (tmp_path / "out").write_text("of somebody")
        return _off_by_one(results)

    scripted(spoil)
    done = _run(program, "--engine", "scripted", "--bundle", tmp_path / "out", "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["verdict"], report["bundle"]) == (1, "wrong", None)
    assert "exists and is not a bundle" in done.stderr


@pytest.fixture
def kept(program, scripted, tmp_path):
    """A bundle of a failure that only the engine `scripted` shows."""
    scripted(_off_by_one)
    _run(program, "--engine", "scripted", "--bundle", tmp_path / "kept", "--seed", 5)
    return tmp_path / "kept"


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "code"), [((), 1), (("--engine", "cpu"), 0)], ids=["its own", "another"])
def test_a_bundle_is_a_program_with_its_inputs_and_its_engine(kept, engine, code):
    done = _run(kept, *engine, "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["seed"], report["inputs"]) == (code, 5, str(kept)), done.stderr
    assert (report["engine"], report["reference"]) == ((engine or ("", "scripted"))[1], "reference")


@pytest.mark.slow
@pytest.mark.parametrize("option", [("--seed", 1), ("--inputs", "in.npz"), ("--module", 1), ("--twin",)])
def test_what_a_bundle_brings_cannot_be_given(kept, option):
    done = _run(kept, *option)
    assert done.exit_code == 2
    assert f"{option[0]} cannot be given" in done.stderr


BAD_PROGRAMS = {
    "empty": "",
    "blank": "\n\n",
    "truncated": PROGRAM[:90],
    "unknown opcode": PROGRAM.replace("add(", "frobnicate("),
    "wrong shape": PROGRAM.replace("y = f32[4]", "y = f32[5]"),
    "missing operand": PROGRAM.replace("add(x, x)", "add(x)"),
    "unknown operand": PROGRAM.replace("add(x, x)", "add(x, z)"),
    "cycle": PROGRAM.replace("add(x, x)", "add(x, y)"),
    "duplicate name": PROGRAM.replace("n = s32", "x = s32"),
    "no root": "HloModule m\nENTRY e {\n}\n",
    "nested brackets": "HloModule m\nENTRY e {\n  ROOT x = " + "(" * 100_000,
    "nested constants": "HloModule m\nENTRY e {\n  ROOT x = f32[1] constant(" + "{" * 100_000,
}


@pytest.mark.parametrize("name", BAD_PROGRAMS)
def test_a_bad_program_is_a_message_with_its_place(tmp_path, name):
    path = tmp_path / "bad.hlo"
    path.write_text(BAD_PROGRAMS[name])
    done = _run(path, "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["exit_code"]) == (2, 2), done.exception
    assert done.stderr == f"xlabench: {report['error']}\n"


def test_an_opcode_of_the_language_that_is_not_there_yet_cannot_be_decided(tmp_path):
    path = tmp_path / "p.hlo"
    path.write_text(
        "HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n"
        '  ROOT y = f32[3] custom-call(x), custom_call_target="nobody"\n}\n'
    )
    done = _run(path)
    assert done.exit_code == 125
    assert "custom-call" in done.output


@pytest.mark.parametrize("data", [b"\x7fELF\x02\x01\x01\x00\xff\xfe", bytes(1000)])
def test_a_binary_file_is_refused(tmp_path, data):
    path = tmp_path / "bad.hlo"
    path.write_bytes(data)
    done = _run(path)
    assert done.exit_code == 2, done.exception
    assert str(path) in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "gpu"], "known are: reference, cpu, nvptx, xla"),
        (["--reference", "cpu:speed=1"], "unknown option 'speed'"),
        (["--seed", "-1"], "--seed"),
        (["--rtol", "much"], "--rtol"),
        (["--rtol", "nan"], "--rtol"),
        (["--atol", "inf"], "--atol"),
        (["--timeout", "inf"], "--timeout"),
        (["--memory-limit", str(1 << 43)], "--memory-limit"),
        (["--timeout", "1e9"], "--timeout"),
        (["--inputs", "none.npz"], "none.npz: cannot be read"),
        (["--colour"], "No such option"),
    ],
)
def test_a_bad_option_is_said(program, options, message):
    done = _run(program, *options)
    assert done.exit_code == 2, done.exception
    assert message in done.stderr


def test_a_dump_folder_that_cannot_be_made_is_said(program, tmp_path):
    done = _run(program, "--dump-to", program / "below")
    assert done.exit_code == 2
    assert "cannot be made" in done.stderr


def test_a_recipe_that_does_not_fit_its_program_is_said(program):
    program.with_suffix(".json").write_text(json.dumps({**RECIPE, "params": RECIPE["params"][:1]}))
    done = _run(program)
    assert done.exit_code == 2
    assert "1 inputs, but doubled takes 2" in done.stderr


def _watched(*arguments, **environment):
    return CliRunner(env=environment).invoke(cli, ["run", *map(str, arguments)])


@pytest.mark.slow
def test_engines_run_in_watched_processes(program):
    report = json.loads(_watched(program, "--json").stdout)
    assert (report["verdict"], report["exit_code"], report["stage"]) == ("bitwise", 0, None)


@pytest.mark.slow
def test_a_program_that_takes_too_long_exits_with_5(program):
    done = _watched(program, "--json", "--timeout", 1e-6)
    assert done.exit_code == 5, done.output
    assert json.loads(done.stdout)["verdict"] == "timeout"


LARGE = """HloModule large

ENTRY e {
  x = f32[] parameter(0)
  y = f32[100000000] broadcast(x), dimensions={}
  z = f32[100000000] add(y, y)
  ROOT r = f32[100000000] multiply(z, y)
}
"""


@pytest.mark.slow
def test_a_program_that_takes_too_much_memory_exits_with_4(tmp_path):
    (tmp_path / "p.hlo").write_text(LARGE)
    done = _watched(tmp_path / "p.hlo", "--memory-limit", 300)
    assert done.exit_code == 4, done.output
    assert "crash: reference (run): Unable to allocate" in done.stdout


ELIDED = """HloModule filled

ENTRY e {
  c = f32[20] constant({...})
  x = f32[20] parameter(0)
  ROOT y = f32[20] multiply(c, x)
}
"""


@pytest.mark.slow
def test_constants_that_a_dump_left_out_are_made_up_on_demand_and_said(tmp_path):
    path = tmp_path / "p.hlo"
    path.write_text(ELIDED)
    refused = _watched(path)
    assert refused.exit_code == 125
    assert "--fill-elided" in refused.stderr
    done = _watched(path, "--fill-elided", 7)
    assert (done.exit_code, "constants: 1 elided constants filled from seed 7" in done.stdout) == (0, True), done.output
    report = json.loads(_watched(path, "--fill-elided", 7, "--json", "--in-process").stdout)
    assert report["filled"] == "1 elided constants filled from seed 7"


def test_of_several_modules_one_is_chosen(tmp_path):
    path = tmp_path / "p.hlo"
    path.write_text(f"{PROGRAM}\n// -----\n{PROGRAM.replace('doubled', 'second')}")
    assert "--module 1 to 2" in _run(path).stderr
    assert json.loads(_run(path, "--module", 2, "--json").stdout)["module"] == "second"


@pytest.mark.slow
def test_the_variable_of_xla_is_heard(program, tmp_path):
    flags = f"--xla_dump_to={tmp_path / 'd'} --xla_dump_hlo_pass_re=cse --xla_disable_hlo_passes=algsimp --xla_other=1"
    done = _watched(program, "--json", XLA_FLAGS=flags)
    report = json.loads(done.stdout)
    assert report["engine"] == "cpu:disable_passes=algebraic-simplification"
    assert "--xla_other is no flag that XLA is known to have" in report["notes"][0]
    assert any(".after_cse." in path.name for path in (tmp_path / "d").iterdir())
    assert _watched(program, XLA_FLAGS="--xla_backend_optimization_level=x").exit_code == 2


SUMMED = """HloModule summed, replica_count=2

add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }

ENTRY e { x = f32[4] parameter(0) ROOT y = f32[4] all-reduce(x), to_apply=add }
"""


@pytest.mark.parametrize("engine", ["cpu", "nvptx:sim", "reference:wide"])
def test_a_program_for_several_devices_takes_and_gives_what_each_of_them_does(engine, tmp_path):
    path = tmp_path / "summed.hlo"
    path.write_text(SUMMED)
    result = _run(path, "--engine", engine, "--json")
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.output)["results"]) == 2


def test_the_twin_of_a_program_is_judged_to_the_bit_on_inputs_of_its_own(program):
    (program.parent / "p.json").write_text(json.dumps(RECIPE))
    outcome = _run(program, "--twin", "--json")
    told = json.loads(outcome.stdout)
    assert (outcome.exit_code, told["verdict"], told["inputs"]) == (0, "bitwise", "generated")
    assert [result["dtype"] for result in told["results"]] == ["int32", "int32"]


def test_a_twin_that_differs_by_one_is_wrong(program, scripted):
    scripted(lambda results: [results[0] + 1, results[1]])
    assert _run(program, "--engine", "scripted", "--twin").exit_code == 1


def test_what_has_no_twin_says_so(program):
    program.write_text("ENTRY e { x = s32[4] parameter(0) ROOT y = s32[4] add(x, x) }")
    outcome = _run(program, "--twin")
    assert outcome.exit_code == 125
    assert "it computes with no floats" in outcome.stderr
