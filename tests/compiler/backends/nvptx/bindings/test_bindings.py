"""The GPU path through the real `cuda.bindings`, on a driver that `cc` makes of a table of calls.

What other tests of it say to a driver written in Python here passes through the bindings' own conversions, and is
taken by something as strict as a driver.  In a process of its own, because the bindings look for a driver once.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.skipif(importlib.util.find_spec("cuda") is None, reason="without the extra `cuda`")
def test_the_bindings_take_what_is_said_to_the_driver(tmp_path: Path) -> None:
    library = tmp_path / "libcuda.so.1"
    name = ["-Wl,-soname,libcuda.so.1", "-o", str(library)]
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Werror", *name, str(HERE / "driver.c")], check=True)
    command = [sys.executable, str(HERE / "scenarios.py"), str(library)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
