"""Bad input that strangers give: each command says in one line what was given, what is wrong and what to do."""

import json

import pytest
from click.testing import CliRunner
from one_program import PROGRAM, right_result, write_bundle

from compiler.__main__ import cli as by_hand
from xlabench.cli import cli

HUGE = (
    "ENTRY e { x = f32[1000000000000,1000000000000] parameter(0)  ROOT y = f32[1000000000000,1000000000000] tanh(x) }"
)
FILES = {
    "huge.hlo": HUGE.encode(),
    "wide.hlo": PROGRAM.encode("utf-16"),
    "latin.hlo": "ENTRY \u00e9 { ROOT x = f32[] parameter(0) }".encode("latin-1"),
    "two.hlo": (PROGRAM + PROGRAM).encode(),
    "m.hlo": PROGRAM.encode(),
    "exits.py": b"import sys; sys.exit(3)",
    "k.ptx": b".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }",
}
SAID = {
    ("emit", "llvm", "huge.hlo"): (125, "more than 2^63 - 1; use smaller shapes"),
    ("emit", "decisions", "huge.hlo"): (125, "more than 2^63 - 1; use smaller shapes"),
    ("print", "wide.hlo"): (2, "is text in UTF-16, as PowerShell's > writes it; save it in UTF-8"),
    ("print", "latin.hlo"): (2, "latin.hlo:1:7: expected a computation: a name of ASCII letters"),
    ("print", "two.hlo"): (2, "take one by --module N"),
    ("run", "m.hlo", "--threads", "9999"): (2, "9999 is not in the range 0<=x<=1024"),
    ("graph", "none"): (2, "give a file with a graph"),
}
"""What `python -m compiler` says."""
SAID_BY_XLABENCH = {
    ("compile", "huge.hlo", "--out", "o"): (125, "more than 2^63 - 1; use smaller shapes"),
    ("run", "m.hlo", "--custom-call", "f=exits.py:f"): (2, "importing exits.py raised SystemExit: 3"),
    ("fuzz", "--out", "o", "--shard", "x"): (2, "--shard 'x' is no part of a whole; give one such as 1/4"),
    ("fuzz", "--out", "o", "--profile", "exhaustive", "--elements", "9"): (2, "--instructions and --elements go with"),
    ("fuzz", "--out", "o", "--shard", "2/3"): (2, "--shard goes with --profile exhaustive only; leave it out"),
    ("tf", "."): (2, "is no file; give a script of Python's"),
    ("ptx-sim", "k.ptx", "--block", "1", "--grid", "2147483648"): (2, "more than any GPU launches, 2147483647,65535"),
    ("reduce", "m.hlo", "--script", "exit 1", "--out", "o"): (
        2,
        "give a program, or sh FILE where a shell is to do it",
    ),
}
MANIFESTS = {"a list": [1, 2], "numbers": {"files": 3, "arrays": 4}, "nothing": None}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)


def check(command, words, code, said):
    ended = CliRunner().invoke(command, words)
    assert ended.exit_code == code, ended.output
    assert said in ended.output.replace("\n", " ")


@pytest.mark.parametrize("words", SAID)
def test_by_hand(words):
    if words[0] == "graph":
        pytest.importorskip("google.protobuf", reason="graphs are read by protobuf")
    check(by_hand, words, *SAID[words])


@pytest.mark.slow  # of importing what campaigns take
@pytest.mark.parametrize("words", SAID_BY_XLABENCH)
def test_by_xlabench(words):
    check(cli, words, *SAID_BY_XLABENCH[words])


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_a_manifest_of_another_form_is_that_and_no_word_of_pythons(tmp_path, manifest):
    bundle = write_bundle(tmp_path / "b", right_result())
    (bundle / "manifest.json").write_text(json.dumps(MANIFESTS[manifest]))
    check(cli, ["bundle", "show", "b"], 2, "not a whole bundle: manifest.json is not that of a bundle; get it again")
