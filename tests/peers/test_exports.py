"""Files that `jax.export` of the installed JAX makes, of sizes stated or open, for one platform or several."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import compiler
from xlabench.cases import programs

pytest.importorskip("flatbuffers", reason="flatbuffers, which jax.export writes its files with, is not installed")
jax = pytest.importorskip("jax", reason="jax is not installed")
export = pytest.importorskip("jax.export")
jnp = jax.numpy

F32 = np.float32
ROWS = np.linspace(-1, 1, 12, dtype=F32).reshape(4, 3)
ALL = {"w": ROWS, "unused": np.arange(5, dtype=np.int32), "y": np.ones(3, F32), "scale": F32(2)}
KEPT = {"w": ROWS, "y": np.ones(3, F32)}
EXPECTED = np.tanh(ROWS) * np.ones(3, F32)
STATED, OPEN = "4, 5", "b, n"
TAKEN = {STATED: [(4, 3), (3,)], OPEN: [(4, 3), (5,), (3,), ()]}
"""Where sizes are open JAX keeps all arguments, since they may follow from any."""
PLATFORMS = [("cpu",), ("tpu", "cpu"), ("cuda", "tpu")]


def scaled(params, unused, y, *, scale):
    return jnp.tanh(params["w"]) * y


def exported(path: Path, *, sizes: str, platforms: tuple[str, ...]) -> Path:
    """The function with the first size of `w`, and that of `unused`, as given: numbers, or names of what is open."""
    rows, length = export.symbolic_shape(sizes) if sizes.strip("0123456789, ") else map(int, sizes.split(","))
    arguments = ({"w": _leaf(rows, 3)}, _leaf(length, dtype=np.int32), _leaf(3))
    made = export.export(jax.jit(scaled), platforms=platforms)(*arguments, scale=_leaf())
    path.write_bytes(made.serialize())
    return path


def _leaf(*sizes, dtype=F32):
    return jax.ShapeDtypeStruct(sizes, dtype)


def _command(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("platforms", PLATFORMS, ids="+".join)
@pytest.mark.parametrize(
    ("sizes", "given"),
    [(STATED, ALL), (STATED, KEPT), (OPEN, ALL)],
    ids=["stated, all arguments", "stated, those it uses", "open, all arguments"],
)
def test_an_export_takes_its_sizes_and_its_arguments_from_the_inputs(tmp_path, platforms, sizes, given):
    path = exported(tmp_path / "scaled.bin", sizes=sizes, platforms=platforms)
    np.savez(tmp_path / "in.npz", **given)
    module = programs.read(path, given=tmp_path / "in.npz")
    assert module.name == "jit_scaled"
    assert [p.shape.dims for p in module.entry.parameters] == TAKEN[sizes]
    [tanh] = [i for i in module.instructions() if i.opcode == "tanh"]
    assert compiler.edit.source_of(tanh).startswith(f"{__file__}:")
    assert compiler.parse(str(module)) == module
    arrays = programs.inputs.load_npz(tmp_path / "in.npz", module)
    for results in (compiler.interpret(module, *arrays), compiler.compile(module)(*arrays)):
        np.testing.assert_allclose(results[0], EXPECTED, rtol=1e-6)


@pytest.mark.parametrize(("sizes", "platforms"), [(STATED, ("cpu",)), (OPEN, ("tpu", "cpu"))])
def test_the_commands_read_it_and_say_what_it_uses(tmp_path, sizes, platforms):
    path = exported(tmp_path / "scaled.bin", sizes=sizes, platforms=platforms)
    np.savez(tmp_path / "in.npz", **ALL)
    said = "of the 4 arguments of its function it uses only 0, 2 (from 0)"
    ours = _command("compiler", "run", path, "--inputs", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    assert ours.returncode == 0, ours.stderr
    assert (said in ours.stderr) == (sizes == STATED)
    with np.load(tmp_path / "out.npz") as results:
        np.testing.assert_allclose(results[results.files[0]], EXPECTED, rtol=1e-6)
    judged = _command("xlabench", "run", path, "--inputs", tmp_path / "in.npz", "--engine", "cpu", "--json")
    assert judged.returncode == 0, judged.stderr
    assert (said in json.loads(judged.stdout)["inputs"]) == (sizes == STATED)


@pytest.mark.parametrize("command", [("compiler", "run"), ("xlabench", "run")])
def test_inputs_of_another_number_are_refused_with_what_is_wanted(tmp_path, command):
    path = exported(tmp_path / "scaled.bin", sizes=STATED, platforms=("cpu",))
    np.savez(tmp_path / "in.npz", ROWS, ROWS, ROWS)
    refused = _command(*command, path, "--inputs", tmp_path / "in.npz")
    assert refused.returncode == 2, refused.stderr
    assert "takes 2" in refused.stderr
    assert "uses only 0, 2 (from 0)" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(("given", "rows"), [((), 2), (("--shapes", "5"), 5)])
def test_what_open_sizes_were_taken_to_be_is_said(tmp_path, given, rows):
    path = exported(tmp_path / "scaled.bin", sizes=OPEN, platforms=("cpu",))
    judged = _command("xlabench", "run", path, "--engine", "cpu", *given)
    assert judged.returncode == 0, judged.stderr
    assert f"open sizes: 0 [?,3] is [{rows}, 3]; 1 [?] is [{rows}]" in judged.stderr
