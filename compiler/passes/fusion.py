"""Fusion: instructions whose values need not go through memory become one kernel.

Walking from results to operands, every instruction either joins the group of the instructions that use it or becomes
the root of a group of its own (`compiler.analysis.joining` says which).  It joins when all its users are in one group;
ops that only move or compare data may be copied into several groups, because computing them twice gives the same bits.
Of those that round only sums with a spread array are, products with one that are only multiplied, and few in a row: all
of their copies are rounded by themselves, so alike (products and sums are rounded together where LLVM can).  Since a
group is entered only through its users, no cycle can arise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from compiler.analysis.effects import control_predecessors, has_effect, within_fusions
from compiler.analysis.groups import FusionGroup, FusionGroupKind, add_to, is_iota, kind_of, worth_a_fusion
from compiler.analysis.joining import may_copy, may_join, note_copies
from compiler.analysis.merging import merge
from compiler.analysis.sort_results import read_of
from compiler.ir.calls import reached
from compiler.ir.control import is_ordered
from compiler.ir.module import Computation, Instruction, Module, computed_from
from compiler.ir.outline import outline
from compiler.ir.rewrite import Fuel
from compiler.ops.build import build

INTO_USER, _SEVERAL = "fuse into user", "fuse with several results"
"""The rules, as rewrites and refusals name them."""


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    fused_bodies = within_fusions(module)
    applied = set(reached(c for i in module.instructions() for c in _applied(i)))
    for computation in list(module.computations):
        if computation in fused_bodies or computation in applied:
            continue
        changed |= _cut_sorts(module, computation, fuel)
        groups = []
        for group in _groups(computation, fuel):
            if worth_a_fusion(group):
                groups.append(group)
            else:
                for member in group.members - set(group.roots):
                    fuel.refuse(INTO_USER, member, f"{group.root.name}, which uses it, only views it")
        order = {instruction: number for number, instruction in enumerate(computation.instructions)}
        for group in groups:
            _outline(module, group, order)
        computation.sort()
        _remove_unused(
            computation, {i for group in groups for member in group.members for i in (member, *member.operands)}
        )
        changed |= bool(groups)
    module.sort_computations()
    return changed


def _applied(instruction: Instruction) -> Iterable[Computation]:
    """Computations that are applied to elements: within them, and what their control flow runs, is nothing to fuse."""
    return () if instruction.opcode in ("while", "conditional", "call") else instruction.called_computations()


def _cut_sorts(module: Module, computation: Computation, fuel: Fuel) -> bool:
    """Have sorts yield no more than what is read of them."""
    awaited, changed = control_predecessors(computation), False
    for sort in [i for i in computation.instructions if i.opcode == "sort"]:
        roots = read_of(sort)
        group = FusionGroup(roots, FusionGroupKind.LOOP, {sort, *roots, *(o for root in roots for o in root.operands)})
        group.members |= computed_from(operand for operand in sort.operands if is_iota(operand))
        tied = any(i in awaited or is_ordered(i) for i in group.members)
        if not roots or tied or not fuel.spend("fuse what is read", sort):
            continue
        _outline(module, group, {instruction: n for n, instruction in enumerate(computation.instructions)})
        computation.sort()
        _remove_unused(computation, group.members)
        changed = True
    return changed


def _groups(computation: Computation, fuel: Fuel) -> list[FusionGroup]:
    """Partition a computation from its results upwards; groups come out with their users' groups first."""
    of: dict[Instruction, list[FusionGroup]] = {}
    groups: list[FusionGroup] = []
    awaited = control_predecessors(computation)
    for instruction in reversed(computation.instructions):
        if instruction in awaited or is_ordered(instruction):
            fuel.refuse(INTO_USER, instruction, "it waits for others, or they for it")
            continue
        consumers = _consumers(instruction, of)
        if isinstance(consumers, str):
            fuel.refuse(INTO_USER, instruction, consumers)
        elif not fuel.spend(INTO_USER, instruction):
            fuel.refuse(INTO_USER, instruction, "no fuel is left")
        else:
            for group in consumers:
                add_to(group, instruction)
            if len(consumers) > 1:
                note_copies(instruction, consumers)
            of[instruction] = consumers
            continue
        kind = kind_of(instruction)
        if kind is not None:
            group = FusionGroup([instruction], kind, {instruction})
            of[instruction] = [group]
            groups.append(group)
    return merge(groups, of, partial(fuel.spend, _SEVERAL), partial(fuel.refuse, _SEVERAL))


def _consumers(instruction: Instruction, of: dict[Instruction, list[FusionGroup]]) -> list[FusionGroup] | str:
    """The groups that an instruction may join, those of all its users, or why it is in none."""
    if instruction.is_root or not instruction.users:
        return "it is the computation's result" if instruction.is_root else "nobody uses it"
    for user in instruction.users:
        if user not in of:
            return f"{user.name}, a {user.opcode}, takes it from memory"
    consumers = list(dict.fromkeys(group for user in instruction.users for group in of[user]))
    if len(consumers) > 1 and not may_copy(instruction, consumers):
        return f"{len(consumers)} kernels use it, and each would compute it again"
    for group in consumers:
        joins = may_join(instruction, group)
        if not joins:
            return f"not into {group.root.name}: {joins.reason}"
    return consumers


def _outline(module: Module, group: FusionGroup, order: Mapping[Instruction, int]) -> None:
    """Move a group into a computation of its own, called by a fusion in its roots' place."""
    computation, members = group.root.computation, sorted(group.members, key=order.__getitem__)
    fusion = outline(module, members, group.roots, group.kind.value)
    if len(group.roots) == 1:
        group.root.replace_uses_with(fusion)
        return
    for number, root in enumerate(group.roots):
        root.replace_uses_with(build(computation, "get-tuple-element", [fusion], name=root.name, index=number))


def _remove_unused(computation: Computation, fused: set[Instruction]) -> None:
    """Take out what now lives in fusions only."""
    dead: set[Instruction] = set()
    awaited = control_predecessors(computation)
    for instruction in reversed([i for i in computation.instructions if i in fused]):
        unused = all(user in dead for user in instruction.users) and instruction is not computation.root
        if unused and instruction not in awaited and not has_effect(instruction):
            dead.add(instruction)
    computation.remove(dead)
