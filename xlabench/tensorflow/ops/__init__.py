"""Functions that add nodes to graphs."""
