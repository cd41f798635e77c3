"""Reductions of rows that are broadcast back over them: `kernel` has the strategies, `row_lanes` the vectors."""
