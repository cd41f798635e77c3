"""Products: `kernel` has the strategies, `tile` the streaming of slices, `matrix_product` what is multiplied."""
