"""A copy of a module while it is edited, and how it becomes a tidy module again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from compiler.ir.control import PREDECESSORS
from compiler.ir.module import Computation, Instruction, Module, computed_from
from compiler.ir.shape import Shape
from compiler.ir.source_lines import has_frames

InstructionId = tuple[str, str]
"""An instruction by the names of its computation and itself."""

Source = int | InstructionId
"""Where an entry parameter's value comes from: the parameter of that number before, or what stood at a place."""

_KEPT_HEADER = ("replica_count", "num_partitions", "frontend_attributes")


@dataclass(frozen=True, slots=True)
class Edited:
    """A module after an edit, and where each of its entry parameters comes from."""

    module: Module
    sources: tuple[Source, ...]


def id_of(instruction: Instruction) -> InstructionId:
    """The place of an instruction that stands in a computation."""
    return instruction.computation.name, instruction.name


@dataclass(slots=True)
class Draft:
    """A copy that an edit works on; `sources` knows every entry parameter, those that the edit adds included."""

    module: Module
    sources: dict[Instruction, Source] = field(default_factory=dict)

    @staticmethod
    def of(module: Module) -> Draft:
        """Begin an edit."""
        copy = module.clone()
        return Draft(copy, {parameter: number for number, parameter in enumerate(copy.entry.parameters)})

    def find(self, instruction_ids: Iterable[InstructionId]) -> Iterator[Instruction]:
        """The instructions at those of the places that still exist."""
        known = {id_of(i): i for i in self.module.instructions()}
        for instruction_id in instruction_ids:
            if instruction_id in known:
                yield known[instruction_id]

    def add_parameter(self, shape: Shape, source: Source) -> Instruction:
        """A new entry parameter."""
        number = len(self.module.entry.parameters)
        parameter = Instruction("parameter", shape, (), {"parameter_number": number}, name="p")
        self.sources[parameter] = source
        return self.module.entry.add(parameter)

    def finish(self) -> Edited:
        """Remove what nothing uses, renumber the entry parameters and drop the notes on both."""
        module = self.module
        module.sort_computations()
        for computation in module.computations:
            remove_unused(computation, parameters=computation is module.entry)
            computation.sort()
        module.sort_computations()
        parameters = module.entry.parameters
        for number, parameter in enumerate(parameters):
            parameter.attributes["parameter_number"] = number
        kept = (*_KEPT_HEADER, "stack_frames") if has_frames(module.instructions()) else _KEPT_HEADER
        module.attributes = {name: module.attributes[name] for name in kept if name in module.attributes}
        return Edited(module, tuple(self.sources[parameter] for parameter in parameters))


def remove_unused(computation: Computation, *, parameters: bool) -> None:
    """Remove what the root does not need, effects or not; parameters only where that is asked for."""
    needed = computed_from([computation.root])
    for instruction in needed:
        instruction.attributes.pop(PREDECESSORS, None)
    dead = [i for i in computation.instructions if i not in needed and (parameters or i.opcode != "parameter")]
    computation.remove(dead)
