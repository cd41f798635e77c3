"""Gradients, and steps down them."""
