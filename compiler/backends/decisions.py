"""What a back end decided about a program, to be read: each instruction's kernel and each kernel's strategy, and why.

The same as a digest tells whether a program is compiled as it was yesterday.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from compiler.backends.strategy import Choice, Detail
from compiler.codegen.kernel import CONTROL, NO_KERNEL, Kernel
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Refusal, path_of

_PASSES = "a pass after fusion made it"


@dataclass(frozen=True, slots=True)
class Placed:
    """An instruction with the kernel that computes it, or why there is none.

    Attributes:
        name: its computation and its name.
        opcode: its opcode.
        kernel: the instruction whose kernel computes it, itself where it has one; empty where no code does.
        reason: why it is not in the kernel of those who use it; empty where it is.
    """

    name: str
    opcode: str
    kernel: str
    reason: str


@dataclass(frozen=True, slots=True)
class Decided:
    """A kernel with the strategy that it got, its cost, its plan, and why no other.

    Attributes:
        instruction: the computation and the name of the instruction that it computes.
        kind: how it walks over its data.
        strategy: the strategy that it gets, and what that chose in turn.
        others: why it gets no other one, by their names.
        cost_ns: estimated nanoseconds.
        on: where it takes so long, and what else there is to say of that, as the rest of a sentence.
        workspace_bytes: its scratch memory.
        shared: among what it is shared, or why one thread has it alone.
        overwritten: operands over which its results lie.
        details: sizes of tiles, numbers of chunks and the like.
        modelled: by what its cost was estimated, where code was looked at: what each launch does, by names.
    """

    instruction: str
    kind: str
    strategy: str
    others: tuple[tuple[str, str], ...]
    cost_ns: float
    on: str
    workspace_bytes: int
    shared: str
    overwritten: tuple[str, ...]
    details: Mapping[str, Detail]
    modelled: Mapping[str, Mapping[str, Detail]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decisions:
    """All about one program for one machine.

    Attributes:
        backend: the back end.
        machine: what it decided for, in words.
        placed: the instructions, in the order in which they run.
        kernels: the kernels, in that order.
    """

    backend: str
    machine: str
    placed: tuple[Placed, ...]
    kernels: tuple[Decided, ...]

    @property
    def digest(self) -> str:
        """Equal for programs about which everything was decided alike, but for estimates and reasons."""
        kept = [(k.instruction, k.kind, k.strategy, k.workspace_bytes, k.shared, k.overwritten) for k in self.kernels]
        details = [sorted(k.details.items()) for k in self.kernels]
        where = [(i.name, i.opcode, i.kernel) for i in self.placed]
        text = json.dumps([self.backend, where, kept, details], default=list)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        kernels = [{**asdict(kernel), "others": dict(kernel.others)} for kernel in self.kernels]
        return {
            "backend": self.backend,
            "machine": self.machine,
            "digest": self.digest,
            "instructions": [asdict(placed) for placed in self.placed],
            "kernels": kernels,
        }

    def to_text(self) -> str:
        """The decisions as a listing for people."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.backend}: {self.machine}"
        yield ""
        for placed in self.placed:
            yield f"{placed.name}: {placed.opcode}{_location(placed)}"
        for kernel in self.kernels:
            yield ""
            yield from _kernel_lines(kernel)


def _location(placed: Placed) -> str:
    if not placed.kernel:
        return f", no kernel: {placed.reason}"
    return f", a kernel of its own: {placed.reason}" if placed.reason else f", in {placed.kernel}"


def _kernel_lines(kernel: Decided) -> Iterator[str]:
    yield f"kernel {kernel.instruction}: {kernel.kind}, {kernel.strategy}"
    yield f"  cost: {kernel.cost_ns:,.0f} ns {kernel.on}; {kernel.shared}; workspace {kernel.workspace_bytes:,} bytes"
    if kernel.overwritten:
        yield f"  over: {', '.join(kernel.overwritten)}"
    if kernel.details:
        yield f"  plan: {_listed(kernel.details)}"
    for name, said in kernel.modelled.items():
        yield f"  {name}: {_listed(said)}"
    for name, reason in kernel.others:
        yield f"  not {name}: {reason}"


def _listed(details: Mapping[str, Detail]) -> str:
    return ", ".join(f"{name} {_spelled(value)}" for name, value in details.items())


def _spelled(value: Detail) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float):
        return str(value)
    return " x ".join(map(str, value)) if value else "none"


def others_of(choice: Choice[Any]) -> tuple[tuple[str, str], ...]:
    """Why a kernel gets no other strategy, with what was chosen in turn."""
    inner = choice.plan.inner
    nested = others_of(inner) if inner else ()
    return (*choice.ask_others(), *((f"{choice.strategy}, {name}", reason) for name, reason in nested))


def details_of(choice: Choice[Any]) -> dict[str, Detail]:
    """A plan's own details, with those of what was chosen in turn."""
    inner = choice.plan.inner
    return {**choice.plan.details, **(details_of(inner) if inner else {})}


def overwritten_of(kernel: Kernel) -> tuple[str, ...]:
    """The operands over which a kernel's results lie."""
    return tuple(kernel.inputs[number].name for _, number in kernel.in_place)


def placed(module: Module, kernels: Mapping[Instruction, Any], refusals: Sequence[Refusal]) -> Iterator[Placed]:
    """The kernel of each instruction of a program that the passes have prepared.

    Args:
        module: the program.
        kernels: the instructions that have kernels.
        refusals: what fusion considered and did not do.
    """
    reasons: dict[str, list[str]] = {}
    for refusal in refusals:
        reasons.setdefault(refusal.where, []).append(refusal.reason)
    yield from _placed(module.entry, kernels, reasons)


def _placed(
    computation: Computation, kernels: Mapping[Instruction, Any], reasons: Mapping[str, list[str]]
) -> Iterator[Placed]:
    for instruction in computation.instructions:
        name = path_of(instruction)
        if instruction.opcode in CONTROL:
            yield Placed(name, instruction.opcode, "", "the program itself runs what it calls")
            for callee in instruction.called_computations():
                yield from _placed(callee, kernels, reasons)
        elif instruction.opcode in NO_KERNEL:
            yield Placed(name, instruction.opcode, "", "its value lies in memory as it is")
        elif instruction not in kernels:
            yield Placed(name, instruction.opcode, "", "how often its loop runs is known")
        else:
            yield Placed(name, instruction.opcode, name, _reason(instruction, reasons))
            yield from _members(instruction)


def _members(instruction: Instruction) -> Iterator[Placed]:
    """What is computed inside a fusion."""
    if instruction.opcode == "fusion":
        for member in instruction.attributes["calls"].instructions:
            if member.opcode not in ("parameter", "constant", "tuple"):
                yield Placed(path_of(member), member.opcode, path_of(instruction), "")


def _reason(instruction: Instruction, reasons: Mapping[str, list[str]]) -> str:
    """Why an instruction, or what a fusion was grown from, is not in the kernel of those who use it."""
    names = [instruction.name]
    if instruction.opcode == "fusion":
        root = instruction.attributes["calls"].root
        names += [value.name for value in (root.operands if root.opcode == "tuple" else (root,))]
    parent = instruction.computation.name
    found = [reason for name in names for reason in reasons.get(f"{parent}/{name}", ())]
    return "; ".join(dict.fromkeys(found)) or _PASSES
