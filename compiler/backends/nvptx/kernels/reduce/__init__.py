"""Reductions: `kernel` has the strategies, from a thread for each result to launches of chunks."""
