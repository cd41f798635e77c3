"""Run this bundle again: exit status 0 if the bug is gone, 1 if it shows, 125 if it cannot be decided here.

In an environment that has xlabench, which a clone of it gives by `python -m pip install .`:

    python repro.py
"""

import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:] = [place for place in sys.path if os.path.realpath(place) != HERE]  # nothing here is a package

try:
    from xlabench.cli import main
except ModuleNotFoundError as error:
    print(f"{error}; install it, in a clone of xlabench: python -m pip install .", file=sys.stderr)
    sys.exit(125)

main(["replay", *sys.argv[1:], HERE])
