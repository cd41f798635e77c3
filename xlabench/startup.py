"""Where Python finds packages: nothing that lies in a working directory may pass for one of ours, or be run for one.

`python -m` and `python -c` look into the working directory first, and a folder of experiments may well hold a
`compiler.py` or a `json.py`.  So processes that we start look only where this one found its packages, `python -m
xlabench` forgets the working directory before it loads anything, and what still hides a package of ours, as a folder
of PYTHONPATH may, is an error that names it instead of being run.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from xlabench.errors import BenchError

ROOT = Path(__file__).resolve().parents[1]
"""The folder in which our packages lie side by side."""

CUSTOM_CALLS = "XLABENCH_CUSTOM_CALLS"
"""The environment variable with what custom calls mean, in lines `NAME=module:function` (`xlabench.custom_calls`)."""

_BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What tells the libraries by which NumPy multiplies matrices how many threads they may use."""

PACKAGES = ("compiler", "reports", "suites")
"""Our packages besides this one."""


def require_own(names: Sequence[str] = PACKAGES) -> None:
    """Refuse to go on where something else would be loaded under the name of a package of ours; loads nothing.

    Raises:
        BenchError: it says which file hides which package.
    """
    for name in names:
        ours = ROOT / name / "__init__.py"
        found = find_spec(name)
        location = found.origin if found is not None else None
        if location is None:
            raise BenchError(f"the package {name!r} of xlabench is not in {str(ROOT)!r}; install xlabench again")
        if Path(location).resolve() != ours:
            raise BenchError(
                f"{location} hides the package {name!r} of xlabench, which is {str(ours.parent)!r}; "
                f"rename it, or take its folder off PYTHONPATH and sys.path"
            )


def search_path() -> list[str]:
    """Where this process finds packages, for another one: our own folder in the place of the working directory."""
    return list(dict.fromkeys(str(Path(location or ROOT).absolute()) for location in sys.path))


def python() -> list[str]:
    """The start of a command that runs Python, with neither the working directory nor a script's among the places."""
    return [sys.executable, "-I" if sys.flags.isolated else "-P"]


def without_helpers(environment: Mapping[str, str]) -> dict[str, str]:
    """An `environment` for a process beside others like it: NumPy multiplies in one thread, unless it says otherwise.

    Threads that wait for each other's share of a small product spin: where every core has a worker of its own, products
    of complex matrices of 300 rows took forty times the CPU time, a quarter of what campaigns spent on kernels.
    """
    return {**dict.fromkeys(_BLAS, "1"), **environment}
