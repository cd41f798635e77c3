"""`xlabench compile`: a program as an object file, for machines that have neither Python nor a compiler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import compiler
from xlabench import atomic
from xlabench.cases import programs
from xlabench.cases.open_sizes import OpenSizes
from xlabench.commands.examples import examples
from xlabench.commands.judging_options import signature_option

_LINKERS = {"x86_64": "cc", "aarch64": "aarch64-linux-gnu-gcc"}

_EXAMPLES = """
xlabench compile model.hlo --target aarch64 --out build
    cc build/*.c build/*.o -lm makes a program of it
"""


@click.command(
    name="compile",
    short_help="Compile a program ahead of time to an object file with a C interface.",
    epilog=examples(_EXAMPLES),
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--target", default="x86_64", show_default=True, metavar="MACHINE", help="x86_64 or aarch64.")
@click.option("--cpu", default="", metavar="NAME", help="LLVM's name of the CPU.  [default: what runs on every one]")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the files.")
@click.option("--name", default="", help="Name of the C function and of the files.  [default: the module's]")
@click.option("--opt", type=click.IntRange(0, 3), default=3, show_default=True, help="LLVM's optimisation level.")
@click.option("--module", type=click.IntRange(1), metavar="N", help="The module, of a file that holds several.")
@signature_option
@click.option("--shapes", metavar="SIZES", help="Sizes that FILE leaves open: N for each, or NAME:NxN,...")
@click.option("--fill-elided", type=click.IntRange(0), metavar="SEED", help="Make up constants that the file left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def command(file: Path, out: Path, **asked: Any) -> None:
    """Compile FILE ahead of time: an object file, its C header, a small main in C and the same facts as JSON.

    The function runs on one thread and needs nothing but libc and libm.  The main reads parameters from files of raw
    numbers and writes results to such files.  Sizes that FILE leaves open must be given, by --shapes.
    """
    atomic.require_folder(out)
    options = compiler.CompileOptions(opt=asked["opt"], fill_elided=asked["fill_elided"])
    shapes = OpenSizes.parse(asked["shapes"], is_required=True)
    module = programs.read(file, module=asked["module"], signature=asked["signature"], shapes=shapes)
    shapes.show()
    made = compiler.compile_ahead(module, asked["target"], asked["cpu"], options, name=asked["name"])
    atomic.write_all(out, made)
    objects = [name for name in made if name.endswith(".o")]
    link = f"{_LINKERS[asked['target']]} -O2 -o {Path(objects[0]).stem} main.c {' '.join(objects)} -lm"
    if asked["as_json"]:
        facts = json.loads(next(data for name, data in made.items() if name.endswith(".json")))
        click.echo(json.dumps({**facts, "files": sorted(made), "link": link}))
        return
    for name, data in made.items():
        click.echo(f"{out / name}: {len(data):,} bytes")
    click.echo(f"link in that folder: {link}")
