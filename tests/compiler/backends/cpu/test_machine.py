"""The machine is what a target says, and only of this machine's own tile registers is the system asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.backends.cpu import machine
from compiler.backends.cpu.machine import Machine
from compiler.backends.cpu.machines import target_for
from compiler.codegen.llvm import Target

WIDTHS = {
    ("x86_64", "x86-64"): (128, 16),
    ("x86_64", "haswell"): (256, 16),
    ("x86_64", "znver4"): (512, 32),
    ("aarch64", "generic"): (128, 32),
}


@pytest.mark.parametrize("named", WIDTHS)
def test_vectors_follow_from_features(named: tuple[str, str]) -> None:
    found = Machine.of(target_for(*named))
    assert (found.vector_bits, found.vector_registers) == WIDTHS[named]


@pytest.mark.parametrize("permitted", [False, True])
def test_the_system_is_asked_about_tiles_of_this_machine_alone(
    monkeypatch: pytest.MonkeyPatch, *, permitted: bool
) -> None:
    monkeypatch.setattr(machine, "permits_tiles", lambda: permitted)
    here = Target("x86_64-unknown-linux-gnu", "sapphirerapids", "+amx-tile", jit=True)
    assert Machine.of(here).tiles == permitted
    assert Machine.of(replace(here, jit=False)).tiles
    assert not Machine.of(replace(here, features="")).tiles
    assert not Machine.of(here, tiles=False).tiles
