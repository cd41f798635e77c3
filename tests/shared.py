"""Threads that share every kernel, however small: so programs that a test can afford show where phases must end."""

from __future__ import annotations

import ctypes

import pytest

from compiler.backends.cpu import sharing
from compiler.backends.cpu.runtime.threads import pool
from compiler.codegen import cost


def share_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, and until the test is over."""
    monkeypatch.setattr(cost, "PARALLEL_NS", -1.0)
    monkeypatch.setattr(sharing, "_MEETING_NS", 0.0)
    monkeypatch.setattr(sharing, "_WAKING_NS", 0.0)
    monkeypatch.setattr(ctypes.c_int32.from_address(pool()._library.address("eager")), "value", 1)
