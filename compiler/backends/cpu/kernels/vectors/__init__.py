"""What kernels walk with that write vectors themselves: `lanes` along a loop, `chains` of accumulators, `streaming`."""
