"""The rules by which mutants are made: a table of kinds of slips, each a function from a node to edits.

None of them knows any pass or kernel, so that no generator can be tuned to what they plant.  Those about emitted code
know names of LLVM's and HLO's for predicates and operations, since half of what a compiler decides stands in them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy

from recall.edits import (
    Edit,
    Rule,
    called,
    conditions,
    exchanged,
    is_integer,
    negated,
    number,
    pairs_alike,
    plus,
    value_of,
    with_name,
    without,
)


def both_ways(*pairs: tuple[str, str]) -> Mapping[str, str]:
    """Each of two names for the other."""
    return {one: other for pair in pairs for one, other in (pair, pair[::-1])}


_ORDERED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip
_EQUAL: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.Mod: ast.FloorDiv, ast.FloorDiv: ast.Mod,
}  # fmt: skip
_ONE_SIDED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
_NOT_NUMBERS = (ast.List, ast.Tuple, ast.Dict, ast.JoinedStr, ast.ListComp)
_EXTREMES = both_ways(
    ("min", "max"), ("minimum", "maximum"), ("umin", "umax"), ("smin", "smax"), ("fmin", "fmax"), ("floor", "ceil")
)
_ANY_ALL = both_ways(("any", "all"))
_SYMMETRIC = frozenset({"min", "max", "minimum", "maximum", "isinstance", "getattr", "hasattr", "zip", "gcd", "lcm"})
_UNWRAPPED: Mapping[str, str] = {"sorted": "list", "reversed": "list", "set": "list"}
_BARRIER = re.compile(r"barrier|sync|fence|wait|join|flush|commit")
_KEYED = frozenset({"get", "setdefault", "pop", "add"})
_PREDICATES = both_ways(
    ("slt", "sle"), ("sgt", "sge"), ("ult", "ule"), ("ugt", "uge"), ("eq", "ne"),
    ("olt", "ole"), ("ogt", "oge"), ("oeq", "une"), ("uno", "ord"), ("LT", "LE"), ("GT", "GE"), ("EQ", "NE"),
)  # fmt: skip
_OPERATIONS = both_ways(
    ("add", "sub"), ("fadd", "fsub"), ("zext", "sext"), ("sdiv", "udiv"), ("srem", "urem"), ("and", "or"),
    ("lshr", "ashr"), ("sitofp", "uitofp"), ("fptosi", "fptoui"), ("fmul", "fdiv"), ("multiply", "divide"),
    ("maximum", "minimum"), ("shift-right-logical", "shift-right-arithmetic"), ("floor", "ceil"),
)  # fmt: skip


def negate_condition(node: ast.AST) -> Iterator[Edit]:
    """If for if not."""
    yield from (Edit(condition, negated(condition)) for condition in conditions(node))


def drop_condition(node: ast.AST) -> Iterator[Edit]:
    """A condition that always or never holds; no loop that never ends."""
    for condition in conditions(node):
        yield Edit(condition, ast.Constant(value=False))
        if not isinstance(node, ast.While):
            yield Edit(condition, ast.Constant(value=True))


def drop_part(node: ast.AST) -> Iterator[Edit]:
    """A conjunction or a disjunction without one of its parts."""
    if isinstance(node, ast.BoolOp):
        for left_out in range(len(node.values)):
            rest = without(node.values, left_out)
            yield Edit(node, rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))


def and_or(node: ast.AST) -> Iterator[Edit]:
    """And for or."""
    if isinstance(node, ast.BoolOp):
        yield Edit(node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), deepcopy(node.values)))


def _compared(node: ast.AST, others: Mapping[type[ast.cmpop], type[ast.cmpop]]) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if other := others.get(type(operator)):
                changed = deepcopy(node)
                changed.ops[place] = other()
                yield Edit(node, changed)


def boundary(node: ast.AST) -> Iterator[Edit]:
    """Less for less or equal."""
    yield from _compared(node, _ORDERED)


def equality(node: ast.AST) -> Iterator[Edit]:
    """Equal for not equal, in for not in."""
    yield from _compared(node, _EQUAL)


def first_last(node: ast.AST) -> Iterator[Edit]:
    """The last of a sequence for the first."""
    if isinstance(node, ast.Subscript) and is_integer(node.slice) and value_of(node.slice) in (0, -1):
        yield Edit(node.slice, number(-1 if value_of(node.slice) == 0 else 0))


def off_by_one(node: ast.AST) -> Iterator[Edit]:
    """One more or less where an integer is written."""
    if isinstance(node, ast.Constant) and is_integer(node):
        yield Edit(node, plus(node, 1))
        yield Edit(node, plus(node, -1))


def range_end(node: ast.AST) -> Iterator[Edit]:
    """A range that begins one later, or ends one earlier or later."""
    if (
        called(node) == "range"
        and isinstance(node, ast.Call)
        and not any(isinstance(a, ast.Starred) for a in node.args)
    ):
        if len(node.args) > 1:
            yield Edit(node.args[0], plus(node.args[0], 1))
        end = node.args[min(1, len(node.args) - 1)]
        yield Edit(end, plus(end, -1))
        yield Edit(end, plus(end, 1))


def slice_end(node: ast.AST) -> Iterator[Edit]:
    """A part of a sequence that begins one later or ends one earlier."""
    if isinstance(node, ast.Slice):
        if node.lower is not None:
            yield Edit(node.lower, plus(node.lower, 1))
        if node.upper is not None:
            yield Edit(node.upper, plus(node.upper, -1))


def wrong_constant(node: ast.AST) -> Iterator[Edit]:
    """Another truth or number: no for yes, none for several, an eighth more."""
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            yield Edit(node, ast.Constant(not value))
        elif isinstance(value, int):
            yield Edit(node, ast.Constant(0 if value else 2))
        elif isinstance(value, float):
            yield Edit(node, ast.Constant(value * 1.125 if value else 1.0))


def operator(node: ast.AST) -> Iterator[Edit]:
    """Minus for plus, and the like."""
    if isinstance(node, ast.BinOp) and (other := _OPERATORS.get(type(node.op))):
        sides = node.left, node.right
        if not any(isinstance(s, _NOT_NUMBERS) or isinstance(value_of(s), str) for s in sides):
            yield Edit(node, ast.BinOp(deepcopy(node.left), other(), deepcopy(node.right)))


def sign(node: ast.AST) -> Iterator[Edit]:
    """What is negated or inverted, as it is."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield Edit(node, deepcopy(node.operand))


