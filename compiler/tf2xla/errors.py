"""What is asked of gradients and is not there."""

from __future__ import annotations

from compiler.diagnostics import InputError


class NoGradientError(InputError, LookupError):
    """A gradient of an op that has none."""
