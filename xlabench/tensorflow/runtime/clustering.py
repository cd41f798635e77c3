"""Clusters in a session: which of its graphs are clustered, and the kernels of what that makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compiler.tf import Graph, Node
from xlabench.tensorflow.config import ConfigProto
from xlabench.tensorflow.runtime.kernels import Kernel
from xlabench.tensorflow.runtime.resources import Resources
from xlabench.tensorflow.runtime.settings import Device


class Clusters:
    """The clusters of one session."""

    def __init__(self, config: ConfigProto, devices: Mapping[str, Device], resources: Resources) -> None:
        self._config = config
        self._devices = devices
        self._resources = resources
        self.kernels: Mapping[str, Callable[[Node, Graph, Device, Resources], Kernel]] = {}

    def cluster(self, graph: Graph) -> Graph:
        """A graph with clusters, if it is to have any."""
        return graph
