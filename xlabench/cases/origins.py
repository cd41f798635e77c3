"""Where the values of a program come from: the parameters whose very elements they are.

A value is an instruction and the path to a leaf of its tuple.  It is followed back, operand by operand, through
everything that hands elements on: what moves or chooses them, and what runs a computation on them.  Of an opcode with
several operands or results each result is followed to the operands that it is made of, not to those beside it: the
order that a sort yields comes from what is sorted along with the keys, never from the keys.  What computes new numbers
ends the way, as addition does.

A part of a called computation's result is asked once which parameters it comes from, and each caller puts its own
operands in their place: what other callers give is not mixed in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from compiler.ops import Trait, having

Instruction = Any  # the compiler's; the harness sees its data by attribute only
Computation = Any
Path = tuple[int, ...]
Value = tuple[Instruction, Path]
Bind = Callable[[int, Path], Iterable[Value]]
"""From the number of a called computation's parameter, and a path in it, to what the caller gives for it."""
Inner = tuple[Value, Bind]
"""A part of a called computation's result, and what the parameters stand for that it comes from."""

# The operands whose elements the result is made of, by opcode; None stands for all.  A tuple is handed on as it is.
_CARRIERS: Mapping[str, tuple[int, ...] | None] = {
    "reshape": (0,),
    "dynamic-reshape": (0,),
    "set-dimension-size": (0,),
    "bitcast": (0,),
    "bitcast-convert": (0,),
    "convert": (0,),
    "copy": (0,),
    "broadcast": (0,),
    "transpose": (0,),
    "slice": (0,),
    "reverse": (0,),
    "pad": None,
    "dynamic-slice": (0,),
    "dynamic-update-slice": (0, 1),
    "gather": (0,),
    "concatenate": None,
    "opt-barrier": (0,),
    "domain": (0,),
    "add-dependency": (0,),
    "select": (1, 2),
    "clamp": None,
    "maximum": None,
    "minimum": None,
    "ragged-all-to-all": (0, 1),
    "all-reduce-done": (0,),
}
_CALLS = having(Trait.CALLS)
_DONE: Mapping[str, int] = {"async-done": 1, "all-gather-done": 1, "collective-permute-done": 1, "copy-done": 0}
"""What waits for an exchange or a copy, and the element of its tuple that it yields."""


class Origins:
    """Answers of one program, each found once."""

    def __init__(self) -> None:
        self._found: dict[Value, set[Value]] = {}
        self._seen: dict[Value, set[Value]] = {}
        self._waiting: dict[Value, list[tuple[Value, Bind]]] = defaultdict(list)

    def of(self, value: Value) -> set[Value]:
        """The parameters of the value's own computation, and the paths in them, that it is made of."""
        pending = self._asked(value)
        while pending:
            asker, (instruction, path) = pending.pop()
            if (instruction, path) in self._seen[asker]:
                continue
            self._seen[asker].add((instruction, path))
            if instruction.opcode == "parameter":
                self._found[asker].add((instruction, path))
                for outer, bind in self._waiting[asker]:
                    pending += [(outer, given) for given in bind(instruction.parameter_number, path)]
                continue
            pending += [(asker, source) for source in _sources(instruction, path)]
            for inner, bind in _inside(instruction, path):
                pending += self._asked(inner)
                self._waiting[inner].append((asker, bind))
                for parameter, within in self._found[inner]:
                    pending += [(asker, given) for given in bind(parameter.parameter_number, within)]
        return self._found[value]

    def _asked(self, value: Value) -> list[tuple[Value, Value]]:
        """Where to begin with a question; nowhere if it was asked before."""
        if value in self._found:
            return []
        self._found[value], self._seen[value] = set(), set()
        return [(value, value)]


def arguments(caller: Instruction, computation: Computation, number: int, path: Path) -> Iterator[Value]:
    """What a caller gives for a parameter of a computation that it calls, and what it has made of that by then.

    Combiners and comparators are left out: they see scalars, of which nothing is looked up.

    Args:
        caller: an instruction that calls.
        computation: what it calls.
        number: of the parameter.
        path: of indices into tuples, to what is meant.
    """
    opcode, operands = caller.opcode, caller.operands
    if opcode == "while":
        yield operands[0], path
        yield caller, path
    elif opcode == "conditional":
        for branch, argument in zip(caller.called_computations(), operands[1:], strict=True):
            if branch is computation:
                yield argument, path
    elif opcode in _CALLS:
        yield from ((given, path) for given in _given(caller)[number : number + 1])
    elif opcode == "scan":
        yield from _scanned(caller, number)


