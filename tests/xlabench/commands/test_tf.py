"""Scripts run in this process, with the modules of `tensorflow` forgotten afterwards."""

import json
import os
import sys

import pytest
from click.testing import CliRunner

from xlabench.cli import cli
from xlabench.tensorflow import importing

SCRIPT = """
import argparse, sys
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data
from tensorflow.python.client import timeline
import tensorflow.compat.v1 as v1
from tensorflow import nn
import neighbour

def main(arguments):
    x = tf.placeholder(tf.float32, [2])
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        print(session.run(nn.relu(x), {x: [-1, neighbour.TWO]}, full, metadata).tolist(), arguments, sys.argv[1:])
    trace = timeline.Timeline(step_stats=metadata.step_stats)
    assert '"Relu"' in trace.generate_chrome_trace_format()
    assert v1.Session is tf.Session and tf.contrib.compiler.jit and input_data.read_data_sets
    return 3

parser = argparse.ArgumentParser()
parser.add_argument("--xla", type=bool, default=True)
flags, rest = parser.parse_known_args()
tf.app.run(main=main, argv=[sys.argv[0]] + rest)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a script as the command does; what that changes in this process is put back."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    for name in ("TF_XLA_FLAGS", "XLA_FLAGS", "XLABENCH_TF_CPU", "XLABENCH_TF_GPU"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    (tmp_path / "neighbour.py").write_text("TWO = 2\n")

    def call(text, *arguments, options=()):
        script = tmp_path / "script.py"
        script.write_text(text)
        return CliRunner().invoke(cli, ["tf", *options, str(script), *arguments])

    yield call
    for name in [one for one in sys.modules if one.partition(".")[0] in ("tensorflow", "neighbour")]:
        del sys.modules[name]


def test_a_script_sees_what_it_would_under_python(run):
    done = run(SCRIPT, "--xla=", "left")
    assert done.exit_code == 3, done.output
    assert done.stdout == f"[0.0, 2.0] {[sys.argv[0], 'left']} ['--xla=', 'left']\n"


def test_engines_are_chosen_by_options(run):
    text = "import tensorflow as tf\nprint([one.spec for one in tf.Session().list_devices()])"
    done = run(text, options=["--gpu", "reference", "--xla-gpu", "cpu:threads=1", "--cpu", "reference"])
    assert done.stdout == "['reference', 'reference', 'cpu', 'cpu:threads=1']\n"
    assert os.environ["XLABENCH_TF_GPU"] == "reference"


def test_a_program_hears_how_a_script_ended(run):
    done = run("print('said')\nraise SystemExit(4)", options=["--json"])
    assert json.loads(done.stdout)["exit_code"] == done.exit_code == 4
    assert done.stderr == "said\n"


def test_what_a_script_raises_is_its_own(run):
    done = run("import tensorflow as tf\ntf.Session().run(3)\n")
    assert done.exit_code == 1
    assert done.stderr.startswith("Traceback (most recent call last):\n  File ")
    assert "script.py" in done.stderr.splitlines()[1]
    assert run("raise SystemExit('over')").stderr == "over\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--cpu", "nothing"], "unknown engine 'nothing'"), (["--gpu", "cpu:nothing=1"], "unknown option")],
)
def test_an_engine_that_is_none_is_refused(run, options, said):
    done = run("print(1)", options=options)
    assert done.exit_code == 2
    assert said in done.stderr


def test_flags_that_nobody_knows_are_said_before_anything_runs(run, monkeypatch):
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_nothing")
    done = run("print(1)")
    assert (done.exit_code, done.stdout) == (2, "")
    monkeypatch.setenv("TF_XLA_FLAGS", "")
    monkeypatch.setenv("XLA_FLAGS", "--xla_nothing")
    assert "--xla_nothing is no flag" in run("print(1)").stderr


def test_a_script_that_is_not_there_is_refused():
    done = CliRunner().invoke(cli, ["tf", "nowhere.py"])
    assert done.exit_code == 2
    assert "no such file; give a script of Python's" in done.stderr


def test_what_is_not_there_says_so_when_it_is_imported(run):
    done = run("import tensorflow.keras")
    assert done.exit_code == 1
    assert "No module named 'tensorflow.keras': Keras is not there" in done.stderr
    assert "cannot import name 'keras'" in run("from tensorflow import keras").stderr


def test_installing_twice_is_installing_once(run):
    importing.install()
    importing.install()
    assert sum(isinstance(one, importing.Finder) for one in sys.meta_path) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("tf.keras.layers.Dense(3)", "AttributeError: tf.keras: Keras is not there"),
        ("tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))", "ValueError: Dimensions must be equal, but are 3 and 2"),
        ("tf.Session().run(tf.placeholder(tf.float32, [2]) + 1)", "InvalidArgumentError: You must feed a value"),
    ],
)
def test_what_is_refused_is_said_with_the_line_that_asks_for_it(run, line, said):
    done = run(f"import tensorflow as tf\n{line}\n")
    assert done.exit_code == 1
    assert done.stderr.count("  File ") == 1
    assert line in done.stderr
    assert said in done.stderr


def test_a_bug_of_ours_shows_where_it_is(run, monkeypatch):
    monkeypatch.setattr("xlabench.tensorflow.runtime.executor.run", None)
    assert "session.py" in run("import tensorflow as tf\ntf.Session().run(tf.constant(1))\n").stderr
