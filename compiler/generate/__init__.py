"""Programs made up from choices: valid by construction, from the same op records that everything else is driven by.

`choices` is where decisions come from, `scope` the program under construction; a *recipe* adds one instruction of an
opcode to it, and the recipes stand in families as the op records do.  `table` holds them all and `program`;
`fragments` plants pieces of other programs, `exhaustive` has all small programs in a fixed order, `samples` any of
them, `kernels` what is computed in other ways where it is large.  `determined` knows which programs have results that
are no engine's own choice.  What programs reach when they are compiled is known to whoever is `watching`.
"""

from compiler.generate.callers import MEANINGS
from compiler.generate.choices import Choices, RandomChoices
from compiler.generate.determined import is_determined
from compiler.generate.exhaustive import COMMON, Packing, Small, small_programs, space_of
from compiler.generate.flow import FLOW
from compiler.generate.fragments import is_fragment
from compiler.generate.ordering import order
from compiler.generate.samples import around_kernels, sample
from compiler.generate.scope import Space
from compiler.generate.table import FAMILIES, PAIRS, RECIPES, program
from compiler.ir.decisions import Decisions, watching

__all__ = [
    "COMMON",
    "FAMILIES",
    "FLOW",
    "MEANINGS",
    "PAIRS",
    "RECIPES",
    "Choices",
    "Decisions",
    "Packing",
    "RandomChoices",
    "Small",
    "Space",
    "around_kernels",
    "is_determined",
    "is_fragment",
    "order",
    "program",
    "sample",
    "small_programs",
    "space_of",
    "watching",
]
