"""What kernels that write vectors themselves walk with: `lanes` along a loop, `accumulators`, `nontemporal` stores."""
