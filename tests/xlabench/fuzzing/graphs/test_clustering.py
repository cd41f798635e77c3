"""Drawn graphs are clustered as may be, and what passes get wrong is told by what it is about."""

import numpy as np
import pytest
from clustered_wires import FLAGS, clustered

from xlabench.fuzzing.graphs import cases, clustering
from xlabench.fuzzing.graphs.clustering import WrongClustering, hold


@pytest.mark.parametrize("number", range(12))
def test_clusters_of_drawn_graphs_may_be(number):
    rng = np.random.default_rng([71, number])
    hold(rng, cases.draw_graph(rng, number))


def told(made):
    """What the passes' results are said to be wrong about."""
    with pytest.raises(WrongClustering, match=r"^about ") as caught:
        clustering._judge(made, FLAGS, made.marked)
    return str(caught.value).split(" ")[1].rstrip(":")


def test_a_candidate_that_is_forgotten_is_told():
    made = clustered(1)
    left = {name: one for name, one in made.marking.clusters.items() if made.marked.node(name).op == "AddV2"}
    assert left
    made.marking.candidates = [name for name in made.marking.candidates if name not in left]
    assert told(made) == "candidates"
