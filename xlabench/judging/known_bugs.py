"""Whether a failure is a bug that is known already, so that what nobody knows is not lost among what everybody does.

The bugs of other engines that were found, reduced and reported lie in `suites/regressions/xla`, a bundle and a report
each; `known.toml` beside them says by what each is told.  A failing program shows a known bug where nothing in it but
what belongs to the bug could fail: all its opcodes are there, on its types and kinds of values, and no others but those
that move numbers or are said to stand beside them.  So a program must be reduced before it is asked about: one that
holds more is not known, whatever else is in it.

| key | what it says of a program that shows the bug |
|---|---|
| `opcodes` | each is there; of those with a bar between them one |
| `twice` | one of these is there more than once |
| `types` | one of its opcodes works on one of these; any where the key is missing |
| `beside` | opcodes that may be there as well; `*` for any |
| `verdicts` | the verdict is one of these; `wrong` where the key is missing |
| `kinds` | what kind of wrong it is (`xlabench.judging.wrongness`) |
| `said`, `text` | regular expressions found in the message, in the program |
| `values` | some value is of this kind, a key of `VALUES` |
| `constant` | some operand is known when the program is compiled |
| `ordered` | one of its opcodes has a reducer that is not known to give the same with its operands exchanged |
| `wraps` | some sum of two integers, as a counter is, leaves its type |
"""

from __future__ import annotations

import operator
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

import compiler
from compiler.ops import Trait, having
from xlabench.judging.tolerance import Array, finfo, is_inexact, real_dtype

