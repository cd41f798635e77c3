"""The table of kernels is whole."""

from compiler.backends import BACKENDS
from compiler.backends.nvptx.kernels.table import KINDS
from compiler.codegen.kernel import KernelKind
from compiler.pipeline import PIPELINES


def test_every_kernel_kind_has_strategies_but_what_a_pass_makes_loops_of_and_calls_of_the_host() -> None:
    assert set(KernelKind) - set(KINDS) == {KernelKind.LAPACK, KernelKind.FOREIGN}
    assert "lapack-loop-expander" in PIPELINES[BACKENDS["nvptx"].pipeline][0].passes