def extreme(node: ast.AST) -> Iterator[Edit]:
    """The largest for the smallest."""
    if isinstance(node, ast.Call) and (other := _EXTREMES.get(called(node))):
        yield Edit(node, with_name(node, other))


def any_all(node: ast.AST) -> Iterator[Edit]:
    """Any for all."""
    if isinstance(node, ast.Call) and (other := _ANY_ALL.get(called(node))):
        yield Edit(node, with_name(node, other))


def swap_operands(node: ast.AST) -> Iterator[Edit]:
    """The sides of an operation that is not commutative."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ONE_SIDED) and not isinstance(value_of(node.left), str):
        yield Edit(node, ast.BinOp(deepcopy(node.right), node.op, deepcopy(node.left)))


def swap_arguments(node: ast.AST) -> Iterator[Edit]:
    """Two arguments of a call that are the same kind of expression and stand side by side."""
    if isinstance(node, ast.Call) and called(node) not in _SYMMETRIC:
        for first, second in pairs_alike(node.args):
            changed = deepcopy(node)
            changed.args = exchanged(node.args, first, second)
            yield Edit(node, changed)


def swap_elements(node: ast.AST) -> Iterator[Edit]:
    """Two neighbours of a list or tuple that is written, such as the operands of an instruction."""
    if isinstance(node, ast.List | ast.Tuple) and isinstance(node.ctx, ast.Load):
        for first, second in pairs_alike(node.elts):
            yield Edit(node, type(node)(exchanged(node.elts, first, second), ast.Load()))


def inverse_permutation(node: ast.AST) -> Iterator[Edit]:
    """A permutation for its inverse, or two that are composed the other way around."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        if called(node) == "argsort" or called(node).lstrip("_").startswith("inver"):
            yield Edit(node, deepcopy(node.args[0]))
        if called(node) == "index" and isinstance(node.func, ast.Attribute):
            yield Edit(node, ast.Subscript(deepcopy(node.func.value), deepcopy(node.args[0]), ast.Load()))
    if isinstance(node, ast.GeneratorExp | ast.ListComp) and len(node.generators) == 1:
        (part,) = node.generators
        got = node.elt
        is_composed = isinstance(got, ast.Subscript) and ast.unparse(got.slice) == ast.unparse(part.target)
        if is_composed and isinstance(got, ast.Subscript) and isinstance(part.iter, ast.Name | ast.Attribute):
            changed = deepcopy(node)
            changed.generators[0].iter = deepcopy(got.value)
            changed.elt = ast.Subscript(deepcopy(part.iter), deepcopy(got.slice), ast.Load())
            yield Edit(node, changed)


