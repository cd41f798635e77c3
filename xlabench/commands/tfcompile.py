"""`xlabench tfcompile`: a graph as an object file and a C++ class, as TensorFlow's tool of that name makes them."""

from __future__ import annotations

import json
from pathlib import Path

import click

import compiler
from compiler import aot
from xlabench import atomic
from xlabench.cases.open_sizes import OpenSizes
from xlabench.commands.examples import examples

_LINKERS = {"x86_64": "c++", "aarch64": "aarch64-linux-gnu-g++"}

_EXAMPLES = """
xlabench tfcompile --graph graph.pb --config graph.config.pbtxt --cpp-class foo::bar::MatMul --out build
    build/mat_mul.h has the class, build/mat_mul.o what it calls
xlabench tfcompile --graph model/ --cpp-class Model --target aarch64 --out build
    a SavedModel: feeds and fetches are those of its signature, variables are constants
"""


@click.command(
    name="tfcompile",
    short_help="Compile a graph of TensorFlow's ahead of time to an object file with a C++ class.",
    epilog=examples(_EXAMPLES),
)
@click.option(
    "--graph",
    required=True,
    type=click.Path(path_type=Path),
    help="A GraphDef, as text or in binary form, or the folder of a SavedModel.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="What is fed and fetched: a message tensorflow.tf2xla.Config.  [default: a SavedModel's signature]",
)
@click.option("--signature", default="serving_default", show_default=True, help="Which one, of a SavedModel.")
@click.option("--shapes", metavar="SIZES", help="Sizes that nothing else says: N for each, or NAME:NxN,...")
@click.option("--cpp-class", required=True, metavar="NS::CLASS", help="The class that is made.")
@click.option("--target", default="x86_64", show_default=True, metavar="MACHINE", help="x86_64 or aarch64.")
@click.option("--cpu", default="", metavar="NAME", help="LLVM's name of the CPU.  [default: what runs on every one]")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the files.")
@click.option("--opt", type=click.IntRange(0, 3), default=3, show_default=True, help="LLVM's optimisation level.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def command(  # noqa: PLR0913 - an argument for each option
    graph: Path,
    config: Path | None,
    signature: str,
    shapes: str | None,
    cpp_class: str,
    target: str,
    cpu: str,
    out: Path,
    opt: int,
    *,
    as_json: bool,
) -> None:
    """Compile a graph of TensorFlow's ahead of time, without TensorFlow: an object file and the header of a class.

    The class has the methods of the one that TensorFlow's tfcompile makes: arg0, arg_NAME, set_arg_NAME_data, Run,
    result0, result_NAME, var_NAME, error_msg.  Its objects have memory of their own, so several may run at once, each
    on one thread.  What is linked needs libc and libm.

    A variable that the config lists is the caller's, who gives it and gets it back; one that it does not is an error,
    but of a SavedModel, where it is a constant.  Sizes must be known: where the graph leaves them open the config says
    them, or --shapes.  A config that fetches nothing adds to what the signature of a SavedModel says.

    What has no lowering is refused by its op's name (exit code 125).  It needs the package protobuf (the extra
    `graphs`).

    With --json: `files`, `class`, and `link`, a command that links a main of yours with them.
    """
    atomic.require_folder(out)
    made_for = aot.CppClass.parse(cpp_class)
    options = compiler.CompileOptions(opt=opt)
    read, said = aot.read_graph_and_config(graph, config, signature)
    sizes = OpenSizes.parse(shapes, is_required=True)
    said = aot.with_open_sizes(read, said, sizes)
    sizes.require_use(graph)
    sizes.show()
    made = aot.tfcompile(read, said, made_for, target, cpu, options)
    atomic.write_all(out, made)
    objects = " ".join(name for name in made if name.endswith(".o"))
    link = f"{_LINKERS[target]} -O2 -o main main.cc {objects} -lm"
    if as_json:
        click.echo(json.dumps({"class": cpp_class, "files": sorted(made), "link": link}))
        return
    for name, data in made.items():
        click.echo(f"{out / name}: {len(data):,} bytes")
    click.echo(f"link in that folder, with a main.cc of yours: {link}")
