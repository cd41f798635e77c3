"""The CPU back end: one native SPMD program per module."""
