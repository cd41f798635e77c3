"""Modules that programs take from `tensorflow.python`."""
