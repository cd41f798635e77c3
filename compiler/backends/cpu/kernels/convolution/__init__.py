"""Convolutions: `choice` among the `plan`s, `phases` of dilated inputs, the packed `memory`, the register `tile`."""

from compiler.backends.cpu.kernels.convolution.kernel import emit as emit
