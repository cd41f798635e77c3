"""Programs made up from choices: valid by construction, from the same op records that everything else is driven by.

`choices` is where decisions come from, `scope` the program under construction; a *recipe* adds one instruction of an
opcode to it, and the recipes stand in families as the op records do.  `table` holds them all and `program`.
"""

from compiler.generate import exhaustive
from compiler.generate.choices import Choices, RandomChoices
from compiler.generate.fragments import is_fragment
from compiler.generate.scope import Space
from compiler.generate.table import FAMILIES, PAIRS, RECIPES, program

__all__ = ["FAMILIES", "PAIRS", "RECIPES", "Choices", "RandomChoices", "Space", "exhaustive", "is_fragment", "program"]
