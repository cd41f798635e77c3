"""Fourier transforms: `stages` of mixed radix along a `line`, lines of one dimension in a pass."""
