"""The right nodes leave their clusters, and nobody else."""

from clustered_wires import clustered

from xlabench.graphs.declustering import Declustering
from xlabench.graphs.legality import CLUSTER


def test_who_leaves_a_cluster_for_nothing_and_who_should_have_is_told():
    for number in range(20):
        made = clustered(number)
        clusters = made.marking.clusters
        assert Declustering(made.marked, clusters).problems() == []
        there = {node.name: node for node in made.marked.nodes}
        left = [name for name in clusters if name in there and CLUSTER not in there[name].attributes]
        inside = [node for node in made.marked.nodes if CLUSTER in node.attributes and node.op == "AddV2"]
        if not left or not inside or "static_shaped_slice" in str(made.marked):
            continue
        held = inside[-1].attributes.pop(CLUSTER)
        assert any("for nothing" in said for said in Declustering(made.marked, clusters).problems())
        inside[-1].attributes[CLUSTER] = held
        made.marked.node(left[0]).attributes[CLUSTER] = clusters[left[0]].encode()
        assert any("still in" in said for said in Declustering(made.marked, clusters).problems())
        return
    raise AssertionError("no node left a cluster")
