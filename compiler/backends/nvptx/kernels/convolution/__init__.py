"""Convolutions as products of patches that are never made: `kernel`."""
