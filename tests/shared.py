"""Threads that share every kernel, however small: so programs that a test can afford show where phases must end."""

from __future__ import annotations

import ctypes
import sys

import pytest

from compiler.backends.cpu import sharing
from compiler.backends.cpu.runtime.threads import pool


def share_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, and until the test is over."""
    for name, module in list(sys.modules.items()):
        if name.startswith("compiler.") and hasattr(module, "PARALLEL_NS"):
            monkeypatch.setattr(module, "PARALLEL_NS", -1.0)
    monkeypatch.setattr(sharing, "_MEETING_NS", 0.0)
    monkeypatch.setattr(sharing, "_WAKING_NS", 0.0)
    monkeypatch.setattr(ctypes.c_int32.from_address(pool()._library.address("eager")), "value", 1)