def _given(caller: Instruction) -> list[Instruction]:
    """The arguments of a call, some of which updates may give to an asynchronous one."""
    given, last = list(caller.operands), caller
    while last is not None:
        last = next((user for user in last.users if user.opcode == "async-update"), None)
        given += last.operands[1:] if last is not None else ()
    return given


def _sources(instruction: Instruction, path: Path) -> Iterator[Value]:
    """The operands that a value is made of, without what computations do to them."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode == "get-tuple-element":
        yield operands[0], (instruction.attributes["index"], *path)
    elif opcode == "tuple":
        yield operands[path[0]], path[1:]
    elif opcode == "while":
        yield operands[0], path
    elif opcode in _DONE:
        yield operands[0], (_DONE[opcode], *path)
    elif opcode in _CARRIERS:
        chosen = _CARRIERS[opcode]
        yield from ((operand, path) for operand in (operands if chosen is None else [operands[i] for i in chosen]))
    elif opcode in _ELEMENTS:
        yield from _ELEMENTS[opcode](instruction, path)


def _each(instruction: Instruction, path: Path) -> Iterator[Value]:
    """Operand k for result k; of one operand the result need be no tuple."""
    operands = instruction.operands
    yield (operands[path[0]], path[1:]) if len(operands) > 1 else (operands[0], ())


def _any(instruction: Instruction, _path: Path) -> Iterator[Value]:
    """Each device sends one operand to each other, so that any may arrive."""
    return ((operand, ()) for operand in instruction.operands)


def _permuted(instruction: Instruction, path: Path) -> Iterator[Value]:
    if "slice_sizes" in instruction.attributes:  # slices of the first go into the second
        return ((operand, path) for operand in instruction.operands[:2])
    if len(instruction.operands) == 1:
        return iter([(instruction.operands[0], path)])
    return _each(instruction, path)


def _begun(what: Callable[[Instruction, Path], Iterator[Value]]) -> Callable[[Instruction, Path], Iterator[Value]]:
    """Of what begins an exchange: operands, results, and what tells nothing."""
    return lambda instruction, path: what(instruction, path[1:]) if path[0] <= 1 else iter(())


def _copied(instruction: Instruction, path: Path) -> Iterator[Value]:
    return iter([(instruction.operands[0], path[1:])] if path[0] <= 1 else ())


def _handed(instruction: Instruction, path: Path) -> Iterator[Value]:
    """Of an async-start the arguments, which it carries."""
    return iter([(instruction.operands[path[1]], path[2:])] if path[0] == 0 else ())


def _updated(instruction: Instruction, path: Path) -> Iterator[Value]:
    """Of an async-update the arguments, the last of which are its own."""
    before, *added = instruction.operands
    first = len(before.shape.elements[0].elements)
    own = path[0] == 0 and path[1] >= first
    yield (added[path[1] - first], path[2:]) if own else (before, path)


def _chosen(instruction: Instruction, path: Path) -> Iterator[Value]:
    """The greatest values, beside which stands where they were."""
    return iter([(instruction.operands[0], ())] if path == (0,) else ())


def _called_outside(instruction: Instruction, path: Path) -> Iterator[Value]:
    """A mark yields its operand, and XLA has a name of its own for topk; nothing is known of other custom calls."""
    if instruction.attributes["custom_call_target"] == "TopK":
        return _chosen(instruction, path)
    is_mark = len(instruction.operands) == 1 and str(instruction.operands[0].shape) == str(instruction.shape)
    return iter([(instruction.operands[0], path)] if is_mark else ())


def _updated_in_place(instruction: Instruction, path: Path) -> Iterator[Value]:
    """Of a scatter what it scatters into."""
    yield instruction.operands[path[0] if path else 0], ()


def _started_from(instruction: Instruction, _path: Path) -> Iterator[Value]:
    """Of a select-and-scatter what no window selects."""
    yield instruction.operands[2], ()


_ELEMENTS: Mapping[str, Callable[[Instruction, Path], Iterator[Value]]] = {
    "sort": _each,
    "all-gather": _each,
    "all-gather-start": _begun(_each),
    "collective-broadcast": _each,
    "collective-permute": _permuted,
    "collective-permute-start": _begun(_permuted),
    "all-to-all": _any,
    "copy-start": _copied,
    "async-start": _handed,
    "async-update": _updated,
    "topk": _chosen,
    "custom-call": _called_outside,
    "scatter": _updated_in_place,
    "select-and-scatter": _started_from,
}


def _inside(instruction: Instruction, path: Path) -> Iterator[Inner]:
    """The parts of called computations' results that a value is made of."""
    return _INSIDE[instruction.opcode](instruction, path) if instruction.opcode in _INSIDE else iter(())


