"""x86 CPUs of several generations to generate code for; what this machine cannot run is skipped."""

from __future__ import annotations

import pytest

from compiler.codegen.llvm import Target

HOST = Target.host()
SSE2 = Target(HOST.triple, "x86-64", "")
AVX2 = Target(HOST.triple, "haswell", "+avx,+avx2,+fma")


def require(target: Target) -> None:
    """Skip the test where code for the target does not run."""
    if target is HOST:
        return
    lacking = sorted(feature for feature in target.present if not HOST.has(feature))
    if lacking or not HOST.triple.startswith("x86_64"):
        pytest.skip(f"this machine is no {target.cpu}: it lacks {', '.join(lacking) or 'its instructions'}")
