"""HLO text: read it and write it."""
