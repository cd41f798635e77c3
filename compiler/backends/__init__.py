"""Back ends: from an optimised module to something that runs."""
