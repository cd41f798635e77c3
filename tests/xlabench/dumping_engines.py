"""Engines that leave the module after each pass in files, as XLA does, one of the passes being wrong."""

from pathlib import Path

import compiler

NAME = "module_0007.jit_f.g.2"
RIGHT = "HloModule m\nENTRY e { x = s32[3] parameter(0) ROOT y = s32[3] add(x, x) }"
FOREIGN = 'HloModule m\nENTRY e { x = s32[3] parameter(0) ROOT y = s32[3] custom-call(x), custom_call_target="far" }'
WRONG = "HloModule m\nENTRY e { x = s32[3] parameter(0) ROOT y = s32[3] multiply(x, x) }"
FILES = {
    "before_optimizations.txt": RIGHT,
    "0000.first.after_pipeline-start.before_simplify-sorts.txt": RIGHT,
    "0001.first.after_library-rewriter.before_pipeline-end.txt": FOREIGN,
    "0002.copy-insertion.after_adding_copies.txt": WRONG,
    "0003.last.after_algsimp.before_dce.txt": WRONG,
    "cpu_after_optimizations.txt": WRONG,
    "fusion_kernel_module.ir-no-opt.ll": "",
}


class Dumping:
    def __init__(self, spec):
        self.spec = spec

    def compile(self, text):
        return lambda *inputs: compiler.interpret(compiler.parse(WRONG), *inputs)

    def dump_passes(self, text, folder):
        for name, content in FILES.items():
            (Path(folder) / f"{NAME}.{name}").write_text(content if self.spec in ("wrong", "cpu:opt=0") else RIGHT)
        (Path(folder) / "module_0001.other.0000.p.after_q.txt").write_text(RIGHT)
        if self.spec == "dies-late":
            raise RuntimeError("cannot go on")


def engine(spec):
    return Dumping(spec)