ENGINES: Mapping[str, str] = {"xla": "xla"}
"""Engines with bugs that are known, by the first word of their specs, and the folder under `suites/regressions`."""
ANY = "*"
_HARMLESS = having(Trait.MOVES | Trait.SELECTS | Trait.STRUCTURAL | Trait.GENERATES) - having(Trait.INDEXED) | {"copy"}
"""What may stand beside a bug without being part of it: elements go where the program says, whatever they are."""
_KNOWN_EARLY = having(Trait.GENERATES)
_LARGE = 0.125
"""Of the largest number of a type: numbers beyond have reciprocals that are denormal, or nearly."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What is asked about: a reduced program, what it was given, what was said of the engine, and `wrong` results."""

    engine: str
    verdict: str
    message: str
    module_text: str
    inputs: Sequence[Array]
    wrong: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Bug:
    """What a bug is told by; see the table above."""

    name: str
    opcodes: Sequence[str] = ()
    twice: str = ""
    types: Sequence[str] = ()
    beside: Sequence[str] = ()
    verdicts: Sequence[str] = ("wrong",)
    kinds: Sequence[str] = ()
    said: str = ""
    text: str = ""
    values: str = ""
    constant: bool = False
    ordered: bool = False
    wraps: bool = False
    _wanted: tuple[frozenset[str], ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_wanted", tuple(frozenset(one.split("|")) for one in self.opcodes))

    def shows_in(self, failure: Failure, module: Any) -> bool:
        """Whether a failure is this bug; what takes longest to know is asked last."""
        return self._is_said(failure) and self._is_made(module) and self._has_values(failure, module)

    def _is_said(self, failure: Failure) -> bool:
        kinds = any(f"({kind})" in failure.message for kind in self.kinds)
        searched = ((self.said, failure.message), (self.text, failure.module_text))
        return (
            failure.verdict in self.verdicts
            and (kinds or not self.kinds)
            and all(re.search(pattern, text) is not None for pattern, text in searched)
        )

    def _is_made(self, module: Any) -> bool:
        counts = Counter(instruction.opcode for instruction in module.instructions())
        own = frozenset().union(*self._wanted)
        others = counts.keys() - own - set(self.beside) - _HARMLESS
        return (
            (not others or ANY in self.beside)
            and all(not alternatives.isdisjoint(counts) for alternatives in self._wanted)
            and (not self.twice or sum(counts[opcode] for opcode in self.twice.split("|")) > 1)
            and (not self.constant or not _KNOWN_EARLY.isdisjoint(counts))
            and (not self.ordered or _minds_order(module, own))
            and (not self.types or not _types(module, own).isdisjoint(self.types))
        )

    def _has_values(self, failure: Failure, module: Any) -> bool:
        has_kind = not self.values or _any_value(module, failure.inputs, VALUES[self.values])
        return has_kind and (not self.wraps or _wraps(module, failure.inputs))


def known_bug(failure: Failure) -> str:
    """The name of the known bug that a failure shows; empty where it shows none, or the engine has none.

    Of several results that are wrong each alone may show one: then it is that of the first.
    """
    folder = ENGINES.get(failure.engine.partition(":")[0])
    if folder is None:
        return ""
    whole, alone = _shown(failure, folder), list[str]()
    if not whole:
        alone = [_shown(one, folder) for one in _results(failure)]
    return whole or (alone[0] if alone and all(alone) else "")


def _shown(failure: Failure, folder: str) -> str:
    module = compiler.parse(failure.module_text)
    return next((bug.name for bug in bugs(folder) if bug.shows_in(failure, module)), "")


def _results(failure: Failure) -> Iterator[Failure]:
    """The failure of each wrong result, with nothing but what it is computed by; none of a program with one result."""
    module = compiler.parse(failure.module_text)
    results = module.entry.root.operands if module.entry.root.opcode == "tuple" else ()
    of_each_array = [result for result in results for _ in compiler.edit.leaves(result.shape)]
    for number in failure.wrong if len(results) > 1 else ():
        if number < len(of_each_array):
            edited = compiler.edit.keep_results(module, [compiler.edit.id_of(of_each_array[number])])
            given = [failure.inputs[source] for source in edited.sources if isinstance(source, int)]
            yield replace(failure, module_text=compiler.to_text(edited.module), inputs=given, wrong=())


@cache
def bugs(folder: str) -> tuple[Bug, ...]:
    """The bugs of a folder under `suites/regressions`."""
    text = (files("suites") / "regressions" / folder / "known.toml").read_text(encoding="utf-8")
    return tuple(Bug(name, **keys) for name, keys in tomllib.loads(text).items())


def _minds_order(module: Any, opcodes: frozenset[str]) -> bool:
    """Whether instructions of some opcodes may give something else with the operands of their reducer exchanged."""
    found = (one.attributes.get("to_apply") for one in module.instructions() if one.opcode in opcodes)
    return any(reducer is not None and not compiler.mutation.is_commutative(reducer) for reducer in found)


def _types(module: Any, opcodes: frozenset[str]) -> set[str]:
    """The element types that instructions of some opcodes take and give."""
    shapes = [
        shape
        for instruction in module.instructions()
        if instruction.opcode in opcodes
        for shape in (instruction.shape, *(operand.shape for operand in instruction.operands))
    ]
    return {leaf.element_type.name for shape in shapes for leaf in compiler.edit.leaves(shape)}


def _any_value(module: Any, inputs: Sequence[Array], holds: Callable[[Array], Any]) -> bool:
    """Whether something holds of some element of a value while the reference runs."""
    found = False

    def look(_: Any, value: Any) -> None:
        nonlocal found
        for array in map(np.asarray, value if isinstance(value, tuple) else (value,)):
            if not found and array.size and is_inexact(array.dtype):
                components = np.ascontiguousarray(array).reshape(-1).view(real_dtype(array.dtype))
                with np.errstate(all="ignore"):
                    found = bool(np.any(holds(components)))

    try:
        compiler.interpret(module, *inputs, trace=look)
    except compiler.UnsupportedError:
        return False
    return found


def _wraps(module: Any, inputs: Sequence[Array]) -> bool:
    """Whether some sum or difference of two integers leaves its type while the reference runs."""
    found, known = False, dict[Any, Any]()

    def look(step: Any, value: Any) -> None:
        nonlocal found
        known[step] = value
        operation = _COUNTS.get(step.opcode)
        if operation is not None and not found and not step.shape.dims and step.array.element_type.is_integer:
            left, right = (int(known[operand]) for operand in step.operands)
            found = operation(left, right) != int(value)

    try:
        compiler.interpret(module, *inputs, trace=look)
    except compiler.UnsupportedError:
        return False
    return found


def _denormal(components: Array) -> Any:
    return (components != 0) & (np.abs(components) < finfo(components.dtype).tiny)


def _large(components: Array) -> Any:
    return np.abs(components).astype(np.float64) > _LARGE * float(finfo(components.dtype).max)


def _smallest(components: Array) -> Any:
    return components == finfo(components.dtype).tiny


_COUNTS: Mapping[str, Callable[[int, int], int]] = {"add": operator.add, "subtract": operator.sub}
VALUES: Mapping[str, Callable[[Array], Any]] = {
    "denormal": _denormal,
    "large": _large,
    "nan": np.isnan,
    "smallest": _smallest,
    "special": lambda components: ~np.isfinite(components),
    "zero": lambda components: components == 0,
}
"""Kinds of values, and what elements are of them, real and imaginary parts each alone."""
