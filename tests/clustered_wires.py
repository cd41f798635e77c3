"""Graphs of wires alone, with clusters, and what passes made of them."""

from dataclasses import replace

import numpy as np

from compiler.tf import Flags, Options, Progress, optimize
from xlabench.fuzzing.graphs import wired

FLAGS = Flags(auto_jit=2, cpu_global_jit=True, min_cluster_size=1)


def clustered(number, **flags):
    """A graph of wires with clusters, and what was made of them."""
    graph = wired.draw(np.random.default_rng([72, number]))
    nodes = [replace(node, device="/job:localhost/replica:0/task:0/device:CPU:0") for node in graph.nodes]
    return optimize(replace(graph, nodes=nodes), replace(FLAGS, **flags), Options(progress=Progress()))
