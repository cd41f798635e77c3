"""Mutated bytes of real modules, guided by coverage: reading, verifying and printing raise CompilerError or nothing.

`tox -e atheris` runs it, for a minute unless told otherwise in seconds.  Atheris finds its way by the branches that an
input takes, which random mutation in the other tests does not.  Where it has no wheel, this says so and ends well.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = "60"
LONGEST = 4096


def seeds(folder: Path) -> None:
    """The programs of suites and file tests, cut to what is mutated in one go."""
    programs = sorted(path for top in ("suites", "tests/filetests") for path in (ROOT / top).rglob("*.hlo"))
    for number, path in enumerate(programs):
        (folder / f"{number}.hlo").write_bytes(path.read_bytes()[:LONGEST])


def main(seconds: str) -> None:
    """Fuzz for so long; ends with libFuzzer's exit code."""
    if importlib.util.find_spec("atheris") is None:
        sys.stderr.write("atheris has no wheel for this Python or machine: nothing was fuzzed\n")
        return
    import atheris  # noqa: PLC0415  # it may not be there

    with atheris.instrument_imports(include=["compiler.text", "compiler.verifier", "compiler.ir"]):
        import compiler  # noqa: PLC0415  # what is imported here is watched
        from compiler.verifier import findings  # noqa: PLC0415

    def read(data: bytes) -> None:
        try:
            module = compiler.parse(data.decode("utf-8", "replace"))
            if not findings(module):
                assert compiler.parse(compiler.to_text(module)) == module
        except compiler.CompilerError:
            return

    with tempfile.TemporaryDirectory() as folder:
        seeds(Path(folder))
        limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=4096"]
        atheris.Setup([sys.argv[0], *limits, folder], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else SECONDS)
