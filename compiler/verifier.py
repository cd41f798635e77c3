"""What makes a module valid, as numbered sentences; every violation is reported, not only the first.

- V1: the entry is one of the module's computations, and no two computations share a name.
- V2: no two instructions of a computation share a name.
- V3: every opcode has a record.
- V4: an instruction has as many operands as its opcode takes.
- V5: an instruction has every attribute that its opcode requires, and none that neither it nor every opcode takes.
- V6: operands and control predecessors stand in the same computation, before the instruction.
- V7: an instruction's users are exactly the instructions that have it as operand.
- V8: a computation's root is one of its instructions.
- V9: the parameters of a computation are numbered from 0 without gaps or repetition.
- V10: the shape that an instruction states is the one that its op's rule gives (layouts aside), which includes that
  called computations take what they are given and yield what is expected of them.  Where an op computes or moves
  elements, floats of different widths go together (`compiler.precision`).
- V11: called computations belong to the module.
- V12: no computation calls itself, directly or through others.
- V13: entry_computation_layout has the shapes of the entry's parameters and root.
- V14: a layout names each dimension of its array once.
- V15: an instruction stands in the computation that it says it does, and in no other.
- V16: a collective names devices that there are, none of them twice in its groups, its sources or its targets, and in
  its groups, if it has any, all of them (a collective-broadcast gives zeros to those left out).
- V17: a sharding has as many tiles as devices, names no device twice, cuts as many dimensions as its array has, and is
  for as many arrays as there are; where there are several partitions it is over all of them.

Not checked: schedules and aliasing tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from compiler.device_rules import Grid, group_problems, sharding_problems
from compiler.diagnostics import CompilerError, Finding, VerifyError
from compiler.ir.attributes import COMMON, EntryLayout
from compiler.ir.control import predecessors
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.opdef import Op
from compiler.ir.rewrite import path_of
from compiler.ir.shape import Shape, leaves
from compiler.ir.shape_rules import agree
from compiler.ops import OPS
from compiler.precision import infer


def verify(module: Module, context: str = "") -> None:
    """Raise a VerifyError with all violations if there are any; `context` says after what this was asked."""
    found = findings(module)
    if found:
        raise VerifyError(found, context) from found[0].cause


def findings(module: Module) -> list[Finding]:
    """All violations of the rules, in the order of the text."""
    found = list(_check_module(module))
    members = set(module.computations)
    for computation in module.computations:
        found += _check_computation(computation, members)
    found += _check_devices(module)
    if not found:
        found += _check_entry_layout(module)
    return found


def _check_module(module: Module) -> Iterator[Finding]:
    if module.entry not in module.computations:
        yield Finding("V1", module.name, "the module has no entry computation: mark one with ENTRY")
    for name in _repeated(computation.name for computation in module.computations):
        yield Finding("V1", module.name, f"two computations are named {name}")
    recursive = _recursive(module)
    if recursive is not None:
        yield Finding("V12", recursive.name, f"computation {recursive.name} calls itself")


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _recursive(module: Module) -> Computation | None:
    """A computation that reaches itself by calls, if there is one; iterative, since call chains may be long."""
    done: set[Computation] = set()
    for start in module.computations:
        path: dict[Computation, Iterator[Computation]] = {} if start in done else {start: start.called_computations()}
        while path:
            computation = next(reversed(path))
            callee = next(path[computation], None)
            if callee is None:
                del path[computation]
                done.add(computation)
            elif callee in path:
                return callee
            elif callee not in done:
                path[callee] = callee.called_computations()
    return None


def _check_computation(computation: Computation, members: set[Computation]) -> Iterator[Finding]:
    where = computation.name
    for name in _repeated(instruction.name for instruction in computation.instructions):
        yield Finding("V2", where, f"two instructions are named {name}")
    if not any(instruction is computation.root for instruction in computation.instructions):
        yield Finding("V8", where, "the root is not an instruction of the computation")
    numbers = sorted(
        i.attributes.get("parameter_number", -1) for i in computation.instructions if i.opcode == "parameter"
    )
    if numbers != list(range(len(numbers))):
        yield Finding("V9", where, f"parameters must be numbered 0 to {len(numbers) - 1}, not {numbers}")
    for instruction in computation.instructions:
        if instruction.parent is not computation:
            said = instruction.parent.name if instruction.parent is not None else "none"
            yield Finding("V15", where, f"{instruction.name} says that it stands in {said}")
    yield from _check_users(computation)
    seen: set[Instruction] = set()
    for instruction in computation.instructions:
        yield from _check_instruction(instruction, seen, members)
        seen.add(instruction)


def _check_users(computation: Computation) -> Iterator[Finding]:
    users: dict[Instruction, set[Instruction]] = {instruction: set() for instruction in computation.instructions}
    for instruction in computation.instructions:
        for operand in instruction.operands:
            if operand in users:
                users[operand].add(instruction)
    for instruction, expected in users.items():
        if instruction.users.keys() != expected:
            recorded, real = (sorted(user.name for user in group) for group in (instruction.users, expected))
            yield Finding("V7", path_of(instruction), f"users are recorded as {recorded} but are {real}")


def _check_instruction(
    instruction: Instruction, seen: set[Instruction], members: set[Computation]
) -> Iterator[Finding]:
    for operand in (*instruction.operands, *predecessors(instruction)):
        if operand not in seen:
            problem = "comes later" if operand.parent is instruction.parent else "stands in another computation"
            yield Finding("V6", path_of(instruction), f"{operand.name}, which {instruction.opcode} needs, {problem}")
    foreign = [callee.name for callee in instruction.called_computations() if callee not in members]
    if foreign:
        message = f"{', '.join(foreign)}, called by {instruction.opcode}, is not in the module"
        yield Finding("V11", path_of(instruction), message)
    yield from _check_layouts(instruction)
    op = OPS.get(instruction.opcode)
    if op is None:
        yield Finding("V3", path_of(instruction), f"opcode {instruction.opcode} is not known")
        return
    written = list(_check_form(instruction, op))
    yield from written
    if not written and not foreign:
        yield from _check_shape(instruction, op)


def _check_layouts(instruction: Instruction) -> Iterator[Finding]:
    for leaf in leaves(instruction.shape):
        if leaf.layout is not None and not _is_permutation(leaf.layout.minor_to_major, leaf.rank):
            yield Finding("V14", path_of(instruction), f"the layout of {leaf} does not name each dimension once")


@lru_cache(maxsize=1 << 12)
def _is_permutation(order: tuple[int, ...], rank: int) -> bool:
    return sorted(order) == list(range(rank))


def _check_form(instruction: Instruction, op: Op) -> Iterator[Finding]:
    if miscounted := op.miscounted(len(instruction.operands)):
        yield Finding("V4", path_of(instruction), miscounted)
    for message in _misnamed(op.opcode, tuple(instruction.attributes)):
        yield Finding("V5", path_of(instruction), message)


@lru_cache(maxsize=1 << 12)
def _misnamed(opcode: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """What is wrong about the attributes that an instruction has."""
    op, found = OPS[opcode], []
    missing = [name for name in op.required if name not in names]
    if missing:
        found.append(f"{opcode} needs the attribute {', '.join(missing)}")
    unknown = [n for n in names if n not in COMMON and n not in op.required and n not in op.optional]
    if unknown:
        known = ", ".join((*op.required, *op.optional)) or "none of its own"
        found.append(f"{opcode} does not take the attribute {', '.join(unknown)}; it takes {known}")
    return tuple(found)


def _check_shape(instruction: Instruction, op: Op) -> Iterator[Finding]:
    try:
        inferred = infer(instruction)
    except CompilerError as error:
        yield Finding("V10", path_of(instruction), str(error), cause=error)
        return
    if not agree(inferred, instruction.shape):
        yield Finding("V10", path_of(instruction), f"states {instruction.shape}, but {op.opcode} gives {inferred}")


def _check_devices(module: Module) -> Iterator[Finding]:
    grid = Grid.of(module)
    for instruction in module.instructions():
        attributes = instruction.attributes
        if "replica_groups" in attributes or "source_target_pairs" in attributes:
            for message in group_problems(instruction, grid):
                yield Finding("V16", path_of(instruction), f"{instruction.opcode}: {message}")
        if "sharding" in attributes:
            for message in sharding_problems(instruction, grid):
                yield Finding("V17", path_of(instruction), message)


def _check_entry_layout(module: Module) -> Iterator[Finding]:
    layout: EntryLayout | None = module.attributes.get("entry_computation_layout")
    if layout is None:
        return
    parameters, result = layout.parameters, layout.result
    given = [parameter.shape for parameter in module.entry.parameters]
    if len(parameters) != len(given):
        message = f"entry_computation_layout has {len(parameters)} parameters, the entry {len(given)}"
        yield Finding("V13", module.name, message)
        return
    for number, (stated, real) in enumerate(zip(parameters, given, strict=True)):
        yield from _compare_layout(module, f"parameter {number}", stated, real)
    yield from _compare_layout(module, "the result", result, module.entry.root.shape)


def _compare_layout(module: Module, what: str, stated: Shape, real: Shape) -> Iterator[Finding]:
    if not agree(stated, real):
        yield Finding("V13", module.name, f"entry_computation_layout says {stated} of {what}, which is {real}")
