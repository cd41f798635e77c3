"""Modules of `tensorflow.python.client`."""
