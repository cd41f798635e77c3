"""Windows over arrays: scans (`kernel`), and the way back (`select_scatter`)."""
