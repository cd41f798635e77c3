"""Random graphs of TensorFlow's: drawn from the records of ops, run op by op, in clusters and whole."""
