"""The value of one element of an instruction's result, computed from elements of what it depends on.

This is how every kernel of both back ends evaluates fused producers: a kernel walks over indices of its result and asks
for the value there; each opcode says which elements of its operands it needs and what it does with them.  Operands that
lie in memory are *leaves*, supplied by the kernel.  Elementwise opcodes come from `compiler.codegen.scalar`, those that
move data from `movement`, those that combine many elements into one from `windows`, and control flow from `control`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from compiler.analysis.iteration import Iteration
from compiler.codegen import control, math, movement, scalar, windows
from compiler.codegen.index import Emission
from compiler.codegen.llvm_ir import Builder, Value
from compiler.codegen.movement import Indices, Leaf, always
from compiler.codegen.scalar import complex_functions
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import TupleShape

_NOTHING: Mapping[Instruction, Value] = MappingProxyType({})


class Elemental:
    """Emits values at indices into the current block of a builder, each once per scope."""

    def __init__(self, emission: Emission, leaves: Mapping[Instruction, Leaf], *, flags: str = scalar.CONTRACT) -> None:
        self.emission = emission
        self.leaves = leaves
        self.flags = flags

    def with_leaves(self, made: Callable[[Elemental], Mapping[Instruction, Leaf]]) -> Elemental:
        """The values with further leaves, which are made of the values that there are then."""
        leaves = dict(self.leaves)
        values = Elemental(self.emission, leaves, flags=self.flags)
        leaves.update(made(values))
        return values

    @property
    def builder(self) -> Builder:
        """The builder of the function into which instructions are emitted."""
        return self.emission.builder

    def value(self, instruction: Instruction, indices: Indices) -> Value:
        """The element of `instruction` at `indices`, one per dimension."""
        pending = [instruction]
        while True:
            current = pending[-1]
            at = indices if current.array.rank else ()
            found = self._known(current, at)
            if found is None:
                missing = [o for o in self._same_index_operands(current) if self._missing(o, indices)]
                if missing:
                    pending.extend(reversed(missing))
                    continue
                found = self._compute(current, at)
                self.emission.remember((current, at), found)
            pending.pop()
            if not pending:
                return found

    def _known(self, instruction: Instruction, indices: Indices) -> Value | None:
        known = self.emission.cached((instruction, indices))
        return known if isinstance(known, Value) else None

    def _missing(self, operand: Instruction, indices: Indices) -> bool:
        return self._known(operand, indices if operand.array.rank else ()) is None

    def _same_index_operands(self, instruction: Instruction) -> tuple[Instruction, ...]:
        """Operands of an elementwise op: they are computed first, by a loop, so that long chains need no stack."""
        if instruction in self.leaves or instruction.opcode not in scalar.RULES:
            return ()
        return instruction.operands

    def _compute(self, instruction: Instruction, indices: Indices) -> Value:
        leaf = self.leaves.get(instruction)
        if leaf is not None:
            return leaf(indices)
        rule = RULES.get(instruction.opcode)
        if rule is not None:
            return rule(self, instruction, indices)
        operands = [self.value(operand, indices if operand.array.rank else ()) for operand in instruction.operands]
        fast = self.emission.may_be_fast and scalar.has_fast_path(instruction)
        if self.emission.alone and math.has_fast_path(instruction.opcode):
            return self._either(instruction, operands)
        if fast and not instruction.array.element_type.is_complex:
            fast = self._note_slow(instruction.opcode, operands)
        value = scalar.emit(self.builder, instruction, operands, flags=self.flags, fast=fast)
        if fast and instruction.array.element_type.is_complex:
            self.emission.note_slow(complex_functions.is_lost(self.builder, value))
        return value

    def _either(self, instruction: Instruction, operands: Sequence[Value]) -> Value:
        """An element by the cheaper form or the full one, whichever its operands are for: no need to await both."""
        emit = partial(scalar.emit, self.builder, instruction, operands, flags=self.flags)
        complex_ = instruction.array.element_type.is_complex
        slow = None if complex_ else math.needs_slow_path(self.builder, instruction.opcode, operands)
        if slow is None:
            return emit(fast=False)
        return self.builder.choose(slow, partial(emit, fast=False), partial(emit, fast=True), "slow")

    def _note_slow(self, opcode: str, operands: Sequence[Value]) -> bool:
        """Whether an opcode is computed in its cheaper form; then it is noted if its operands are not for that."""
        slow = math.needs_slow_path(self.builder, opcode, operands)
        if slow is not None:
            self.emission.note_slow(slow)
        return slow is not None

    def elements(self, instruction: Instruction, indices: Indices) -> list[Value]:
        """The elements at `indices` of every array of a tuple of equal dimensions; of an array, its element.

        Raises:
            UnsupportedError: the instruction is not computed for each element.
        """
        if not isinstance(instruction.shape, TupleShape):
            return [self.value(instruction, indices)]
        key = instruction, indices, "elements"
        known = self.emission.cached(key)
        if isinstance(known, list):
            return known
        rule = _TUPLES.get(instruction.opcode)
        if rule is None:
            raise instruction.unsupported("where it is computed for each element", by="code generation")
        values = rule(self, instruction, indices)
        self.emission.remember(key, values)
        return values

    def loop(
        self, form: Iteration, indices: Indices, each: Callable[[Elemental], None], metadata: str = ""
    ) -> dict[int, Value]:
        """The changing state's elements at `indices` after a loop.

        Args:
            form: the loop.
            indices: of the elements.
            each: sees the values inside an iteration.
            metadata: what LLVM is told of the loop.
        """
        builder = self.builder
        numbers = (*form.arrays, *form.scalars)
        at = [indices if number in form.arrays else () for number in numbers]
        start = [self.value(form.initial[number], indices_) for number, indices_ in zip(numbers, at, strict=True)]
        before, header, body, done = (
            builder.block,
            *(builder.new_label(f"iteration{end}") for end in ("", ".body", ".end")),
        )
        builder.branch(header)
        builder.begin(header)
        state = [builder.placeholders(value.type, 1)[0] for value in start]
        present = dict(zip(numbers, state, strict=True))
        self.emission.enter()
        again = self.within(form, form.condition, present, indices).value(form.condition.root, ())
        builder.branch_if(again, body, done)
        builder.begin(body)
        iteration, root = self.within(form, form.body, present, indices), form.body.root
        following = [iteration.value(root.operands[n], indices_) for n, indices_ in zip(numbers, at, strict=True)]
        each(iteration)
        self.emission.leave()
        for phi, first, following_value in zip(state, start, following, strict=True):
            builder.fill(phi, [(first, before), (following_value, builder.block)])
        builder.branch(header, metadata)
        builder.begin(done)
        return present

    def within(
        self,
        form: Iteration,
        computation: Computation,
        state: Mapping[int, Value],
        indices: Indices,
        known: Mapping[Instruction, Value] = _NOTHING,
    ) -> Elemental:
        """Values inside a loop's condition or body at a place, given the changing state's elements there.

        Without those of its arrays there are only values that they do not matter to.

        Args:
            form: the loop, as one iteration over elements.
            computation: its condition or its body.
            state: elements of what changes, by their numbers in the loop's state.
            indices: the place, in the arrays that the loop works on.
            known: values of other instructions.
        """
        leaves: dict[Instruction, Leaf] = {}
        for piece in computation.parameters[0].users:
            number = piece.attributes["index"]
            fixed = partial(self.value, form.initial[number])
            leaves[piece] = always(state[number]) if number in state else fixed
        inside = Elemental(self.emission, leaves, flags=self.flags)
        if form.alive is not None and form.alive not in known and computation is form.condition:
            left = form.alive.operands[0]
            leaves[form.alive] = lambda _: inside.value(left, indices)
        leaves |= {value: always(found) for value, found in known.items()}
        return inside

    def apply(self, computation: Computation, arguments: Sequence[Value], *, flags: str = "") -> list[Value]:
        """The results of a computation of scalars (a reducer, a comparator) on values.

        Args:
            computation: of scalars.
            arguments: a value for each parameter.
            flags: fast-math flags, those of these values if none are given.
        """
        return apply(self.emission, computation, arguments, flags=flags or self.flags)

    def call(self, computation: Computation, argument: Sequence[Value]) -> list[Value]:
        """The scalars of a computation's result, from those of its one parameter: in a scope of the caller's."""
        (parameter,) = computation.parameters
        if isinstance(parameter.shape, TupleShape):
            self.emission.remember((parameter, (), "elements"), list(argument))
        else:
            self.emission.remember((parameter, ()), argument[0])
        return Elemental(self.emission, {}, flags=self.flags).elements(computation.root, ())

    def choose(self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        """One of two values, computing only that one.

        Args:
            condition: an i1.
            then: emits the value where it holds.
            otherwise: emits the value where not.
        """
        return self.builder.choose(condition, lambda: self._scoped(then), lambda: self._scoped(otherwise))

    def _scoped(self, compute: Callable[[], Value]) -> Value:
        self.emission.enter()
        value = compute()
        self.emission.leave()
        return value


def apply(
    emission: Emission,
    computation: Computation,
    arguments: Sequence[Value],
    *,
    flags: str = scalar.CONTRACT,
    known: Mapping[Instruction, Value] = _NOTHING,
) -> list[Value]:
    """The results of a computation of scalars (a reducer, a comparator) on values.

    Args:
        emission: where code is emitted.
        computation: of scalars.
        arguments: a value for each parameter.
        flags: LLVM's fast-math flags.
        known: what instructions of the computation come to for these arguments; they are not emitted.
    """
    leaves = {p: always(arguments[p.parameter_number]) for p in computation.parameters}
    leaves.update({instruction: always(value) for instruction, value in known.items()})
    emission.enter()
    elemental = Elemental(emission, leaves, flags=flags)
    root = computation.root
    results = root.operands if root.opcode == "tuple" else (root,)
    values = [elemental.value(result, ()) for result in results]
    emission.leave()
    return values


def _first(values: Elemental, instruction: Instruction, indices: Indices) -> Value:
    """The one array that there is of the result."""
    return _TUPLES[instruction.opcode](values, instruction, indices)[0]


_TUPLES: dict[str, Callable[[Elemental, Instruction, Indices], list[Value]]] = {**windows.RULES, **control.RULES}
"""Rules of opcodes whose results may be several arrays, by opcode."""

RULES: dict[str, Callable[[Elemental, Instruction, Indices], Value]] = {
    **movement.RULES,
    **dict.fromkeys(_TUPLES.keys() - {"tuple"}, _first),
}
"""Rules of opcodes that are not elementwise, by opcode."""


def supports(instruction: Instruction) -> bool:
    """Whether a value of this instruction can be computed at an index."""
    return instruction.opcode in RULES or instruction.opcode in scalar.RULES
