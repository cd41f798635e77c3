"""Sorting lines by merges: `kernel` has the strategies, `merge_path` finds the place of an element."""
