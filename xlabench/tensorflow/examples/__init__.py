"""Data that programs take from `tensorflow.examples`."""
