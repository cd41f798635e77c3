import json

import numpy as np
import pytest
from click.testing import CliRunner

import compiler
from suites.models import mnist
from xlabench.cli import cli
from xlabench.commands import train
from xlabench.errors import BenchError


def _train(tmp_path, *options):
    arguments = ["train", "mnist-softmax", "--timeline", str(tmp_path / "timeline.ctf.json"), *options]
    return CliRunner().invoke(cli, arguments)


@pytest.mark.slow
def test_it_learns_the_drawn_digits(tmp_path):
    done = _train(tmp_path, "--engine", "reference", "--steps", "200", "--json")
    report = json.loads(done.stdout)
    assert report["losses"][0] == pytest.approx(np.log(10), rel=1e-6)
    assert report["accuracy"] > 0.9


@pytest.mark.slow
def test_it_prints_loss_and_accuracy(tmp_path):
    done = _train(tmp_path, "--engine", "reference", "--steps", "3")
    assert "step     3  loss " in done.stdout
    assert "test digits" in done.stdout


@pytest.mark.slow
def test_the_timeline_has_compile_phases_steps_and_kernels(tmp_path):
    done = _train(tmp_path, "--engine", "cpu", "--steps", "3", "--json")
    assert done.exit_code == 0, done.output
    trace = json.loads((tmp_path / "timeline.ctf.json").read_text())
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    names = {category: [s["name"] for s in spans if s["cat"] == category] for category in ("compile", "step", "kernel")}
    assert {"parse", "verify"} <= set(names["compile"])
    assert names["step"][:3] == ["step 1", "step 2", "step 3"]
    assert names["kernel"]
    assert all(span["ts"] >= 0 and span["dur"] >= 0 for span in spans)


@pytest.mark.slow
def test_another_seed_takes_other_batches(tmp_path):
    one, two = (
        json.loads(_train(tmp_path, "--engine", "reference", "--steps", "3", "--json", "--seed", seed).stdout)["losses"]
        for seed in "01"
    )
    assert one[0] == two[0]
    assert one[1:] != two[1:]


def test_the_gradient_is_that_of_the_loss():
    step = compiler.parse(mnist.train_step(4, learning_rate=1.0))
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(784, 10)).astype("f4") * np.float32(0.01), np.zeros(10, np.float32)
    x, y = rng.random((4, 784)).astype("f4"), np.eye(10, dtype=np.float32)[[3, 1, 4, 1]]
    _, b_next, loss = compiler.interpret(step, w, b, x, y)
    for index in range(10):
        moved = b.copy()
        moved[index] = 1e-2
        slope = (compiler.interpret(step, w, moved, x, y)[2] - loss) / 1e-2
        assert b[index] - b_next[index] == pytest.approx(slope, abs=5e-3)


def test_rows_that_fill_up_the_last_batch_do_not_count():
    evaluation = compiler.parse(mnist.evaluation(3))
    w, b = np.zeros((784, 10), np.float32), np.eye(10, dtype=np.float32)[7]
    y = np.zeros((3, 10), np.float32)
    y[0, 7] = y[1, 2] = 1
    (correct,) = compiler.interpret(evaluation, w, b, np.ones((3, 784), np.float32), y)
    assert correct == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data-dir", "none"], "none: no such folder"),
        (["--batch", "100000"], "a batch of 100000, but there are 8000 digits"),
        (["--batch", "0"], "--batch"),
        (["--steps", "0"], "--steps"),
        (["--engine", "abacus"], "unknown engine 'abacus'"),
        (["--timeline", "/nowhere/at/all.json"], "cannot be written to"),
        (["--timeline", "/"], "is a folder"),
    ],
)
def test_a_bad_option_is_said_before_anything_is_written(tmp_path, options, message):
    done = _train(tmp_path, *options)
    assert done.exit_code == 2, done.exception
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_disk_that_fills_up_meanwhile_does_not_take_the_results_along(tmp_path, monkeypatch):
    def full(path, _data):
        raise BenchError(f"{path}: cannot be written: No space left on device; give another place")

    monkeypatch.setattr(train.atomic, "write", full)
    done = _train(tmp_path, "--steps", "2", "--engine", "reference", "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, len(report["losses"]), report["timeline"]) == (2, 2, None)
    assert "timeline.ctf.json: cannot be written: No space left" in done.stderr


def test_an_unknown_model_names_the_known_ones(tmp_path):
    done = CliRunner().invoke(cli, ["train", "resnet"])
    assert done.exit_code == 2
    assert "mnist-softmax" in done.stderr


def test_a_damaged_data_file_is_said(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        (folder / name).write_bytes(b"\x00\x00\x08")
    done = _train(tmp_path, "--data-dir", str(folder))
    assert done.exit_code == 2
    assert "t10k-images-idx3-ubyte" in done.stderr
