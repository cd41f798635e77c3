"""The NVPTX back end: grids of threads, run by a GPU or by the simulator."""
