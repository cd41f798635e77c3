"""How long it takes: interleaved samples, intervals, and the limits of the machine."""
