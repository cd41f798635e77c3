"""Modules to be drawn: those of the smoke suite, before passes and after, and one with strange names."""

from pathlib import Path

import compiler
from compiler.pipeline import PIPELINES, run

SUITES = Path(compiler.__file__).parents[1] / "suites"
PROGRAMS = sorted((SUITES / "smoke").glob("*.sim.hlo"))
STRANGE = r"""HloModule m

%f { p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }
cond { s = (f32[2], s32[]) parameter(0)  ROOT c = pred[] constant(false) }
body { ROOT s = (f32[2], s32[]) parameter(0) }

ENTRY e {
  x = f32[2] parameter(0), metadata={op_name="a \"b\" \\ <c> & \n d"}
  a = f32[2] fusion(x), kind=kLoop, calls=f
  b = f32[2] fusion(a), kind=kLoop, calls=f
  z = s32[] constant(0)
  t = (f32[2], s32[]) tuple(b, z)
  ROOT w = (f32[2], s32[]) while(t), condition=cond, body=body
}
"""


def _modules():
    for path in PROGRAMS:
        module = compiler.parse(path.read_text())
        yield path.name, module
        fused = module.clone()
        run(fused, PIPELINES["optimize"], compiler.CompileOptions())
        yield f"{path.name} fused", fused
    yield "strange", compiler.parse(STRANGE)


MODULES = dict(_modules())