def unwrapped(node: ast.AST) -> Iterator[Edit]:
    """Not sorted, not turned around, not made unique, not made positive."""
    if isinstance(node, ast.Call) and node.args and (plain := _UNWRAPPED.get(called(node))):
        yield Edit(node, ast.Call(ast.Name(plain, ast.Load()), [deepcopy(node.args[0])], []))
    if isinstance(node, ast.Call) and called(node) == "abs" and len(node.args) == 1:
        yield Edit(node, deepcopy(node.args[0]))


def dropped_from_key(node: ast.AST) -> Iterator[Edit]:
    """What is looked up by several things, or told apart by them, by one fewer."""
    for key in _keys(node):
        if len(key.elts) > 1:
            yield from (Edit(key, ast.Tuple(without(key.elts, k), ast.Load())) for k in range(len(key.elts)))


def _keys(node: ast.AST) -> Iterator[ast.Tuple]:
    """Tuples that are written as keys at a node."""
    found: list[ast.AST | None] = []
    if isinstance(node, ast.Call) and called(node) in _KEYED:
        found += node.args[:1]
    elif isinstance(node, ast.Assign) and any("key" in name.id for name in node.targets if isinstance(name, ast.Name)):
        found.append(node.value)
    elif isinstance(node, ast.FunctionDef) and "key" in node.name:
        found += [part.value for part in ast.walk(node) if isinstance(part, ast.Return)]
    yield from (key for key in found if isinstance(key, ast.Tuple))


def skip_call(node: ast.AST) -> Iterator[Edit]:
    """A call that is a statement is not made; barriers are another rule's."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not _BARRIER.search(called(node.value)):
        yield Edit(node, ast.Pass())


def missing_barrier(node: ast.AST) -> Iterator[Edit]:
    """Nobody waits, in what runs or in the code that is emitted."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _BARRIER.search(called(node.value)):
        yield Edit(node, ast.Pass())


def skip_update(node: ast.AST) -> Iterator[Edit]:
    """A variable or an element keeps its value."""
    is_element = isinstance(node, ast.Assign) and all(isinstance(target, ast.Subscript) for target in node.targets)
    if isinstance(node, ast.AugAssign) or is_element:
        yield Edit(node, ast.Pass())


def break_continue(node: ast.AST) -> Iterator[Edit]:
    """The next iteration for the end of the loop."""
    if isinstance(node, ast.Break | ast.Continue):
        yield Edit(node, ast.Continue() if isinstance(node, ast.Break) else ast.Break())


def emitted_predicate(node: ast.AST) -> Iterator[Edit]:
    """A comparison in emitted code that holds for equal numbers too, or the opposite one."""
    yield from _emitted(node, _PREDICATES)


def emitted_operation(node: ast.AST) -> Iterator[Edit]:
    """Another operation in emitted code, such as a sign extension for a zero extension."""
    yield from _emitted(node, _OPERATIONS)


def _emitted(node: ast.AST, others: Mapping[str, str]) -> Iterator[Edit]:
    """Names of that kind among what a call is given, each by itself."""
    if isinstance(node, ast.Call):
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            if isinstance(argument, ast.Constant) and (other := others.get(str(argument.value))):
                yield Edit(argument, ast.Constant(other))


RULES = tuple(
    Rule(function.__name__.replace("_", "-"), str(function.__doc__), function)
    for function in (
        negate_condition, drop_condition, drop_part, and_or, boundary, equality, first_last, range_end, slice_end,
        off_by_one, wrong_constant, operator, sign, extreme, any_all, swap_operands, swap_arguments, swap_elements,
        inverse_permutation, unwrapped, dropped_from_key, skip_call, missing_barrier, skip_update, break_continue,
        emitted_predicate, emitted_operation,
    )
)  # fmt: skip
"""All rules; where two of them make the same of a place, it is the first one's."""
