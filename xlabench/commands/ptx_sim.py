"""`xlabench ptx-sim`: one kernel of a PTX file on the simulator, with everything that it finds wrong."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

import compiler
from xlabench.cases.inputs import read_npz
from xlabench.commands.examples import examples
from xlabench.errors import BenchError, ExitCode

_MOST_SHOWN = 8
_MOST_BLOCKS = (2**31 - 1, 65_535, 65_535)
"""Blocks of a grid in x, y and z (CUDA C++ Programming Guide, technical specifications per compute capability)."""


class Extent(NamedTuple):
    """Blocks of a grid, or threads of a block, in each dimension."""

    x: int
    y: int
    z: int


class _ExtentOption(click.ParamType[Extent]):
    """One to three numbers, `X[,Y[,Z]]`."""

    name = "X[,Y[,Z]]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Extent:
        numbers = value.split(",")
        if len(numbers) > 3 or not all(number.isascii() and number.isdigit() and int(number) > 0 for number in numbers):
            self.fail(f"{value!r} is not one to three numbers from 1 on, such as 4 or 4,2,1", param, ctx)
        x, y, z = [*map(int, numbers), 1, 1][:3]
        if any(number > most for number, most in zip((x, y, z), _MOST_BLOCKS, strict=True)):
            most = ",".join(map(str, _MOST_BLOCKS))
            self.fail(f"{value!r} is more than any GPU launches, {most} at most", param, ctx)
        return Extent(x, y, z)


@dataclass(frozen=True, slots=True)
class Request:
    """The command line."""

    file: Path
    kernel: str
    grid: Extent
    block: Extent
    args: Path | None
    out: Path | None
    shared: int
    uninitialised: tuple[str, ...]
    global_races: bool
    as_json: bool


_EXAMPLES = """
xlabench ptx-sim kernel.ptx --grid 4 --block 128 --args inputs.npz --out after.npz
    reads and writes out of bounds, races and the like end it with 1
"""


@click.command(
    name="ptx-sim",
    short_help="Run a kernel of a PTX file on the simulator.",
    epilog=examples(_EXAMPLES),
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--kernel", default="", metavar="NAME", help="Which kernel.  [default: the only one]")
@click.option("--grid", type=_ExtentOption(), default="1", show_default=True, help="Blocks of the grid.")
@click.option("--block", type=_ExtentOption(), required=True, help="Threads of a block.")
@click.option("--args", type=click.Path(path_type=Path), help="The arguments as an .npz file, by name or in order.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the arrays as they are afterwards to an .npz file.")
@click.option("--shared", default=0, type=click.IntRange(0), metavar="BYTES", help="Dynamic shared memory.")
@click.option("--uninitialised", multiple=True, metavar="NAME", help="An array whose memory starts without contents.")
@click.option("--global-races", is_flag=True, help="Look for data races in global memory too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Run one kernel of a PTX file: exit 0 if it ends, 1 if the simulator finds a fault in it.

    An array of rank 0 in the .npz file is passed by value; any other lies in global memory and is passed by address.
    """
    request = Request(**options)
    arguments = read_npz(request.args) if request.args else {}
    launch = compiler.ptx.Launch(
        request.kernel,
        request.grid,
        request.block,
        request.shared,
        frozenset(request.uninitialised),
        request.global_races,
    )
    simulation = compiler.ptx.simulate(_read(request.file), launch, arguments, filename=str(request.file))
    if request.out is not None and simulation.fault is None:
        _write(request.out, dict(simulation.results))
    if request.as_json:
        click.echo(json.dumps(_to_json(simulation)))
    else:
        _show(simulation)
    ctx.exit(ExitCode.WRONG if simulation.fault else ExitCode.FINE)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BenchError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BenchError(f"{path}: not a text file: {error}; give PTX, not a cubin") from error


def _write(path: Path, arrays: dict[str, np.ndarray[Any, np.dtype[Any]]]) -> None:
    try:
        # Not numpy.savez: an array may be called `file`, which that takes for its own argument.
        with zipfile.ZipFile(path, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w") as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
    except OSError as error:
        raise BenchError(f"{path}: cannot be written: {error.strerror or error}") from error


def _to_json(simulation: compiler.ptx.Simulation) -> dict[str, Any]:
    statistics, fault = simulation.statistics, simulation.fault
    return {
        "kernel": simulation.kernel,
        "fault": fault
        and {
            "kind": fault.kind,
            "message": fault.message,
            "line": fault.line,
            "block": fault.block,
            "thread": fault.thread,
        },
        "lane_instructions": statistics and statistics.lane_instructions,
        "duration_s": statistics and statistics.duration_s,
        "rate_per_s": statistics and statistics.rate_per_s,
        "profile": statistics and statistics.profile and asdict(statistics.profile),
        "modelled": simulation.modelled and _modelled(simulation.modelled),
        "instructions": statistics and statistics.instructions,
        "results": {name: {"dtype": str(a.dtype), "shape": a.shape} for name, a in simulation.results.items()},
    }


def _modelled(modelled: Any) -> dict[str, Any]:
    names = ("ns", "limit", "roofs", "registers")
    return {**{name: getattr(modelled, name) for name in names}, "occupancy": asdict(modelled.occupancy)}


def _counts(simulation: compiler.ptx.Simulation) -> Iterator[str]:
    """What the kernel keeps a GPU busy with, a line for each resource."""
    modelled = simulation.modelled
    assert modelled is not None
    profile, occupancy = modelled.profile, modelled.occupancy
    if profile.global_sectors:
        yield f"global memory: {_beside(profile.global_sectors, profile.least_global_sectors, 'sectors')}"
    if profile.shared_passes:
        yield f"shared memory: {_beside(profile.shared_passes, profile.least_shared_passes, 'passes')}"
    if profile.atomics:
        yield f"atomics: {profile.atomics:,}, of which {profile.atomic_passes:,} come one after the other"
    yield f"divergence: {profile.idle_share:.0%} of the lanes that execute are idle"
    yield (
        f"occupancy: {occupancy.share:.0%}, {occupancy.blocks} blocks of a multiprocessor by {occupancy.limit}, "
        f"{modelled.registers} registers (estimated)"
    )
    yield f"time by a model: {modelled.ns:,.0f} ns, its launch included; most is {modelled.limit}"


def _beside(count: int, least: int, unit: str) -> str:
    return f"{count:,} {unit}, {count / least:.2f} times the least there could be"


def _show(simulation: compiler.ptx.Simulation) -> None:
    if simulation.fault is not None:
        click.echo(f"{simulation.kernel}: {simulation.fault}")
        return
    statistics = simulation.statistics
    assert statistics is not None
    rate = f"{statistics.rate_per_s / 1e6:.1f} million a second"
    click.echo(f"{simulation.kernel}: {statistics.lane_instructions:,} lane-instructions, {rate}")
    for line in _counts(simulation):
        click.echo(line)
    for name, array in simulation.results.items():
        values = ", ".join(str(value) for value in array.reshape(-1)[:_MOST_SHOWN])
        more = ", ..." if array.size > _MOST_SHOWN else ""
        click.echo(f"{name}: {array.dtype}[{','.join(map(str, array.shape))}] {{{values}{more}}}")
