"""`xlabench bundle show|verify|export`: look into a bundle, check it, hand it to people without this tool."""

from __future__ import annotations

import json
from pathlib import Path

import click

from xlabench import atomic
from xlabench.bundles import bundle as bundles
from xlabench.bundles.packing import pack_arrays
from xlabench.cases import programs
from xlabench.cases.literals_text import write_literals
from xlabench.commands.examples import examples
from xlabench.commands.judging_options import timeout_option
from xlabench.commands.target import new_folder
from xlabench.errors import ExitCode

_SCRIPT = '''"""Run this program on XLA's CPU client through jaxlib.

    python -m pip install jax ml_dtypes && python run_in_jax.py

It prints how many elements of each result differ from the expected ones by more than {rtol:g} relative to the largest.
"""

from pathlib import Path

import ml_dtypes
import numpy as np
from jax import core
from jaxlib import _hlo, _jax, xla_client

HERE = Path(__file__).resolve().parent
DTYPES = {dtypes!r}


def read(name):
    with np.load(HERE / f"{{name}}.npz", allow_pickle=False) as archive:
        arrays = [archive[key] for key in archive.files]
    wanted = [np.dtype(getattr(ml_dtypes, dtype, dtype)) for dtype in DTYPES[name]]
    return [a if a.dtype == dtype else a.view(dtype) for a, dtype in zip(arrays, wanted, strict=True)]


client = xla_client.make_cpu_client(asynchronous=False)
device = client.local_devices()[0]
module = _hlo.hlo_module_from_text((HERE / "module.hlo").read_text())
stablehlo = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
program = client.compile_and_load(stablehlo, _jax.DeviceList((device,)), _jax.CompileOptions())
sharding = _jax.SingleDeviceSharding(device)
inputs = []
for array in read("inputs"):
    shape = core.ShapedArray(array.shape, array.dtype)
    inputs.append(_jax.batched_device_put(shape, sharding, [array], [device], enable_x64=True))
results = program.execute_sharded(inputs).disassemble_into_single_device_arrays()
for number, (parts, expected) in enumerate(zip(results, read("expected"), strict=True)):
    actual, wide = np.asarray(parts[0]), np.complex128
    got, want = actual.astype(wide), expected.astype(wide)
    bound = {rtol!r} * np.max(np.abs(want), initial=0, where=np.isfinite(want))
    wrong = ~((got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= bound))
    print(f"result {{number}}: {{int(wrong.sum())}} of {{wrong.size}} elements differ")
'''
_RTOL = 1e-4

_EXAMPLES = """
xlabench bundle show failure.zip
    what it holds
xlabench bundle export failure.zip --out for-xla
    a folder for people without this tool
"""


@click.group(
    name="bundle",
    short_help="Show, verify or export a repro bundle.",
    epilog=examples(_EXAMPLES),
)
def command() -> None:
    """Show, verify or export a repro bundle."""


@command.command(short_help="Say what a bundle holds.")
@click.argument("folder", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def show(folder: Path, *, as_json: bool) -> None:
    """Say what BUNDLE holds, without running anything."""
    failure = bundles.load(folder)
    arrays = {
        name: [f"{array.dtype.name}[{','.join(map(str, array.shape))}]" for array in values]
        for name, values in (("inputs", failure.inputs), ("expected", failure.expected), ("actual", failure.actual))
    }
    fields = {name: getattr(failure, name) for name in ("verdict", "message", "engine", "reference", "seed")}
    fields["judged_by"] = "bounds" if failure.bounds is not None else "tolerance"
    if as_json:
        original = failure.original.module_text if failure.original else None
        click.echo(json.dumps({**fields, **arrays, "module": failure.module_text, "original": original}))
        return
    for name, value in fields.items():
        if value is not None:  # of a reduced program no seed makes the inputs
            click.echo(f"{name}: {value}")
    for name, shapes in arrays.items():
        click.echo(f"{name}: {', '.join(shapes) or 'none'}")
    click.echo(f"\n{failure.module_text.rstrip()}")
    if failure.original is not None:
        click.echo(f"\nreduced from\n\n{failure.original.module_text.rstrip()}")


@command.command(short_help="Check that a bundle is whole and that its failure shows.")
@click.argument("folder", metavar="BUNDLE", type=click.Path(path_type=Path))
@timeout_option(300.0)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def verify(ctx: click.Context, folder: Path, *, timeout: float, as_json: bool) -> None:
    """Check that BUNDLE is whole and replay it: exit 0 if its failure shows as recorded, 1 if not."""
    outcome = bundles.replay(folder, timeout_s=timeout)
    holds = outcome.verdict == outcome.recorded
    code = ExitCode.FINE if holds else ExitCode.WRONG
    if as_json:
        fields = {"verdict": outcome.verdict, "recorded": outcome.recorded, "message": outcome.message}
        click.echo(json.dumps({**fields, "holds": holds, "exit_code": int(code)}))
    else:
        click.echo(f"{folder}: {'holds' if holds else 'does not hold'}: {outcome.verdict}, recorded {outcome.recorded}")
    ctx.exit(code)


@command.command(short_help="Write a bundle for people without this tool.")
@click.argument("folder", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder to write to.")
def export(folder: Path, *, out: Path) -> None:
    """Write BUNDLE as HLO text and literals for XLA's run_hlo_module, and as a script for jaxlib."""
    failure = bundles.load(folder)
    literals = write_literals(failure.inputs, failure.actual, failure.expected)
    dtypes = {
        name: [array.dtype.name for array in values]
        for name, values in (("inputs", failure.inputs), ("expected", failure.expected))
    }
    files = {
        "module.hlo": programs.encoded(failure.module_text),
        "literals.textproto": literals.encode(),
        "inputs.npz": pack_arrays(failure.inputs),
        "expected.npz": pack_arrays(failure.expected),
        "run_in_jax.py": _SCRIPT.format(dtypes=dtypes, rtol=_RTOL).encode(),
    }
    new_folder(out)
    for name, data in files.items():
        atomic.write(out / name, data)
    click.echo(f"written to {out}; run it with")
    click.echo("  run_hlo_module --platform=CPU --input_format=hlo --input_literals_file=literals.textproto module.hlo")
    click.echo("  python run_in_jax.py")
