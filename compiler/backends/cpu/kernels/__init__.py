"""CPU kernels, one file per kind."""
