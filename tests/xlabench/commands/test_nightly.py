"""`xlabench nightly` and `xlabench report` as a user meets them, on a suite of two small programs."""

import fcntl
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from xlabench.cli import cli
from xlabench.commands import nightly as command
from xlabench.errors import VERDICT_EXIT_CODES
from xlabench.nightly import Config

SUM = """HloModule sum
ENTRY main {
  x = f32[64] parameter(0)
  y = f32[64] parameter(1)
  product = f32[64] multiply(x, y)
  ROOT sum = f32[64] add(x, product)
}
"""
UNKNOWN = "HloModule odd\nENTRY main {\n  ROOT x = f32[2] frobnicate()\n}\n"
QUICK = ("--processes", "1", "--rounds", "5", "--json")


@pytest.fixture
def suite(tmp_path):
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "sum.hlo").write_text(SUM)
    return folder


def nightly(*arguments):
    return CliRunner().invoke(cli, ["nightly", *map(str, arguments)])


def report(*arguments):
    return CliRunner().invoke(cli, ["report", *map(str, arguments)])


@pytest.mark.slow
def test_a_suite_runs_on_all_engines_and_leaves_a_report(suite, tmp_path):
    out = tmp_path / "out"
    result = nightly("--suite", suite, "--out", out, *QUICK)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert sum(said["verdicts"].values()) == len(command.default_engines())
    assert said["timed"] == list(command.timed_of(command.default_engines(), None, ()))
    assert said["slower"] == []
    assert said["failures"] == []
    assert said["speedups"]["sum"]["estimate"] > 0
    for name in ("index.html", "results.json", "speedup.svg", "speedup.png", "records.sqlite"):
        assert (out / name).stat().st_size > 0
    again = report(out, "--check")
    assert (again.exit_code, again.output) == (0, f"{out}: the report is up to date\n")


