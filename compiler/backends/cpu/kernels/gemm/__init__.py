"""Matrix products, from a description to code: what dots and convolutions end in.

`product` is how a product is described, `plan` what is decided about it, `kernel` the loops, `nest` and `micro` the
blocks and the register tile within them; `pack`, `words`, `amx` are how factors are laid out for the CPU at hand,
`dot`, `stream` and `split` the forms for few rows, factors that are read once, and little to share.
"""
