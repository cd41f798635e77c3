"""`python -m xlabench` is the command `xlabench`."""

from xlabench.cli import main

main()
