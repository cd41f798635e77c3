"""What threads do together in kernels of several kinds: reductions by a `tree`, rows in the registers of a `team`."""
