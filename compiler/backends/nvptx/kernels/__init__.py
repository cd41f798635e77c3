"""GPU kernels, one file per kind, on top of the value-at-index emission that the CPU back end uses too."""
