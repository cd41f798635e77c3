"""Sorting lines: `kernel` has the strategies, `sorter` emits them, by networks, digits, ranks and merges."""
