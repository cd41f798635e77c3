"""Small changes to syntax that the rules are made of: a node that stands in a program, and what is to stand there."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple


class Edit(NamedTuple):
    """In the place of a node of a tree, an expression or a statement, another one."""

    old: ast.AST
    new: ast.AST


Edits = Callable[[ast.AST], Iterator[Edit]]
"""What a rule does: the edits that it finds at a node, of which each is a mutant by itself."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of slip: its name, what it does in a few words, and the edits at a node."""

    name: str
    what: str
    edits: Edits


def number(value: int) -> ast.expr:
    """An integer as an expression: a negative one is an operation."""
    written: ast.expr = ast.Constant(abs(value))
    return ast.UnaryOp(ast.USub(), written) if value < 0 else written


def value_of(node: ast.AST) -> object:
    """The number, text or truth that is written at a node, None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        held = node.operand.value
        return -held if isinstance(held, int | float) and not isinstance(held, bool) else None
    return None


def is_integer(node: ast.AST) -> bool:
    """Whether an integer is written there."""
    value = value_of(node)
    return isinstance(value, int) and not isinstance(value, bool)


def called(node: ast.AST) -> str:
    """The name that a call calls, without what it is a part of; "" of anything else."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def with_name(call: ast.Call, name: str) -> ast.Call:
    """The same call of something of another name."""
    changed = deepcopy(call)
    if isinstance(changed.func, ast.Attribute):
        changed.func.attr = name
    elif isinstance(changed.func, ast.Name):
        changed.func.id = name
    return changed


def plus(node: ast.expr, step: int) -> ast.expr:
    """An expression and a small integer more or less."""
    if is_integer(node):
        return number(int(str(value_of(node))) + step)
    operator = ast.Add() if step > 0 else ast.Sub()
    return ast.BinOp(deepcopy(node), operator, ast.Constant(abs(step)))


def negated(node: ast.expr) -> ast.expr:
    """The opposite of a condition."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return deepcopy(node.operand)
    return ast.UnaryOp(ast.Not(), deepcopy(node))


def conditions(node: ast.AST) -> Iterator[ast.expr]:
    """What decides at a node: of a branch, a loop, a choice or a comprehension."""
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield node.test
    if isinstance(node, ast.comprehension):
        yield from node.ifs


def without(items: Iterable[ast.expr], left_out: int) -> list[ast.expr]:
    """All but one, copied."""
    return [deepcopy(item) for number, item in enumerate(items) if number != left_out]


def exchanged(items: list[ast.expr], first: int, second: int) -> list[ast.expr]:
    """The same with two in each other's place, copied."""
    changed = deepcopy(items)
    changed[first], changed[second] = changed[second], changed[first]
    return changed


def pairs_alike(items: list[ast.expr]) -> Iterator[tuple[int, int]]:
    """The places of two neighbours of the same kind of syntax, such as two names, that say different things."""
    for first, (one, other) in enumerate(pairwise(items)):
        if type(one) is type(other) and not isinstance(one, ast.Starred) and ast.dump(one) != ast.dump(other):
            yield first, first + 1
