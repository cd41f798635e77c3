"""Elements, each on its own: `kernel` has the strategies, `crossed` transposing tiles; `iteration` loops; `update`."""
