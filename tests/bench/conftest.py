"""Prints the table of the suite `corpus` below the benchmarks: microseconds of ours, XLA and NumPy."""

import pytest

_ROWS = pytest.StashKey[dict]()


@pytest.fixture
def speed_rows(request):
    """What was measured of each program, for the table."""
    return request.config.stash.setdefault(_ROWS, {})


def pytest_terminal_summary(terminalreporter, config):
    """The table, slowest beside XLA first, in Markdown."""
    rows = config.stash.get(_ROWS, {})
    if not rows:
        return
    terminalreporter.write_line("")
    terminalreporter.write_line("| program | ours us | unfused us | XLA us | NumPy us | XLA / ours | of the limit |")
    terminalreporter.write_line("|---|---|---|---|---|---|---|")
    for name, row in sorted(rows.items(), key=lambda item: item[1].xla / item[1].ours if item[1].xla else 0):
        times = " | ".join(_microseconds(seconds) for seconds in (row.ours, row.unfused, row.xla, row.numpy))
        ratio = f"{row.xla / row.ours:.2f}" if row.xla else ""
        terminalreporter.write_line(f"| `{name}` | {times} | {ratio} | {row.share:.0%} |")


def _microseconds(seconds):
    return "" if seconds is None else f"{seconds * 1e6:,.{0 if seconds >= 1e-4 else 1}f}"