def _called(instruction: Instruction, path: Path) -> Iterator[Inner]:
    """Of what calls computations with its operands; of a while only the body has a say in its result."""
    if instruction.opcode == "async-start":
        if path[0] != 1:
            return
        path = path[1:]
    attributes = instruction.attributes
    for called in [attributes["body"]] if "body" in attributes else instruction.called_computations():

        def bind(number: int, within: Path, called: Computation = called) -> Iterator[Value]:
            return arguments(instruction, called, number, within)

        yield (called.root, path), bind


def _mapped(instruction: Instruction, path: Path) -> Iterator[Inner]:
    yield (
        (instruction.attributes["to_apply"].root, path),
        lambda number, _within: [(instruction.operands[number], ())],
    )


def _reduced(instruction: Instruction, path: Path) -> Iterator[Inner]:
    """Result k by what is accumulated, that is the initial value or a result, and by elements."""
    operands, count = instruction.operands, len(instruction.operands) // 2

    def bind(number: int, within: Path) -> Iterator[Value]:
        if number >= count:
            yield operands[number - count], ()
            return
        yield operands[count + number], ()
        yield instruction, _result(instruction, number, within)

    yield (instruction.attributes["to_apply"].root, path), bind


def _scattered(instruction: Instruction, path: Path) -> Iterator[Inner]:
    """Result k by what stands there, scattered into or there before, and by updates."""
    operands, count = instruction.operands, len(instruction.operands) // 2

    def bind(number: int, within: Path) -> Iterator[Value]:
        if number >= count:
            yield operands[number + 1], ()
            return
        yield operands[number], ()
        yield instruction, _result(instruction, number, within)

    yield (instruction.attributes["to_apply"].root, path), bind


def _added_up(instruction: Instruction, path: Path) -> Iterator[Inner]:
    """Of a select-and-scatter what is selected: parameter 0 stands for what is there, 1 for the source."""
    root = instruction.attributes["scatter"].root
    yield (root, path), lambda number, _within: [(instruction.operands[1 if number else 2], ())]


def _exchanged(instruction: Instruction, path: Path) -> Iterator[Inner]:
    """Result k by operand k of each device."""
    yield (instruction.attributes["to_apply"].root, ()), lambda _number, _within: _each(instruction, path)


def _stepped(instruction: Instruction, path: Path) -> Iterator[Inner]:
    """Result k of a scan by result k of its step."""
    root = instruction.attributes["to_apply"].root
    inner = (path or (0,)) if hasattr(root.shape, "elements") else path[1:]
    yield (root, inner), lambda number, _within: _scanned(instruction, number)


def _scanned(instruction: Instruction, number: int) -> Iterator[Value]:
    """What a step of a scan is given: a part of an array, or what is carried, at first and by the step before."""
    operands = instruction.operands
    count = len(operands) - instruction.attributes["num_carries"]
    yield operands[number], ()
    if number >= count:
        elements = getattr(instruction.shape, "elements", None)
        outputs = (1 if elements is None else len(elements)) - (len(operands) - count)
        yield instruction, () if elements is None else (outputs + number - count,)


def _result(instruction: Instruction, number: int, within: Path) -> Path:
    """The path to a result, which is a tuple's element unless it is the only one."""
    return (number, *within) if hasattr(instruction.shape, "elements") else within


_INSIDE: Mapping[str, Callable[[Instruction, Path], Iterator[Inner]]] = {
    "call": _called,
    "fusion": _called,
    "async-start": _called,
    "while": _called,
    "conditional": _called,
    "map": _mapped,
    "reduce": _reduced,
    "reduce-window": _reduced,
    "scatter": _scattered,
    "select-and-scatter": _added_up,
    "all-reduce": _exchanged,
    "all-reduce-start": _exchanged,
    "reduce-scatter": _exchanged,
    "scan": _stepped,
}
