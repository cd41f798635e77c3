"""Loops compute no more than what XLA makes of them.

It is counted, in XLA's program after its passes as in ours: a clock would say what else a machine does.
"""

import pytest
from invariant_loops import PLACES, VALUES, counted, program

import compiler

pytest.importorskip("jaxlib", reason="jaxlib is not installed")

from jaxlib import _hlo, _jax, xla_client

MOST = 2.5
"""Times as much: what takes a step or two is computed within our kernels, and not read."""
FOR_XLA = [place for place in PLACES if place != "fusion"]
"""Where values may stand for XLA: it ends the process over fusions that it has not made."""


def after_passes_of_xla(text):
    client = xla_client.make_cpu_client(asynchronous=False)
    module = _hlo.hlo_module_from_text(text)
    stablehlo = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
    devices = _jax.DeviceList((client.local_devices()[0],))
    (after,) = client.compile_and_load(stablehlo, devices, _jax.CompileOptions()).hlo_modules()
    return compiler.parse(after.to_string())


@pytest.mark.parametrize("place", FOR_XLA)
@pytest.mark.parametrize("value", VALUES)
def test_loops_compute_no_more_than_with_xla(value, place):
    text = program(value, place)
    ours = compiler.optimize(compiler.parse(text), compiler.CompileOptions())
    assert counted(ours) <= MOST * counted(after_passes_of_xla(text))
