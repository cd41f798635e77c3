"""A program for several devices becomes one for one device, in which every value stands once for each of them.

What devices exchange is then wiring (`expansion/wiring.py`): back ends need no meeting of threads, results do not
depend on timing, and what holds of one program does of these: fusion, blame, bounds.  Entry parameters and results are
those of device 0, then those of device 1, and so on.

Control flow may part the devices.  A loop whose body exchanges nothing stays a loop of its own device.  One that does
becomes one loop of all devices: it goes on while any of them does, and those that have left keep their state.  A
conditional that exchanges does all its branches, and each device takes the result of its own.  So a collective is
always reached by all; a program in which some device of a group would wait forever gets a result all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from compiler.analysis.buffers import branches as branches_of
from compiler.analysis.uniform import is_uniform
from compiler.device_rules import Grid
from compiler.expansion.expression import Expression, element
from compiler.expansion.wiring import Combine, Links, Many, Row, Rows, bundle, in_group_order
from compiler.ir.attributes import OF_ENTRY
from compiler.ir.calls import reached
from compiler.ir.control import PREDECESSORS
from compiler.ir.manual import is_crossing
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.types import PRED, Kind
from compiler.ops import Trait, having
from compiler.ops.build import build, parameter
from compiler.ops.custom_call import is_mark
from compiler.ops.host import OPS as HOST
from compiler.plan import device_count, exchanges, is_of_wholes, looks_beyond

_CALLS = having(Trait.CALLS)
_TRANSFERS = frozenset(HOST)
_HEADER = OF_ENTRY | {"replica_count", "num_partitions"}


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    if device_count(module) == 1:
        return False
    fuel.spend("put devices side by side", module.entry.root, required=True)
    put_side_by_side(module, in_group_order)
    return True


def put_side_by_side(module: Module, combine: Combine) -> None:
    """Make a program for one device of one for several, whose values are put together in a way that is given."""
    module.replace_entry(_Devices(module, combine).entry(), forget=_HEADER)


class _Devices:
    """All devices of one program, and the copies that were made for each."""

    def __init__(self, module: Module, combine: Combine) -> None:
        self.module, self.links = module, Links(Grid.of(module), combine)
        self.all = tuple(range(self.links.grid.size))
        self.exchanging = _that_reach(module, exchanges)
        self.looking = _that_reach(module, looks_beyond)
        self.own: dict[tuple[Computation, int], Computation] = {}
        self.of_wholes = is_of_wholes(module)

    def entry(self) -> Computation:
        """The entry of the program for one device."""
        source, target = self.module.entry, Computation(self.module.entry.name)
        count = len(source.parameters)
        arguments: list[Many] = [{} for _ in range(count)]
        for device in self.all:
            for p in source.parameters:
                number = device * count + p.parameter_number
                shared = device > 0 and self.of_wholes
                arguments[p.parameter_number][device] = (
                    arguments[p.parameter_number][0] if shared else parameter(target, number, p.shape, name=p.name)
                )
        roots = self.copy(source, target, arguments, self.all, None)
        single = roots[0] if self.of_wholes else build(target, "tuple", [roots[device] for device in self.all])
        target.root = single
        return self.module.add_computation(target)

    def copy(
        self,
        source: Computation,
        target: Computation,
        arguments: Sequence[Many],
        devices: Sequence[int],
        active: Many | None,
    ) -> Many:
        """A computation's body once for each device; where `active` is given, those count for which it holds."""
        values: dict[Instruction, Many] = {}
        for instruction in source.instructions:
            if instruction.opcode == "parameter":
                values[instruction] = arguments[instruction.parameter_number]
                continue
            rows = {device: [values[operand][device] for operand in instruction.operands] for device in devices}
            values[instruction] = self._copied(instruction, target, rows, active)
        return values[source.root]

    def _copied(self, instruction: Instruction, target: Computation, rows: Rows, active: Many | None) -> Many:
        if is_mark(instruction) and not is_crossing(instruction):
            # Here and not before: what says how an array lies on devices is read where it is cut.
            return {device: bundle(row, target) for device, row in rows.items()}
        once = self._once(instruction, target, rows) if self.of_wholes and active is None else None
        if once is not None:
            return dict.fromkeys(rows, once)
        if self.links.knows(instruction):
            return self.links.wire(instruction, target, rows, everyone=active is None)
        if any(callee in self.exchanging for callee in instruction.called_computations()):
            return self._together(instruction, target, rows, active)
        return {device: self._alone(instruction, target, row, device) for device, row in rows.items()}

    def _alone(self, instruction: Instruction, target: Computation, operands: Row, device: int) -> Instruction:
        """An instruction that exchanges nothing, on one device."""
        copy = instruction.clone(operands)
        # What exchanged stands nowhere any more, and values alone decide the order of what is left.
        copy.attributes.pop(PREDECESSORS, None)
        for name, value in copy.attributes.items():
            if isinstance(value, Computation):
                copy.attributes[name] = self._of(value, device)
            elif isinstance(value, tuple) and value and isinstance(value[0], Computation):
                copy.attributes[name] = tuple(self._of(callee, device) for callee in value)
        return target.add(copy)

    def _once(self, instruction: Instruction, target: Computation, rows: Rows) -> Instruction | None:
        """One instruction for all devices, where each has the same operands and makes the same of them; else None.

        So it is outside of manual regions, but also where a device only computes with what all have.  Whether control
        flow makes the same, its computations tell when they have been copied.
        """
        row = next(iter(rows.values()))
        if any(tuple(other) != tuple(row) for other in rows.values()) or self.links.knows(instruction):
            return None
        copy = instruction.clone(row)
        copy.attributes.pop(PREDECESSORS, None)
        for name, value in copy.attributes.items():
            callees = (value,) if isinstance(value, Computation) else value
            if not (isinstance(callees, tuple) and callees and isinstance(callees[0], Computation)):
                continue
            copies = [self._same(callee) if callee in self.looking else callee for callee in callees]
            known = tuple(callee for callee in copies if callee is not None)
            if len(known) < len(copies):
                copy.set_operands(())
                return None
            copy.attributes[name] = known[0] if isinstance(value, Computation) else known
        return target.add(copy)

    def _same(self, computation: Computation) -> Computation | None:
        """A computation that looks at devices, as one that does the same for all of them; None where it does not."""
        if any(i.opcode in _TRANSFERS for c in reached([computation]) for i in c.instructions):
            return None  # what is sent and not yet received would be sent twice
        copy = Computation(computation.name)
        copy.attributes = dict(computation.attributes)
        given = [parameter(copy, p.parameter_number, p.shape, name=p.name) for p in computation.parameters]
        results = self.copy(computation, copy, [dict.fromkeys(self.all, one) for one in given], self.all, None)
        if len(set(results.values())) > 1:
            return None
        copy.root = results[0]
        return self.module.add_computation(copy)

    def _of(self, computation: Computation, device: int) -> Computation:
        """A computation as one device runs it: the same for all, unless it asks for the device's number."""
        if computation not in self.looking:
            return computation
        if (computation, device) not in self.own:
            copy = Computation(computation.name)
            copy.attributes = dict(computation.attributes)
            arguments = [{device: parameter(copy, p.parameter_number, p.shape)} for p in computation.parameters]
            copy.root = self.copy(computation, copy, arguments, (device,), None)[device]
            self.own[computation, device] = self.module.add_computation(copy)
        return self.own[computation, device]

    def _together(self, instruction: Instruction, target: Computation, rows: Rows, active: Many | None) -> Many:
        """A call, loop or conditional in which devices exchange."""
        devices = tuple(rows)
        if instruction.opcode in _CALLS:
            columns = zip(*rows.values(), strict=True)
            arguments = [dict(zip(devices, column, strict=True)) for column in columns]
            (callee,) = instruction.called_computations()
            return self.copy(callee, target, arguments, devices, active)
        if instruction.opcode == "conditional":
            return self._conditional(instruction, target, rows, active)
        if instruction.opcode == "while":
            state = {device: row[0] for device, row in rows.items()}
            if active is None and is_uniform(instruction):
                return self._uniform_while(instruction, target, state)
            return self._while(instruction, target, state, active)
        raise instruction.unsupported("what it applies to elements exchanges data")

    def _conditional(self, instruction: Instruction, target: Computation, rows: Rows, active: Many | None) -> Many:
        results: Many = {}
        branches = branches_of(instruction)
        for number, branch in reversed(list(enumerate(branches))):
            chosen = {device: _takes(row[0], number, len(branches)) for device, row in rows.items()}
            inside = chosen if active is None else {d: _and(active[d], chosen[d]) for d in rows}
            argument = {device: row[1 + number] for device, row in rows.items()}
            values = self.copy(branch, target, [argument], tuple(rows), inside)
            results = {d: _select(chosen[d], values[d], results.get(d, values[d])) for d in rows}
        return results

    def _uniform_while(self, instruction: Instruction, target: Computation, state: Many) -> Many:
        """A loop that all devices leave at once: the first says when."""
        devices, initial = tuple(state), build(target, "tuple", list(state.values()))
        goes_on, once = (self._on_all(instruction.attributes[name], initial.shape, devices)
                         for name in ("condition", "body"))  # fmt: skip
        goes_on.root = element(goes_on.root, 0)
        loop = build(target, "while", [initial], condition=goes_on, body=once, name=instruction.name)
        return {device: element(loop, number) for number, device in enumerate(devices)}

    def _on_all(self, source: Computation, shape: Shape, devices: Sequence[int]) -> Computation:
        """A computation from the tuple of all devices' arguments to that of their results."""
        copy = Computation(source.name)
        given = parameter(copy, 0, shape)
        argument = {device: element(given, number) for number, device in enumerate(devices)}
        results = self.copy(source, copy, [argument], devices, None)
        copy.root = build(copy, "tuple", [results[device] for device in devices])
        return self.module.add_computation(copy)

    def _while(self, instruction: Instruction, target: Computation, state: Many, active: Many | None) -> Many:
        """A loop whose state is that of all devices, then for each of them whether it goes on."""
        devices, condition = tuple(state), instruction.attributes["condition"]
        goes_on = self._goes_on(condition, target, state, active)
        initial = build(target, "tuple", [*state.values(), *goes_on.values()])
        body = Computation(instruction.attributes["body"].name)
        before, still = _halves(parameter(body, 0, initial.shape), devices)
        results = self.copy(instruction.attributes["body"], body, [before], devices, still)
        after = {device: _select(still[device], results[device], before[device]) for device in devices}
        goes_on = self._goes_on(condition, body, after, still)
        body.root = build(body, "tuple", [*after.values(), *goes_on.values()])
        anyone = Computation(condition.name)
        _, flags = _halves(parameter(anyone, 0, initial.shape), devices)
        anyone.root = reduce(lambda left, right: build(anyone, "or", [left, right]), flags.values())
        callees = [self.module.add_computation(computation) for computation in (anyone, body)]
        loop = build(target, "while", [initial], condition=callees[0], body=callees[1], name=instruction.name)
        return _halves(loop, devices)[0]

    def _goes_on(self, condition: Computation, target: Computation, state: Many, active: Many | None) -> Many:
        answers = self.copy(condition, target, [state], tuple(state), active)
        return answers if active is None else {d: _and(active[d], answer) for d, answer in answers.items()}


