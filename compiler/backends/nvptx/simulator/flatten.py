"""One kernel as one list of instructions: calls of device functions are expanded in place.

So the machine needs no stack, lanes that call from different places meet again behind the call by the minimum-PC
rule alone, and a barrier inside a function is like any other.  A device function's parameters and its caller's
`.param` variables become one variable of the lane's local memory.  Recursion and calls through pointers cannot be
expanded and are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from compiler.backends.nvptx.simulator.syntax import (
    Function,
    Group,
    Instruction,
    Operand,
    PtxModule,
    Symbol,
    Variable,
)
from compiler.diagnostics import ParseError, UnsupportedError


@dataclass(frozen=True, slots=True)
class Scope:
    """One expansion of a function: what its names stand for."""

    function: Function
    prefix: str
    bindings: dict[str, str]

    def unique(self, name: str) -> str:
        """A local name, told apart from the same name in other expansions."""
        return self.bindings.get(name, self.prefix + name)


class Placed(NamedTuple):
    """An instruction in the flat program; `jump` is the label that a rewritten `ret` or skipped `call` goes to."""

    instruction: Instruction
    scope: Scope
    jump: str | None = None


@dataclass(slots=True)
class FlatProgram:
    """The instructions of a kernel, with where the labels stand and all variables of its functions."""

    placed: list[Placed] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)


def flatten(module: PtxModule, kernel: Function) -> FlatProgram:
    """Expand every call of a kernel."""
    program = FlatProgram()
    _expand(module, program, Scope(kernel, "", {}), ())
    return program


def _expand(module: PtxModule, program: FlatProgram, scope: Scope, stack: tuple[str, ...]) -> None:
    function = scope.function
    end = f"{scope.prefix}#end"
    for name, variable in function.variables.items():
        # A function's shared variable is one and the same in all of its expansions.
        key = f"{function.name}:{name}" if variable.space == "shared" else scope.prefix + name
        scope.bindings[name] = key
        program.variables[key] = variable
    instructions = function.instructions
    assert instructions is not None
    labels_at: dict[int, list[str]] = {}
    for label, position in function.labels.items():
        labels_at.setdefault(position, []).append(scope.prefix + label)
    for position, instruction in enumerate(instructions):
        for label in labels_at.get(position, ()):
            program.labels[label] = len(program.placed)
        if instruction.opcode == "call":
            _call(module, program, instruction, scope, (*stack, function.name))
        elif instruction.opcode == "ret" and stack:
            program.placed.append(Placed(instruction, scope, end))
        else:
            program.placed.append(Placed(instruction, scope))
    for label in labels_at.get(len(instructions), ()):
        program.labels[label] = len(program.placed)
    program.labels[end] = len(program.placed)


def _call(module: PtxModule, program: FlatProgram, call: Instruction, scope: Scope, stack: tuple[str, ...]) -> None:
    results, callee, arguments = _call_operands(call)
    if callee not in module.functions:
        raise UnsupportedError(f"a call of {callee!r} ({call.text})", "the PTX simulator", "it is not in the module")
    function = module.functions[callee]
    if function.instructions is None:
        raise UnsupportedError(f"a call of {callee!r}", "the PTX simulator", "it is declared but not defined")
    if callee in stack:
        raise UnsupportedError(f"recursion of {callee!r}", "the PTX simulator", "calls are expanded in place")
    bindings = {}
    pairs = ((function.parameters, arguments), (function.results, results))
    for parameters, operands in pairs:
        if len(parameters) != len(operands):
            message = f"{callee!r} has {len(parameters)} parameters or results here, the call gives {len(operands)}"
            raise ParseError(message, call.span)
        for parameter, operand in zip(parameters, operands, strict=True):
            if not isinstance(operand, Symbol):
                raise UnsupportedError(f"the operand of {call.text!r}", "the PTX simulator", "pass .param variables")
            bindings[parameter.name] = scope.unique(operand.name)
    inner = Scope(function, f"{scope.prefix}{callee}@{len(program.placed)}/", bindings)
    program.placed.append(Placed(call, scope, f"{inner.prefix}#end"))
    _expand(module, program, inner, stack)


class _Call(NamedTuple):
    """The operands of a call: where results go, the function's name, and the arguments."""

    results: tuple[Operand, ...]
    callee: str
    arguments: tuple[Operand, ...]


def _call_operands(call: Instruction) -> _Call:
    operands = list(call.operands)
    results: tuple[Operand, ...] = ()
    if operands and isinstance(operands[0], Group):
        results = operands.pop(0).items  # type: ignore[union-attr]
    if not operands or not isinstance(operands[0], Symbol):
        raise UnsupportedError(f"{call.text!r}", "the PTX simulator", "calls through pointers cannot be expanded")
    arguments = operands[1].items if len(operands) > 1 and isinstance(operands[1], Group) else ()
    return _Call(results, operands[0].name, arguments)
