"""Changes to programs that need not keep their meaning: what reducing a failure is done with.

Every function takes a module, leaves it as it is, and returns another.  Instructions are named by an `InstructionId`,
so that a list of ids made on one module can be applied to its successors: what is no longer there is passed over.  The
result of an edit may be invalid; whoever asked verifies it.  Entry parameters come and go with an edit, so an `Edited`
says where the value of each comes from.
"""

from compiler.edit.attributes import (
    canonical_text,
    plain,
    simplify_attributes,
    with_another,
    with_attribute,
    with_more,
    with_one_more,
    with_operation,
)
from compiler.edit.bodies import drop_arguments, expand, lay_open, share, sum_up, unused_arguments
from compiler.edit.dataflow import (
    isolate,
    keep_results,
    substitute,
    to_constants,
    to_parameters,
)
from compiler.edit.draft import Edited, InstructionId, id_of
from compiler.edit.loops import drop_state, go_on, write_out
from compiler.edit.names import named_for_xla
from compiler.edit.routines import routines_for_xla
from compiler.edit.shapes import resize, retype
from compiler.edit.together import together
from compiler.edit.twin import integer_twin
from compiler.ir.csr import is_product as is_sparse_product
from compiler.ir.graph import reachable
from compiler.ir.meanings import is_called as calls_functions
from compiler.ir.opdef import zeros
from compiler.ir.shape import ArrayShape, leaves, leaves_at
from compiler.ir.source_lines import source_of, sources_of
from compiler.ops.custom_call import options_of, routine_of
from compiler.text.separate import parse_separated, separate_constants

__all__ = [
    "ArrayShape",
    "Edited",
    "InstructionId",
    "calls_functions",
    "canonical_text",
    "drop_arguments",
    "drop_state",
    "expand",
    "go_on",
    "id_of",
    "integer_twin",
    "is_sparse_product",
    "isolate",
    "keep_results",
    "lay_open",
    "leaves",
    "leaves_at",
    "named_for_xla",
    "options_of",
    "parse_separated",
    "plain",
    "reachable",
    "resize",
    "retype",
    "routine_of",
    "routines_for_xla",
    "separate_constants",
    "share",
    "simplify_attributes",
    "source_of",
    "sources_of",
    "substitute",
    "sum_up",
    "to_constants",
    "to_parameters",
    "together",
    "unused_arguments",
    "with_another",
    "with_attribute",
    "with_more",
    "with_one_more",
    "with_operation",
    "write_out",
    "zeros",
]
