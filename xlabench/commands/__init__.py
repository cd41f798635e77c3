"""One file per subcommand; each offers `command`."""
