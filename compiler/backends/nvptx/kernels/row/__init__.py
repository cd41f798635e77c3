"""Reductions of rows that are broadcast back over them: `kernel`."""
