"""Programs for many devices, run in lock-step in one process: each instruction on all devices, then the next.

The reference's loop carries one value for each device (`Many`).  What computes is evaluated device by device; what
exchanges sees all of them.  Where control flow parts the devices, those that go the same way go together; a collective
that some of its devices do not reach would wait forever on real ones and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.device_rules import Grid
from compiler.devices.exchange import EXCHANGES, cross
from compiler.devices.groups import groups, pairs
from compiler.devices.host import Channels, Host
from compiler.diagnostics import InputError
from compiler.interpreter import Interpreter, flatten
from compiler.ir.calls import reached
from compiler.ir.manual import Cut, cuts_of, is_crossing
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.numbers import Array
from compiler.ir.opdef import Evaluator, Value, zeros
from compiler.ir.permuting import permuted
from compiler.ir.shape import TupleShape
from compiler.ops import OPS, Trait, having
from compiler.ops.asynchronous import runs_late
from compiler.ops.collective import begun, check_sizes
from compiler.ops.host import OPS as HOST
from compiler.plan import check_inputs, check_module, exchanges, is_of_wholes
from compiler.precision import unified

Many = dict[int, Any]
"""The value on each of the devices that run now."""

_CONTROL = having(Trait.CONTROL | Trait.CALLS)


def interpret_devices(
    module: Module, inputs: Sequence[Sequence[Any]], *, hosts: Sequence[Host] | None = None
) -> list[list[Array]]:
    """Run a module on all of its devices; one list of inputs, of results and one host for each.

    Devices are numbered `replica * num_partitions + partition`.  A host has the queues that infeed, outfeed and host
    transfers of its device work on.

    Args:
        module: the program.
        inputs: a list for each device.
        hosts: a host for each device, which has the queues of infeed and outfeed.

    Raises:
        InputError: the lists are not as many as the devices.
    """
    module = unified(module)
    grid = Grid.of(module)
    if len(inputs) != grid.size:
        raise InputError(
            f"{module.name} runs on {grid.size} devices ({grid.replicas} replicas of {grid.partitions} partitions), "
            f"inputs of {len(inputs)} given: give one list for each"
        )
    hosts = [Host() for _ in inputs] if hosts is None else hosts
    if len(hosts) != grid.size:
        raise InputError(f"{module.name} runs on {grid.size} devices, {len(hosts)} hosts given: give one for each")
    per_device = [check_inputs(module, given) for given in inputs]
    check_module(module, copies=grid.size)
    _check_mapped(module)
    arguments = [dict(enumerate(values)) for values in zip(*per_device, strict=True)]
    with np.errstate(all="ignore"):
        results = _Devices(grid, Channels(grid, hosts)).run(module.entry, arguments, range(grid.size))
    return [[np.array(leaf, order="C") for leaf in flatten(results[device])] for device in range(grid.size)]


def interpret_flat(module: Module, inputs: Sequence[Any]) -> list[Array]:
    """Run a program for several devices on the inputs of all in one list, device 0 first, and so the results.

    A program of whole arrays takes them once, and gives them once: outside of its regions all devices have the same.

    Raises:
        InputError: the inputs are not as many for each device.
    """
    size = Grid.of(module).size
    if is_of_wholes(module):
        return interpret_devices(module, [inputs] * size)[0]
    if len(inputs) % size:
        raise InputError(
            f"{module.name} runs on {size} devices, {len(inputs)} inputs given: give those of device 0 first, then "
            "those of the others, the same number for each"
        )
    count = len(inputs) // size
    shares = [inputs[device * count : (device + 1) * count] for device in range(size)]
    return [result for results in interpret_devices(module, shares) for result in results]


@dataclass(frozen=True, slots=True)
class _Answer:
    """Stands in for the interpreter where a computation has already been run on all devices."""

    value: Any

    def call(self, _: Computation, __: Sequence[Value]) -> Value:
        """The value."""
        result: Value = self.value
        return result

    def map(self, computation: Computation, arguments: Sequence[Array]) -> Value:
        """Not asked by ops that call."""
        return self.call(computation, arguments)


@dataclass(slots=True)
class _Asked:
    """Finds out which computation an op would call, and with which arguments."""

    computation: Computation | None = None
    arguments: Sequence[Value] = ()

    def call(self, computation: Computation, arguments: Sequence[Value]) -> Value:
        """Note the question; the answer is not looked at."""
        self.computation, self.arguments = computation, arguments
        return ()

    def map(self, computation: Computation, arguments: Sequence[Array]) -> Value:
        """Not asked by ops that call."""
        return self.call(computation, arguments)


Meaning = Callable[[Instruction, Sequence[Any], Evaluator], Any]


class _Devices:
    """All devices of one run."""

    def __init__(self, grid: Grid, channels: Channels) -> None:
        self.grid, self.channels = grid, channels
        self.plain = Interpreter()
        self.loop = Interpreter(around=self._step, handled=frozenset(HOST))
        self.running: Sequence[int] = ()
        self.cuts: dict[Instruction, tuple[Cut, ...]] = {}

    def run(self, computation: Computation, arguments: Sequence[Many], devices: Sequence[int]) -> Many:
        """A computation on some devices."""
        before, self.running = self.running, devices
        result: Any = self.loop.call(computation, arguments)  # type: ignore[arg-type]  # the loop looks at no value
        self.running = before
        return {device: result[device] for device in devices}

    def _step(self, instruction: Instruction, operands: Sequence[Any], _: object) -> Any:
        """One instruction on the devices that run now."""
        opcode = instruction.opcode
        own = {device: [operand[device] for operand in operands] for device in self.running}
        if opcode in EXCHANGES:
            return _started(instruction, own, self._exchange(instruction, own))
        if opcode in ("collective-permute", "collective-permute-start"):
            return _started(instruction, own, self._permute(instruction, own))
        if opcode in HOST:
            return self._host(instruction, own)
        if is_crossing(instruction):
            return self._cross(instruction, own)
        if _runs_others(instruction):
            return self._while(instruction, operands[0]) if opcode == "while" else self._control(instruction, own)
        return {device: self._alone(instruction, device, own[device]) for device in self.running}

    def _alone(self, instruction: Instruction, device: int, values: Sequence[Any]) -> Any:
        """An instruction that looks at one device only."""
        number = _NUMBERS.get(instruction.opcode)
        if number is not None:
            return number(self.grid, device)
        return _meaning(instruction)(instruction, values, self.plain)

    def _exchange(self, instruction: Instruction, own: dict[int, list[Any]]) -> Many:
        results: Many = {}
        for group in groups(instruction, self.grid):
            absent = [device for device in group if device not in own]
            if len(absent) == len(group):
                continue
            if absent:
                raise instruction.unsupported(f"devices {absent} of its group {list(group)} do not reach it")
            answers = EXCHANGES[instruction.opcode](instruction, [own[device] for device in group], self.plain)
            for answer in answers:
                check_sizes(instruction, answer)
            results.update(zip(group, answers, strict=True))
        missing = [device for device in self.running if device not in results]
        if missing and instruction.opcode != "collective-broadcast":
            raise instruction.unsupported(f"devices {missing} run it but are in none of its groups")
        for device in missing:
            results[device] = zeros(instruction.shape)
        return results

    def _cross(self, instruction: Instruction, own: dict[int, list[Any]]) -> Many:
        """Into a manual region or out of it."""
        if instruction not in self.cuts:
            self.cuts[instruction] = cuts_of(instruction)
        if len(own) < self.grid.size:
            absent = sorted(set(range(self.grid.size)).difference(own))
            raise instruction.unsupported(f"devices {absent} of its region do not reach it")
        return cross(instruction, self.cuts[instruction], own)

    def _permute(self, instruction: Instruction, own: dict[int, list[Any]]) -> Many:
        source_of = {target: source for source, target in pairs(instruction, self.grid)}
        absent = [source_of[device] for device in own if source_of.get(device, device) not in own]
        if absent:
            raise instruction.unsupported(f"devices {absent} should send but do not reach it")
        return {device: permuted(instruction, own.get(source_of.get(device, -1)), own[device]) for device in own}

    def _host(self, instruction: Instruction, own: dict[int, list[Any]]) -> Many:
        opcode = instruction.opcode
        if opcode == "infeed":
            return {device: self.channels.hosts[device].feed(instruction) for device in own}
        if opcode == "outfeed":
            for device, (value, _) in own.items():
                self.channels.hosts[device].take(value)
            return dict.fromkeys(own, ())
        if opcode == "send":
            self.channels.send(instruction, {device: values[0] for device, values in own.items()})
            return {device: (values[0], np.zeros((), np.uint32), ()) for device, values in own.items()}
        if opcode == "recv":
            # What is received is looked for when it is waited for: the sender may come in between.
            shape = instruction.shape
            assert isinstance(shape, TupleShape)
            return {device: (zeros(shape.elements[0]), np.zeros((), np.uint32), ()) for device in own}
        if opcode == "recv-done":
            begun = instruction.operands[0]
            return {device: (self.channels.receive(begun, device), ()) for device in own}
        return dict.fromkeys(own, ())

    def _while(self, instruction: Instruction, state: Many) -> Many:
        """Devices leave the loop one after the other; those that are left go on together."""
        condition, body = instruction.attributes["condition"], instruction.attributes["body"]
        final, active = dict(state), list(self.running)
        while active:
            goes_on = self.run(condition, [{device: final[device] for device in active}], active)
            active = [device for device in active if goes_on[device]]
            if active:
                final.update(self.run(body, [{device: final[device] for device in active}], active))
        return final

    def _control(self, instruction: Instruction, own: dict[int, list[Any]]) -> Many:
        """Ops that call one computation, which may be another on each device."""
        calls: dict[Computation, dict[int, Sequence[Value]]] = {}
        for device, values in own.items():
            asked = _Asked()
            # Only the question matters here; a context that is made up for the result is thrown away.
            _meaning(instruction)(instruction, values, asked)
            assert asked.computation is not None, f"{instruction!r} calls a computation"
            calls.setdefault(asked.computation, {})[device] = asked.arguments
        results: Many = {}
        for computation, arguments in calls.items():
            devices = list(arguments)
            columns = zip(*(arguments[device] for device in devices), strict=True)
            given = [dict(zip(devices, column, strict=True)) for column in columns]
            results.update(self.run(computation, given, devices))
        return {
            device: _meaning(instruction)(instruction, own[device], _Answer(results[device])) for device in self.running
        }


def _started(instruction: Instruction, own: dict[int, list[Any]], results: Many) -> Many:
    """The results, with operands and context where the first half of an asynchronous pair carries them along."""
    pair = begun(instruction)
    if pair is None:
        return results
    return {
        device: (
            own[device][0] if len(own[device]) == 1 else tuple(own[device]),
            result,
            *(zeros(element) for element in pair.elements[2:]),
        )
        for device, result in results.items()
    }


_NUMBERS: dict[str, Callable[[Grid, int], Array]] = {
    "replica-id": lambda grid, device: np.asarray(grid.replica(device), np.uint32),
    "partition-id": lambda grid, device: np.asarray(grid.partition(device), np.uint32),
}


def _runs_others(instruction: Instruction) -> bool:
    """Whether an instruction runs its computations once, so that devices can do it in lock-step."""
    late = instruction.opcode == "async-start" and runs_late(instruction)
    return instruction.opcode in _CONTROL and not late


def _meaning(instruction: Instruction) -> Meaning:
    meaning = OPS[instruction.opcode].evaluate
    assert meaning is not None, f"the plan of a computation holds no {instruction.opcode} without a meaning"
    return meaning


def _check_mapped(module: Module) -> None:
    """Refuse collectives in computations that are applied to elements: those run on each device alone."""
    for instruction in module.instructions():
        if _runs_others(instruction):
            continue
        for computation in reached(instruction.called_computations()):
            if any(map(exchanges, computation.instructions)):
                raise instruction.unsupported(f"{computation.name}, which it applies to elements, exchanges data")


__all__ = ["Host", "interpret_devices", "interpret_flat"]
