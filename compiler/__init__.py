"""An HLO compiler: text in, reference results, LLVM IR, native code and PTX out."""
