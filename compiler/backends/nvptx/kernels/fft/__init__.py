"""Fourier transforms in stages: `kernel`."""
