"""Sorting lines: `kernel` has the strategies, `sorter` emits them, by networks, ranks and merges."""
