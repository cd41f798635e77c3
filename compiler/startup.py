"""What comes before all else where `python -m compiler` begins; loaded first by the front door.

Python looks for packages in the working directory first then, where a `numpy.py` or a `json.py` may lie: that place is
forgotten before anything else is loaded, unless it is where we are.  While NumPy and LLVM are being loaded Ctrl-C ends
the process without a word; then the command line takes over.  Nothing happens where somebody else imports the compiler.
"""

import sys
from os.path import realpath

# While Python loads the package that it is to run, it has not yet put a name in the place of -m.
_NAMES = ("compiler", "-mcompiler", "compiler.__main__")
_IS_COMMAND = sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)] in _NAMES

if _IS_COMMAND:
    if not sys.flags.safe_path and realpath(f"{sys.path[0]}/compiler/startup.py") != realpath(__file__):
        del sys.path[0]
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
