"""Which checkpoints a folder has, as its file `checkpoint` says."""

from pathlib import Path

import pytest

import xlabench.tensorflow as tf


def made(folder, *names: str) -> list[str]:
    paths = [str(folder / name) for name in names]
    for path in paths:
        for ending in ("index", "data-00000-of-00001", "meta"):
            (folder / f"{Path(path).name}.{ending}").touch()
    return paths


@pytest.mark.parametrize("name", ["m-1", 'of "quotes"-1', "back\\slash-1"])
def test_what_is_written_is_read(name, tmp_path):
    [path] = made(tmp_path, name)
    tf.train.update_checkpoint_state(tmp_path, path, ["/elsewhere/m-0"])
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == path == tf.train.latest_checkpoint(tmp_path)
    assert state.all_model_checkpoint_paths == ["/elsewhere/m-0", path]


def test_paths_of_a_relative_folder_begin_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    tf.train.update_checkpoint_state("run", "run/m-1")
    assert (tmp_path / "run" / "checkpoint").read_text().startswith('model_checkpoint_path: "m-1"\n')
    assert tf.train.get_checkpoint_state("run").model_checkpoint_path == "run/m-1"


def test_a_folder_may_say_nothing(tmp_path):
    assert tf.train.get_checkpoint_state(tmp_path) is None
    assert tf.train.latest_checkpoint(tmp_path) is None
    (tmp_path / "checkpoint").write_text("nothing: 1\n")
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_a_last_checkpoint_that_is_gone_is_none(tmp_path):
    tf.train.update_checkpoint_state(tmp_path, str(tmp_path / "m-1"))
    assert tf.train.latest_checkpoint(tmp_path) is None


@pytest.mark.parametrize("name", ["m-1", "m[ab]-1", "m*-1"])
def test_only_files_of_the_checkpoint_are_removed(name, tmp_path):
    paths = made(tmp_path, name, "ma-1", "m-10")
    tf.train.remove_checkpoint(paths[0])
    assert not tf.train.checkpoint_exists(paths[0])
    assert all(tf.train.checkpoint_exists(one) for one in paths[1:])
    assert len(list(tmp_path.iterdir())) == 6
