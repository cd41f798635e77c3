"""HLO to HLO rewrites, one pass per file."""
