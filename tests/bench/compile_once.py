"""Compile one program in a process of its own, and print what it took: `compile_once.py ENGINE KIND INSTRUCTIONS`.

CPU seconds are those of all threads, since another's process may have the second core; the peak of memory is given
beside the one before the program was compiled, which is that of the engine itself.
"""

import json
import resource
import sys

from growing_programs import KINDS

import compiler

SCALAR_ADD = "ENTRY main { x = f32[] parameter(0)  ROOT s = f32[] add(x, x) }"


def used():
    """CPU seconds so far, and the peak of memory in MiB."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ours(text):
    """Compile by this project, with its own defaults."""
    compiler.compile(text, options=compiler.CompileOptions(), backend="cpu")


def by_xla():
    """What brings a program into XLA, through StableHLO as jaxlib asks, which is not counted; and what compiles it."""
    from jaxlib import _hlo, _jax, xla_client  # noqa: PLC0415 - only where XLA is asked for

    client = xla_client.make_cpu_client(asynchronous=False)
    devices = _jax.DeviceList((client.local_devices()[0],))

    def entered(text):
        proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
        return _jax.mlir.hlo_to_stablehlo(proto)

    return entered, lambda module: client.compile_and_load(module, devices, _jax.CompileOptions())


def main(engine, kind, instructions):
    """Compile, and print one JSON object."""
    text = KINDS[kind](int(instructions))
    enter, make = by_xla() if engine == "xla" else (lambda given: given, ours)
    make(enter(SCALAR_ADD))
    entered = enter(text)
    (begin_s, begin_mib), _ = used(), make(entered)
    end_s, peak_mib = used()
    sys.stdout.write(json.dumps({"cpu_s": end_s - begin_s, "before_mib": begin_mib, "peak_mib": peak_mib}))


if __name__ == "__main__":
    main(*sys.argv[1:])
