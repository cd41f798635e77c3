"""Clusters of graphs drawn at random are those that TensorFlow 2.21 makes, as `record_clusters.py` wrote them down."""

import json
from pathlib import Path

import pytest
from cluster_graphs import graph_of, marked, text_of

ROWS = json.loads((Path(__file__).parent / "clusters.json").read_text(encoding="ascii"))


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_clusters_are_those_that_tensorflow_makes(number):
    text, expected = ROWS[number]
    found, _ = marked(text, flags="--tf_xla_min_cluster_size=2")
    assert found == sorted(" ".join(sorted(nodes)) for nodes in expected)


def test_recorded_graphs_are_read_as_they_were_written():
    assert [text_of(graph_of(text)) for text, _ in ROWS] == [text for text, _ in ROWS]


def test_what_is_recorded_is_worth_comparing():
    sizes = [len(nodes) for _, clusters in ROWS for nodes in clusters]
    assert (len(ROWS), len(sizes) >= 80, max(sizes) >= 12) == (60, True, True)
