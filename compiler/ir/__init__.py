"""A program as data: types, shapes, literals, attributes, instructions, computations, modules.

Nothing here knows what an opcode means (that is `compiler.ops`) or how it is spelled (`compiler.text`).
"""
