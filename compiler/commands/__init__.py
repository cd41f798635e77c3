"""What `python -m compiler` can do: a file for each subcommand, which offers `command`, and what they share.

None knows its siblings; `compiler.__main__` puts them together, `ending` says how they end.
"""
