"""Kernels that write vectors themselves walk with these: `lanes` along a loop, `accumulators`, `nontemporal` stores."""
