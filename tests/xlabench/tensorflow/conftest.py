"""A graph for each test, so that none sees another's nodes."""

import pytest

import xlabench.tensorflow as tf


@pytest.fixture
def graph(monkeypatch):
    """The default graph while a test runs; nothing outside says which engines or flags there are."""
    for name in ("TF_XLA_FLAGS", "XLA_FLAGS", "XLABENCH_TF_CPU", "XLABENCH_TF_GPU"):
        monkeypatch.delenv(name, raising=False)
    with tf.Graph().as_default() as made:
        yield made
