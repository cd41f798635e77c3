"""Models that make their own HLO, and the data they learn from."""
