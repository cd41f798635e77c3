"""Convolutions: `choice` among the `plan`s, `phases` of dilated inputs, the packed `memory`, the register `tile`."""
