"""Products of a sparse matrix, given by its rows, and a dense one or a vector, as JAX calls them.

Which elements a row has, and in which columns, are inputs, drawn in ascending order and in any: so rows are empty,
columns come again and in no order, and elements stand before the first row and behind the last one.
"""

from __future__ import annotations

from compiler.generate import regimes
from compiler.generate.around import read
from compiler.generate.choices import chance
from compiler.generate.regimes import sizes
from compiler.generate.scope import Scope
from compiler.ir import csr
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32, ElementType

_VECTOR_PERCENT = 40
"""How often the right side is a vector."""


def multiplied(scope: Scope, element_type: ElementType) -> Instruction:
    """A sparse matrix times a dense one, or a vector.

    Args:
        scope: where instructions are put, and the source of decisions.
        element_type: of both and of the product.
    """
    count, rows, columns, width = sizes(scope.choices, regimes.SPARSE)
    sides = () if chance(scope.choices, _VECTOR_PERCENT) else (width,)
    # Nobody checks where the elements are, so what says it is given and not computed.
    starts, positions = (scope.parameter(ArrayShape(S32, (size,))) for size in (rows + 1, count))
    return scope.build(
        "custom-call",
        [
            read(scope, element_type, (count,)),
            starts,
            positions,
            read(scope, element_type, (columns, *sides)),
        ],
        shape=ArrayShape(element_type, (rows, *sides)),
        custom_call_target=csr.TARGET,
        api_version="API_VERSION_TYPED_FFI",
    )
