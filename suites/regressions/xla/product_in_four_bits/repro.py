"""Run this bundle again: exit status 0 if the bug is gone, 1 if it shows, 125 if it cannot be decided here.

    python -m pip install xlabench && python repro.py
"""

import sys
from pathlib import Path

try:
    from xlabench.cli import main
except ModuleNotFoundError as error:
    print(f"{error}; install it: python -m pip install xlabench", file=sys.stderr)
    sys.exit(125)

main(["replay", *sys.argv[1:], str(Path(__file__).resolve().parent)])
