"""`python -m xlabench` is the command `xlabench`, wherever it is called.

Python looks for packages in the working directory first then, where a `click.py` or a `json.py` may lie: that place is
forgotten before anything is loaded, unless it is where we are.  Until the command line can say anything, Ctrl-C ends
the process without a word.
"""

import sys
from importlib import import_module
from os.path import realpath


def main() -> None:
    """The entry point of the command `xlabench`; ends the process."""
    signal = import_module("signal")
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    command_line = import_module("xlabench.cli")
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command_line.main()


if __name__ == "__main__":
    if not sys.flags.safe_path and realpath(f"{sys.path[0]}/xlabench/__main__.py") != realpath(__file__):
        del sys.path[0]
    main()
