"""Why a node cannot be in a cluster, or what else speaks against it.

An op needs a lowering for its types; what calls functions needs one for all that these hold, down to a depth.  On
devices that have kernels too, ops are left out that a lowering makes slower or less exact, or another thing than the
kernel is: random numbers of a state, checks that a compiled program drops, variables inside of functions, whose order
nobody analyses there.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.diagnostics import did_you_mean
from compiler.graph import Node
from compiler.jit.compiled_ops import problem_of
from compiler.jit.devices import Registration
from compiler.tf2xla import RECORDS
from compiler.tf2xla.node_types import (
    RESOURCE,
    VARIANT,
    Library,
    Types,
    attribute_problem,
    called_functions,
    has_resource,
    input_types,
    is_reference,
    output_types,
)
from compiler.tf2xla.random_numbers import KEEP_GENERATORS

DEEPEST = 10
"""Functions that are looked at inside of each other."""

DUMMY = frozenset(("Assert", "CheckNumerics"))
"""Ops that a compiled program does nothing for."""
STORES = ("TensorArray", "Stack")
"""How ops on TensorArrays and stacks begin, which TensorFlow clusters only where there are no kernels."""
INACCURATE = frozenset(("SelfAdjointEigV2", "Svd"))
SLOW = INACCURATE | {"Qr", "MatrixInverse", "MatrixSolve", "ResizeBilinearGrad"}


class Compilability:
    """What clusters on a kind of device may hold."""

    def __init__(self, library: Library, registration: Registration) -> None:
        """Look into functions of a library."""
        self._library = library
        self._allows_everything = registration.allows_everything
        self._functions: dict[str, str] = {}

    def objection(self, node: Node) -> str:
        """Why a node of a graph cannot be in a cluster; empty if it can."""
        if node.op in ("_Arg", "_Retval"):
            return "it is a feed or a fetch"
        return self._of(node, ())

    def _of(self, node: Node, inside: tuple[str, ...]) -> str:
        if "_scoped_allocator" in node.attributes or "_forward_from" in node.attributes:
            return "it shares memory with another node, which clusters do not"
        said = problem_of(node)
        if said:
            return said
        if node.op not in RECORDS and node.op not in self._library:
            return f"op {node.op} has no lowering" + did_you_mean(node.op, RECORDS)
        called = called_functions(node, self._library)
        for name in called:
            said = self._function(name, (*inside, name))
            if said:
                return said
        return self._types(node, called) or self._choice(node, inside)

    def _function(self, name: str, inside: tuple[str, ...]) -> str:
        """Why a function cannot be compiled."""
        called = self._library.get(name)
        if called is None:
            return f"the library has no function {name!r}" + did_you_mean(name, self._library)
        if len(inside) > DEEPEST:
            return f"functions stand more than {DEEPEST} deep in each other"
        if name not in self._functions:
            found = ((node.name, self._of(node, inside)) for node in called.nodes)
            first = next(((node, said) for node, said in found if said), None)
            said = f"function {name!r}, node {first[0]!r}: {first[1]}" if first else ""
            if said and "deep in each other" in said:
                return said  # from elsewhere it may not be as deep
            self._functions[name] = said
        return self._functions[name]

    def _types(self, node: Node, called: list[str]) -> str:
        taken = input_types(node, self._library)
        if len(taken) != len(node.data_inputs):
            return f"it has {len(node.data_inputs)} inputs, and its op takes {len(taken)}"
        both = (*taken, *(output_types(node, self._library) or ()))
        if any(map(is_reference, both)):
            return "it takes or gives a reference to a variable"
        for data_type in both:
            if data_type is None or data_type.element_type is not None or data_type in (RESOURCE, VARIANT):
                continue
            return f"HLO has no type for {data_type}"
        return "" if called else attribute_problem(node)

    def _choice(self, node: Node, inside: tuple[str, ...]) -> str:
        """Why it would be better not to cluster what could be."""
        if self._allows_everything:
            return ""
        taken = input_types(node, self._library)
        both: Types = (*taken, *(output_types(node, self._library) or ()))
        for applies, said in _CHOICES:
            if applies(node, taken, both, bool(inside)):
                return said
        return ""


_Applies = Callable[[Node, Types, Types, bool], bool]
_CHOICES: tuple[tuple[_Applies, str], ...] = (
    (lambda node, _taken, _both, _inside: node.op in KEEP_GENERATORS, "its random numbers would be others"),
    (lambda node, _taken, _both, _inside: node.op == "ControlTrigger", "what it triggers would run when it is dead"),
    (lambda node, _taken, _both, _inside: node.op in DUMMY, "a compiled program would not check anything"),
    (lambda _node, _taken, both, _inside: VARIANT in both, "it gives or takes variants"),
    (lambda _node, taken, _both, inside: inside and has_resource(taken), "it uses variables inside of a function"),
    (lambda node, _taken, _both, _inside: node.op.startswith(STORES), "what it keeps in lasts for a run"),
    (lambda node, _taken, _both, _inside: node.op in INACCURATE, "compiled it would be less exact"),
    (lambda node, _taken, _both, _inside: node.op in SLOW, "compiled it would be slow"),
)
