"""TensorFlow's graphs as programs of the harness: run op by op, in clusters, and whole, and cut into parts."""
