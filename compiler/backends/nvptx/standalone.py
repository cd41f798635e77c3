"""The simulator by itself: one kernel of any PTX text on arrays, its results, its faults and what it executed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compiler.backends.nvptx.cards import card_for
from compiler.backends.nvptx.device import Array
from compiler.backends.nvptx.simulator import (
    LaunchOptions,
    LaunchStatistics,
    Machine,
    PtxModule,
    SimulationError,
    parse_ptx,
)
from compiler.backends.nvptx.timing import Modelled, block_of, model
from compiler.diagnostics import InputError

Extent = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is launched.

    Attributes:
        kernel: its name; "" where the module has only one.
        grid: blocks in x, y and z.
        block: threads of a block in x, y and z.
        shared_bytes: dynamic shared memory.
        uninitialised: arguments whose memory is not filled: an element must be written before it is read.
        check_global_races: report data races in global memory too.
    """

    kernel: str
    grid: Extent
    block: Extent
    shared_bytes: int = 0
    uninitialised: frozenset[str] = frozenset()
    check_global_races: bool = False


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a launch did, and how long a GPU is expected to take: the arrays as they are afterwards, or the fault."""

    kernel: str
    results: Mapping[str, Array] = field(default_factory=dict)
    statistics: LaunchStatistics | None = None
    modelled: Modelled | None = None
    fault: SimulationError | None = None


def simulate(text: str, launch: Launch, arguments: Mapping[str, Array], *, filename: str = "<ptx>") -> Simulation:
    """Run one kernel of a PTX text.

    Arguments go to parameters by name if every parameter has one, else in order.  An array of rank 0 is passed by
    value, any other is copied to global memory and passed by its address.  What is wrong with the text or the arguments
    raises ParseError or InputError; what is wrong with the kernel is the result's `fault`.

    Args:
        text: of a PTX module.
        launch: the kernel's name, its grid, and what is checked.
        arguments: arrays by parameters' names, or in order.
        filename: for messages.
    """
    module = parse_ptx(text, filename=filename)
    kernel = _kernel(module, launch.kernel)
    parameters = [parameter.name for parameter in module.kernels[kernel].parameters]
    given = _by_parameter(kernel, parameters, arguments)
    machine = Machine()
    addresses, values = _store_inputs(machine, given, launch.uninitialised)
    options = LaunchOptions(check_global_races=launch.check_global_races, profile=True)
    try:
        statistics = machine.launch(
            module, kernel, launch.grid, launch.block, values, shared_bytes=launch.shared_bytes, options=options
        )
    except SimulationError as fault:
        return Simulation(kernel, fault=fault)
    results = {name: _fetch(machine, addresses[name], array) for name, array in given.items() if name in addresses}
    return Simulation(kernel, results, statistics, _modelled(module, kernel, launch, statistics))


def _modelled(module: PtxModule, kernel: str, launch: Launch, statistics: LaunchStatistics) -> Modelled:
    """How long a GPU of the text's architecture, or the one that is known of those nearest to it, takes by a model."""
    card = card_for(int("".join(filter(str.isdigit, module.target.partition(",")[0])) or 0))
    block = block_of(module.kernels[kernel], math.prod(launch.block), statistics.shared_bytes, card)
    assert statistics.profile is not None
    return model(statistics.profile, math.prod(launch.grid), block, card)


def _kernel(module: PtxModule, name: str) -> str:
    known = ", ".join(module.kernels)
    if name:
        if name not in module.kernels:
            raise InputError(f"no kernel {name!r} in {module.filename}; kernels are: {known or 'none'}")
        return name
    if len(module.kernels) != 1:
        raise InputError(f"{module.filename} has {len(module.kernels)} kernels; name one of: {known or 'none'}")
    return next(iter(module.kernels))


def _by_parameter(kernel: str, parameters: Sequence[str], arguments: Mapping[str, Array]) -> dict[str, Array]:
    """The arguments in the order of the parameters, under their own names."""
    if set(parameters) <= set(arguments):
        return {name: arguments[name] for name in parameters}
    if len(arguments) != len(parameters):
        raise InputError(
            f"{kernel} has {len(parameters)} parameters ({', '.join(parameters)}), {len(arguments)} arguments are "
            f"given ({', '.join(arguments)}); give one for each, in order or by name"
        )
    return dict(arguments)


def _store_inputs(
    machine: Machine, given: Mapping[str, Array], uninitialised: frozenset[str]
) -> tuple[dict[str, int], list[int | np.generic]]:
    """Where arrays lie, and what is passed for every argument."""
    unknown = sorted(uninitialised - {name for name, array in given.items() if array.ndim})
    if unknown:
        raise InputError(
            f"no array {unknown[0]!r} among the arguments to leave uninitialised; they are: {', '.join(given)}"
        )
    addresses: dict[str, int] = {}
    values: list[int | np.generic] = []
    for name, array in given.items():
        if not array.ndim:
            values.append(array.dtype.type(array))
            continue
        addresses[name] = machine.allocate(array.nbytes, name)
        if array.nbytes and name not in uninitialised:
            machine.write(addresses[name], array)
        values.append(addresses[name])
    return addresses, values


def _fetch(machine: Machine, address: int, like: Array) -> Array:
    raw = machine.read(address, like.nbytes) if like.nbytes else b""
    return np.frombuffer(raw, like.dtype).reshape(like.shape).copy()
