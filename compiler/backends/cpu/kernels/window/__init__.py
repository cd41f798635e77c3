"""Windows over arrays: reductions of them (`kernel`), `scan`s, and the way back (`select_scatter`)."""
