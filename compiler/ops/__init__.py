"""One record per opcode, by family, and the table of them all."""
