"""LLVM emission that both back ends share."""
