"""Programs to run: suites of HLO modules, and models that make them."""
