"""`xlabench ptx-sim`: kernels that end, kernels with faults, and everything that can be wrong with the command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from xlabench.cli import cli

# out[i] = in[i] + bias for i < n, one thread for each element.
KERNEL = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry shift(.param .u64 source, .param .u64 target, .param .f32 bias, .param .u32 n)
{
 .reg .b64 %s, %t, %o;
 .reg .b32 %i, %b, %d, %n;
 .reg .f32 %v, %c;
 .reg .pred %p;
 ld.param.u64 %s, [source];
 ld.param.u64 %t, [target];
 ld.param.f32 %c, [bias];
 ld.param.u32 %n, [n];
 mov.u32 %i, %tid.x;
 mov.u32 %b, %ctaid.x;
 mov.u32 %d, %ntid.x;
 mad.lo.s32 %i, %b, %d, %i;
 setp.ge.u32 %p, %i, %n;
 @%p bra done;
 mul.wide.u32 %o, %i, 4;
 add.u64 %s, %s, %o;
 add.u64 %t, %t, %o;
 ld.global.f32 %v, [%s];
 add.f32 %v, %v, %c;
 st.global.f32 [%t], %v;
done:
 ret;
}
"""
X = np.arange(10, dtype=np.float32)


def run(folder: Path, *options: str, text: str = KERNEL, **arguments: Any) -> Result:
    (folder / "k.ptx").write_text(text)
    np.savez(folder / "args.npz", **arguments)
    command = ["ptx-sim", str(folder / "k.ptx"), "--args", str(folder / "args.npz"), *options]
    return CliRunner(catch_exceptions=False).invoke(cli, command)


def arguments(**others: Any) -> dict[str, Any]:
    return {"source": X, "target": np.zeros(10, np.float32), "bias": np.float32(0.5), "n": np.uint32(10), **others}


def test_results_are_printed_and_written(tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    result = run(tmp_path, "--grid", "2", "--block", "8,1,1", "--out", str(out), **arguments())
    assert result.exit_code == 0, result.stderr
    assert "target: float32[10] {0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, ...}" in result.stdout
    with np.load(out) as written:
        assert set(written.files) == {"source", "target"}
        assert np.array_equal(written["target"], X + np.float32(0.5))


def test_arguments_may_go_by_order(tmp_path: Path) -> None:
    given = {"b": X, "a": np.zeros(10, np.float32), "d": np.float32(1), "c": np.uint32(10)}
    result = run(tmp_path, "--block", "16", "--json", **given)
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["kernel"] == "shift"
    assert found["results"]["a"] == {"dtype": "float32", "shape": [10]}
    assert found["instructions"]["st.global.f32"] == 10
    assert found["lane_instructions"] == sum(found["instructions"].values())


def test_a_fault_ends_with_1_and_says_where(tmp_path: Path) -> None:
    result = run(tmp_path, "--block", "32", "--json", **arguments(n=np.uint32(11)))
    assert result.exit_code == 1
    fault = json.loads(result.stdout)["fault"]
    assert (fault["kind"], fault["block"], fault["thread"]) == ("out-of-bounds", [0, 0, 0], [10, 0, 0])
    assert KERNEL.splitlines()[fault["line"] - 1].strip().startswith("ld.global")


def test_a_fault_leaves_no_results(tmp_path: Path) -> None:
    result = run(tmp_path, "--block", "32", "--out", str(tmp_path / "out.npz"), **arguments(n=np.uint32(11)))
    assert re.search(r"nearest one below, \w+, has 40 bytes, this is its byte 40; .*\[out-of-bounds\]", result.stdout)
    assert not (tmp_path / "out.npz").exists()


def test_memory_without_contents_must_be_written_first(tmp_path: Path) -> None:
    fine = run(tmp_path, "--block", "16", "--uninitialised", "target", "--out", str(tmp_path / "o.npz"), **arguments())
    assert fine.exit_code == 0, fine.stdout
    result = run(tmp_path, "--block", "16", "--uninitialised", "source", **arguments())
    assert (result.exit_code, "[uninitialised]" in result.stdout) == (1, True)


def test_a_race_in_global_memory_is_found_on_demand(tmp_path: Path) -> None:
    racing = KERNEL.replace(" add.u64 %t, %t, %o;\n", "")
    assert run(tmp_path, "--block", "16", text=racing, **arguments()).exit_code == 0
    result = run(tmp_path, "--block", "16", "--global-races", text=racing, **arguments())
    assert (result.exit_code, "[race]" in result.stdout) == (1, True)


@pytest.mark.parametrize(
    ("options", "others", "message"),
    [
        (["--block", "x"], {}, "'x' is not one to three numbers"),
        (["--block", "0"], {}, "numbers from 1 on"),
        (["--block", "1,2,3,4"], {}, "'1,2,3,4' is not one to three numbers"),
        ([], {}, "Missing option '--block'"),
        (["--block", "8", "--kernel", "nope"], {}, "no kernel 'nope' in"),
        (["--block", "2048"], {}, "a block of 2048 threads"),
        (["--block", "8", "--uninitialised", "bias"], {}, "no array 'bias' among the arguments"),
        (["--block", "8"], {"n": np.float64(3)}, "parameter n has 4 bytes, 8 given"),
    ],
)
def test_bad_usage_ends_with_2(tmp_path: Path, options: list[str], others: dict[str, Any], message: str) -> None:
    result = run(tmp_path, *options, **arguments(**others))
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_missing_argument_names_the_parameters(tmp_path: Path) -> None:
    result = run(tmp_path, "--block", "8", source=X, target=X)
    assert result.exit_code == 2
    assert "shift has 4 parameters (source, target, bias, n), 2 arguments are given (source, target)" in result.stderr


def test_two_kernels_must_be_told_apart(tmp_path: Path) -> None:
    two = KERNEL + KERNEL[KERNEL.index(".visible") :].replace("shift", "other")
    result = run(tmp_path, "--block", "8", text=two, **arguments())
    assert (result.exit_code, "name one of: shift, other" in result.stderr) == (2, True)
    assert run(tmp_path, "--block", "16", "--kernel", "other", text=two, **arguments()).exit_code == 0


def test_text_that_is_no_ptx_is_refused_with_its_place(tmp_path: Path) -> None:
    result = run(tmp_path, "--block", "8", text=KERNEL.replace("add.f32", "add.f32 ]"), **arguments())
    assert result.exit_code == 2
    assert "k.ptx:25" in result.stderr


@pytest.mark.parametrize("name", ["k.ptx", "args.npz"])
@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_files_that_cannot_be_read_end_with_2(tmp_path: Path, name: str, content: bytes | None) -> None:
    run(tmp_path, "--block", "8", **arguments())
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    command = ["ptx-sim", str(tmp_path / "k.ptx"), "--args", str(tmp_path / "args.npz"), "--block", "16"]
    result = CliRunner(catch_exceptions=False).invoke(cli, command)
    assert result.exit_code == 2
    assert name in result.stderr
    assert "pickle" not in result.stderr