OPEN = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Tanh" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
"""
OPEN_CONFIG = """
feed { id { node_name: "x" } name: "a" shape { dim { size: -1 } dim { size: 3 } } type: DT_FLOAT }
fetch { id { node_name: "y" } }
"""


def test_which_sizes_open_ones_were_given_is_said_by_table_page_and_json(tmp_path):
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "g.pbtxt").write_text(OPEN)
    (suite / "g.config.pbtxt").write_text(OPEN_CONFIG)
    asked = ("--suite", suite, "--engines", "cpu", "--processes", "0", "--out", tmp_path / "out")
    sizes = "a [?,3] is [2, 3]"
    table = nightly(*asked)
    assert table.exit_code == 0, table.output
    assert f"g: open sizes: {sizes}" in table.stdout
    assert sizes in (tmp_path / "out" / "index.html").read_text()
    assert json.loads(nightly(*asked, "--json").stdout)["open_sizes"] == {"g": {"g.pbtxt": sizes}}


@pytest.mark.slow
def test_twins_are_judged_beside_their_programs_and_not_timed(suite, tmp_path):
    result = nightly("--suite", suite, "--out", tmp_path / "out", "--twins", *QUICK)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert sum(said["verdicts"].values()) == 2 * len(command.default_engines())
    assert {name: speedup is not None for name, speedup in said["speedups"].items()} == {"sum": True, "sum.twin": False}


@pytest.mark.slow
def test_an_unsupported_program_ends_with_125_and_names_the_opcode(suite, tmp_path):
    (suite / "odd.hlo").write_text(UNKNOWN)
    result = nightly("--suite", suite, "--out", tmp_path / "out", "--engines", "cpu", "--processes", 0, "--json")
    said = json.loads(result.stdout)
    assert result.exit_code == said["exit_code"] != 0
    assert {failure["program"] for failure in said["failures"]} == {"odd"}
    assert "frobnicate" in said["failures"][0]["message"]


UNREADABLE = {
    "junk": (b"this is no program\n", "odd.hlo:1:1: "),
    "cut": (SUM[:-3].encode(), "odd.hlo:6:"),
    "invalid": (SUM.replace("f32[64] multiply", "f32[32] multiply").encode(), "product"),
    "bytes": (b"\xff\xfd\x00", "odd.hlo:1:1"),
    "empty": (b"", "odd.hlo:1:1"),
    "recipe": (SUM.encode(), "odd.json"),
}
"""Programs that cannot be read, and what the message says."""


@pytest.mark.slow
@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "among-others"])
@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_program_that_cannot_be_read_is_bad_input_and_the_night_goes_on(suite, tmp_path, kind, is_alone):
    content, says = UNREADABLE[kind]
    (suite / "odd.hlo").write_bytes(content)
    if kind == "recipe":
        (suite / "odd.json").write_text("{")
    if is_alone:
        (suite / "sum.hlo").unlink()
    result = nightly("--suite", suite, "--out", tmp_path / "out", "--engines", "cpu", "--processes", 0, "--json")
    said = json.loads(result.stdout)
    assert (result.exit_code, said["exit_code"]) == (2, 2)
    assert [(one["program"], one["verdict"]) for one in said["failures"]] == [("odd", "bad-input")]
    assert says in said["failures"][0]["message"]
    assert said["verdicts"] == {**({} if is_alone else {"within": 1}), "bad-input": 1}
    assert report(tmp_path / "out", "--check").exit_code == 0


def test_what_cannot_be_read_hides_nothing_graver():
    told = {"wrong": 1, "crash": 4, "compile-error": 3, "timeout": 5, "error": 70, "unsupported": 2, "bitwise": 2}
    assert told.keys() | {"bad-input"} >= set(VERDICT_EXIT_CODES) - {"within", "undecided", "assembled", "flaky"}
    for verdict, code in told.items():
        counts = SimpleNamespace(summary=SimpleNamespace(counts={verdict: 1, "bad-input": 1}), changes=None)
        assert command._exit_code(counts) == code, verdict


@pytest.mark.slow
def test_a_wrong_result_leaves_a_bundle_that_shows_it_and_ends_with_1(suite, tmp_path):
    (suite / "sum.hlo").write_text(SUM.replace("add(x, product)", "tanh(product)"))
    parameters = [{"name": n, "shape": [64], "dtype": "f32", "gen": {"kind": "normal"}} for n in "xy"]
    (suite / "sum.json").write_text(json.dumps({"seed": 0, "params": parameters, "rtol": 0, "atol": 0}))
    out = tmp_path / "out"
    result = nightly("--suite", suite, "--out", out, "--engines", "cpu", "--processes", 0, "--json")
    assert result.exit_code == 1, result.output
    (case,) = json.loads((out / "results.json").read_text())["cases"]
    assert [(bundle["path"], bundle["verified"]) for bundle in case["bundles"]] == [("bundles/run-1/sum.cpu", True)]
    assert CliRunner().invoke(cli, ["replay", str(out / "bundles/run-1/sum.cpu")]).exit_code == 1


@pytest.mark.slow
def test_the_report_is_made_again_from_the_records(suite, tmp_path):
    out = tmp_path / "out"
    nightly("--suite", suite, "--out", out, "--engines", "reference", "--processes", 0)
    page = (out / "index.html").read_bytes()
    (out / "index.html").write_text("edited")
    assert report(out, "--check").exit_code == 1
    assert report(out).exit_code == 0
    assert (out / "index.html").read_bytes() == page
    assert report(out, "--check", "--json").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--suite", "smokey"], "known are: corpus, graphs, smoke"),
        (["--suite", "smoke", "--engines", "cuda"], "known are: reference, cpu"),
        (["--suite", "smoke", "--engines", "cpu:fusio=off"], "fusion"),
        (["--suite", "smoke", "--engines", "cpu cpu"], "given twice"),
        (["--suite", "smoke", "--engines", " "], "no engine is named"),
        (["--suite", "smoke", "--timed", "cpu:opt=0", "cpu"], "--timed: cpu:opt=0 is none of the engines"),
        (["--suite", "smoke", "--timed", "cpu", "cpu"], "no baseline of itself"),
        (["--suite", "smoke", "--also-timed", "cpu:opt=0"], "--also-timed: cpu:opt=0 is none of the engines"),
        (["--suite", "smoke", "--timeout", "0"], "--timeout"),
        (["--suite", "smoke", "--seed", str(1 << 63)], "--seed"),
    ],
)
def test_bad_usage_names_the_remedy_and_leaves_nothing(tmp_path, arguments, says):
    result = nightly("--out", tmp_path / "out", *arguments)
    assert result.exit_code == 2
    assert says in result.output
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_said(suite, tmp_path):
    (tmp_path / "file").write_text("")
    result = nightly("--suite", suite, "--out", tmp_path / "file" / "out")
    assert (result.exit_code, "cannot be made" in result.output) == (2, True)


def test_two_runs_do_not_share_a_folder(suite, tmp_path):
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = nightly("--suite", suite, "--out", tmp_path)
    assert (result.exit_code, "another process is at work in it" in result.output) == (2, True)


@pytest.mark.parametrize("content", [None, "not a database"])
def test_a_folder_without_records_has_no_report(tmp_path, content):
    if content is not None:
        (tmp_path / "records.sqlite").write_text(content)
    result = report(tmp_path)
    assert result.exit_code == 2
    assert "records.sqlite" in result.output


OURS = ("cpu", "cpu:fusion=off", "nvptx:sim")
TIMED = [
    ((OURS, None, ()), ("cpu:fusion=off", "cpu")),
    (((*OURS, "xla"), None, ()), ("xla", "cpu", "cpu:fusion=off")),
    ((("cpu", "xla"), None, ()), ("xla", "cpu")),
    (((*OURS, "xla"), ("cpu:fusion=off", "cpu"), ()), ("cpu:fusion=off", "cpu")),
    (((*OURS, "xla"), ("cpu:fusion=off", "cpu"), ("xla",)), ("cpu:fusion=off", "cpu", "xla")),
    ((OURS, None, ("nvptx:sim cpu",)), ("cpu:fusion=off", "cpu", "nvptx:sim")),
    ((("cpu",), None, ()), ("cpu:fusion=off", "cpu")),
]
"""The engines of a run and what its options ask for; the baseline, the candidate, and what is timed beside."""


@pytest.mark.parametrize(("asked", "timed"), TIMED)
def test_xla_is_the_baseline_where_it_runs_and_nobody_asked_for_another(asked, timed):
    assert command.timed_of(*asked) == timed


@pytest.mark.slow
def test_a_night_in_which_both_engines_are_slower_ends_with_1_and_says_so(suite, tmp_path, monkeypatch):
    """Calls take the time that the test states, on a clock of their own."""
    (suite / "sum.hlo").write_text("ENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x, x)\n} // sum\n")
    fakes = {name: f"fake_engines:{fake}" for name, fake in FAKES.items()}
    monkeypatch.setattr(command, "Config", lambda **options: Config(**options, **fakes))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    arguments = ("--suite", suite, "--out", tmp_path / "out", "--engines", "cpu cpu:fusion=off", *QUICK)
    codes = []
    for seconds in ({"cpu": 1e-3, "cpu:fusion=off": 3e-3}, {"cpu": 3e-3, "cpu:fusion=off": 30e-3}):
        monkeypatch.setenv("FAKE_SECONDS", json.dumps({**seconds, "canary": 1e-3}))
        result = nightly(*arguments)
        codes.append(result.exit_code)
    said = json.loads(result.stdout)
    assert codes == [0, said["exit_code"]] == [0, 1]
    assert {one["engine"]: one["factor"] for one in said["slower"]} == {
        "cpu": pytest.approx(3, rel=0.02),
        "cpu:fusion=off": pytest.approx(10, rel=0.02),
    }
    judged = compare(tmp_path / "out")
    assert judged.exit_code == 1
    assert "slower: sum on cpu, 1 ms before, 3 ms now, 3.0" in judged.stdout
    assert "faster:" not in judged.stdout


FAKES = {"factory": "timed", "canaries": "canaries", "clock": "clock"}


def compare(*arguments):
    return CliRunner().invoke(cli, ["compare", *map(str, arguments)])


@pytest.mark.slow
def test_runs_are_compared_on_the_page_and_by_the_command_which_ends_with_1_where_the_later_is_worse(suite, tmp_path):
    out = tmp_path / "out"
    plain = ("--suite", suite, "--out", out, "--engines", "cpu", "--processes", 0)
    assert nightly(*plain, "--json").exit_code == 0
    alone = compare(out)
    assert alone.exit_code == 2
    assert "one finished run" in alone.stderr
    assert "since run 1:" in nightly(*plain).stdout
    assert report(out, "--check").exit_code == 0
    both = compare(out, "--json")
    assert (both.exit_code, json.loads(both.stdout)["is_regression"]) == (0, False)
    assert "nothing is worse" in compare(out, out / "results.json").stdout
    worse = json.loads((out / "results.json").read_text())
    worse["cases"][0]["verdicts"][0] |= {"verdict": "wrong", "message": "off by one"}
    (tmp_path / "worse.json").write_text(json.dumps(worse))
    result = compare(out, tmp_path / "worse.json")
    assert result.exit_code == 1
    assert "failing: sum on cpu, within before, wrong now: off by one" in result.stdout


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema_version": 0}', '{"schema_version": 1, "run": {}}', "[" * 50_000]
)
def test_what_is_no_record_of_a_run_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    result = compare(tmp_path / "a.json", tmp_path / "a.json")
    assert result.exit_code == 2
    assert "a.json: " in result.stderr
