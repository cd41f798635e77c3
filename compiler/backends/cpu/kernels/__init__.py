"""CPU kernels, one file per kind, or a folder where a kind takes several; `table` names them all.

`loop`, `reduce` and `row` are the kinds that fusions become.  What they walk with: `tiles` of transposes, `lanes` of
vectors written by ourselves (`accumulators`, `lane_rules`, `row_lanes`), stores past the caches.
"""
