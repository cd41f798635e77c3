"""The smallest call of every command, for tests that range over the commands; all read what `prepare` has written."""

from importlib.util import find_spec
from pathlib import Path

PROGRAM = """HloModule m

ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] tanh(x)
  ROOT b = f32[8] multiply(a, x)
}
"""

GRAPH = """node { name: "x" op: "NoOp" }
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 3 } } } }
"""

CONFIG = 'fetch { id { node_name: "c" } }'

SCRIPT = """import json, sys
import tensorflow as tf
with tf.Session() as session:
    print(json.dumps([*sys.argv[1:], float(session.run(tf.constant(1.5) * 2))]))
"""

KERNEL = """.version 7.8
.target sm_80
.address_size 64
.visible .entry k()
{
  ret;
}
"""

READS_GRAPHS = find_spec("google") is not None and find_spec("google.protobuf") is not None
"""Whether the library is installed that files of graphs are read with."""

_TIMES_NONE = "--engines 'reference cpu' --timed reference cpu --processes 0"

CALLS = {
    "run": ("run m.hlo --engine cpu", 0),
    "replay": ("replay bundle", 1),
    "reduce": ("reduce bundle --max-probes 1 --any-cause --out reduced", 0),
    "bisect": ("bisect bundle", 0),
    "isolate": ("isolate m.hlo --engine cpu", 0),
    "recheck": ("recheck bundles", 1),
    "bundle show": ("bundle show bundle", 0),
    "bundle verify": ("bundle verify bundle", 0),
    "bundle export": ("bundle export bundle --out exported", 0),
    "compile": ("compile m.hlo --out built", 0),
    "tfcompile": ("tfcompile --graph g.pbtxt --config c.pbtxt --cpp-class C --out built", 0 if READS_GRAPHS else 125),
    "train": ("train mnist-softmax --engine reference --steps 1", 0),
    "tf": ("tf s.py", 0),
    "nightly": (f"nightly --suite suite --out other {_TIMES_NONE}", 0),
    "report": ("report nights", 0),
    "compare": ("compare nights nights", 0),
    "roofline": ("roofline --engine reference --largest 1024 --out roof", 0),
    "fuzz": ("fuzz --count 1 --out fuzzed --engines 'cpu:opt=0'", 0),
    "mutate": ("mutate suite --count 1 --changes 1 --out mutated --engines 'cpu:opt=0'", 0),
    "ptx-sim": ("ptx-sim k.ptx --block 1", 0),
}
"""Arguments of `xlabench` and the exit code, by subcommand; of a group by its members."""

BY_HAND = {
    "print": ("print m.hlo", 0),
    "verify": ("verify m.hlo", 0),
    "opt": ("opt m.hlo", 0),
    "run": ("run m.hlo", 0),
    "emit": ("emit llvm m.hlo", 0),
}
if READS_GRAPHS:
    BY_HAND["graph"] = ("graph g.pbtxt", 0)
    BY_HAND["tf2xla"] = ("tf2xla g.pbtxt --fetch ^x", 0)
    BY_HAND["cluster"] = ("cluster g.pbtxt", 0)
"""Arguments of `python -m compiler` and the exit code, by subcommand; graphs are read where `protobuf` is installed."""

PREPARATIONS = (
    "run m.hlo --engine cpu:opt=0 --no-wide --rtol 0 --atol 0 --bundle bundle",
    "run m.hlo --engine cpu --no-wide --rtol 0 --atol 0 --bundle bundles/one",
    f"nightly --suite suite --out nights {_TIMES_NONE}",
)
"""Calls of `xlabench` that make the folders which others look into."""


def write_files(folder: Path) -> None:
    """The files that the calls, and the preparations, read."""
    (folder / "m.hlo").write_text(PROGRAM, encoding="utf-8")
    (folder / "k.ptx").write_text(KERNEL, encoding="utf-8")
    (folder / "s.py").write_text(SCRIPT, encoding="utf-8")
    (folder / "g.pbtxt").write_text(GRAPH, encoding="utf-8")
    (folder / "c.pbtxt").write_text(CONFIG, encoding="utf-8")
    for name in ("suite", "bundles"):
        (folder / name).mkdir()
    (folder / "suite" / "m.hlo").write_text(PROGRAM, encoding="utf-8")
