"""What the assembler says of kernels is read, and told as a table and as a sentence."""

import subprocess
from pathlib import Path

import pytest

from compiler.backends.nvptx import ptxas
from compiler.diagnostics import UnsupportedError

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'small' for 'sm_90'
ptxas info    : Used 12 registers, used 0 barriers
ptxas info    : Compiling entry function 'large' for 'sm_90'
    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 bytes smem
"""


@pytest.fixture
def says(monkeypatch):
    """An assembler that ends in one way, with one message."""

    def ending(code, message):
        def run(command, **_):
            if not code:
                Path(command[-1]).write_bytes(b"cubin")
            return subprocess.CompletedProcess(command, code, "", message)

        monkeypatch.setattr(ptxas.shutil, "which", lambda name: f"/bin/{name}")
        monkeypatch.setattr(ptxas.subprocess, "run", run)

    return ending


def test_every_kernel_says_what_it_takes(says):
    says(0, LOG)
    made = ptxas.assemble("ptx", "sm_90")
    assert made.cubin == b"cubin"
    assert [(k.name, k.registers, k.shared_bytes, k.stack_bytes, k.spill_bytes) for k in made.kernels] == [
        ("small", 12, 0, 0, 0),
        ("large", 255, 4096, 16, 8),
    ]
    assert ptxas.to_sentence(made.kernels, "sm_90") == (
        "2 kernels assembled for sm_90: up to 255 registers, 4096 bytes of shared memory; "
        "registers spilled or a stack in large"
    )
    assert [line.split()[-1] for line in ptxas.to_text(made.kernels).splitlines()] == ["kernel", "small", "large"]


def test_of_no_kernels_that_is_said():
    assert ptxas.to_sentence([], "sm_90") == "nothing to assemble for sm_90: no kernels"
    assert ptxas.to_text([]).startswith("not known: no ptxas")


def test_an_architecture_that_it_does_not_know_is_no_bug_of_ours(says):
    says(255, "ptxas fatal   : Value 'sm_121' is not defined for option 'gpu-name'")
    with pytest.raises(UnsupportedError, match="older or newer than the architecture"):
        ptxas.assemble("ptx", "sm_121")


def test_a_rejection_is_one(says):
    says(1, "error : Unknown symbol")
    with pytest.raises(RuntimeError, match="ptxas rejects our PTX: error : Unknown symbol"):
        ptxas.assemble("ptx", "sm_90")
