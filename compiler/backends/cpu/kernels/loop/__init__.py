"""Elements, each on its own: `kernel` has the strategies, `given` what they look at, `plain` most of their loops."""
