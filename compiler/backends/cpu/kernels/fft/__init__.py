"""Fourier transforms: `stages` of mixed radix along a `line`, lines of one dimension in a pass."""

from compiler.backends.cpu.kernels.fft.kernel import emit as emit
