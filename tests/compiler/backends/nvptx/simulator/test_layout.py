"""Where a kernel's own variables lie: apart, aligned, what grows at launch behind all else."""

import pytest

from compiler.backends.nvptx.simulator import parse_ptx
from compiler.backends.nvptx.simulator.decode import decode
from compiler.backends.nvptx.simulator.image import Image
from compiler.backends.nvptx.simulator.layout import lay_out
from compiler.backends.nvptx.simulator.memory import Arena
from compiler.diagnostics import InputError

TEXT = """.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 grown[];
.shared .align 4 .b8 unused[64];
.visible .entry k(.param .u32 n, .param .u64 p)
{
  .shared .align 1 .b8 one[3];
  .shared .align 8 .f64 two[2];
  .local .align 1 .b8 a[5];
  .local .align 4 .u32 b;
  .reg .b64 %r<9>;
  mov.u64 %r1, one;
  mov.u64 %r2, two;
  mov.u64 %r3, grown;
  mov.u64 %r4, a;
  mov.u64 %r5, b;
  ret;
}"""


def laid_out(dynamic_bytes=0):
    module = parse_ptx(TEXT)
    kernel = module.functions["k"]
    return lay_out(decode(module, kernel), Image.load(module, Arena()), dynamic_bytes), kernel


def test_variables_lie_apart_and_aligned():
    layout, _ = laid_out()
    addresses = {name.rpartition(":")[2]: at for name, at in layout.addresses.items()}
    assert (addresses["one"], addresses["two"]) == (0, 8)
    assert (addresses["a"], addresses["b"], layout.local_bytes) == (0, 8, 12)


@pytest.mark.parametrize("dynamic_bytes", [0, 1, 100])
def test_what_grows_lies_behind_all_else(dynamic_bytes):
    layout, _ = laid_out(dynamic_bytes)
    assert layout.addresses["grown"] == 32
    assert (layout.shared_bytes, layout.dynamic_bytes) == (32 + dynamic_bytes, dynamic_bytes)


def test_what_no_instruction_names_takes_no_room():
    assert "unused" not in laid_out()[0].addresses


def test_parameters_lie_in_the_block_of_arguments():
    layout, kernel = laid_out()
    assert layout.address("param:p", kernel, 0x100) == 0x108
    with pytest.raises(InputError, match="names 'nothing', which the module does not define"):
        layout.address("nothing", kernel, 0)