def _that_reach(module: Module, holds: Callable[[Instruction], bool]) -> set[Computation]:
    """The computations in which such an instruction stands, or that call one of those; callees come first."""
    found: set[Computation] = set()
    for computation in module.computations:
        if any(holds(i) or found.intersection(i.called_computations()) for i in computation.instructions):
            found.add(computation)
    return found


def _takes(index: Instruction, number: int, count: int) -> Instruction:
    """Whether an index names a branch: the first of two if it is true, the last if it is out of range."""
    given = Expression(index)
    if given.type is PRED:
        return index if number == 0 else build(index.computation, "not", [index])
    if number < count - 1:
        return given.compare("EQ", number).instruction
    return _or(given.compare("LT", 0).instruction, given.compare("GE", number).instruction)


def _and(left: Instruction, right: Instruction) -> Instruction:
    return build(left.computation, "and", [left, right])


def _or(left: Instruction, right: Instruction) -> Instruction:
    return build(left.computation, "or", [left, right])


def _select(chosen: Instruction, then: Instruction, otherwise: Instruction) -> Instruction:
    """A choice between two values of any shape."""
    shape = then.shape
    if then is otherwise:
        return then
    if isinstance(shape, TupleShape):
        numbers_ = range(len(shape.elements))
        elements = [_select(chosen, element(then, i), element(otherwise, i)) for i in numbers_]
        return build(then.computation, "tuple", elements)
    assert isinstance(shape, ArrayShape)
    if shape.element_type.kind is Kind.OPAQUE:
        return then
    return Expression(chosen).where(Expression(then), Expression(otherwise)).instruction


def _halves(state: Instruction, devices: Sequence[int]) -> tuple[Many, Many]:
    """The states of the devices, and whether each goes on."""
    states = {device: element(state, number) for number, device in enumerate(devices)}
    return states, {device: element(state, len(devices) + number) for number, device in enumerate(devices)}
