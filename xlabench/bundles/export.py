"""A bundle for people without this tool: HLO text, literals for XLA's `run_hlo_module`, and a script for jaxlib.

The script judges as a replay does, by what the bundle brings: the bounds it holds, or its tolerance as bounds of each
element.  Its exit status is that of `xlabench replay`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import compiler
from compiler import edit
from xlabench.bundles.failure import Failure
from xlabench.bundles.packing import pack_arrays
from xlabench.cases import programs
from xlabench.cases.inputs import is_npy_type
from xlabench.cases.literals_text import write_literals
from xlabench.errors import Undecidable
from xlabench.judging.differ import tolerated
from xlabench.judging.tolerance import Array, is_inexact

_SCRIPT = '''"""Run this program on XLA's CPU client through jaxlib, and say whether its failure shows.

    python -m pip install jax ml_dtypes && python run_in_jax.py

Exit status 0 if the failure is gone, 1 if it shows, 125 if that cannot be decided here: jax is missing or too
different, or something else fails.  A crash of XLA ends the process by its signal, which stops `git bisect run`:

    git bisect run sh -c 'python run_in_jax.py; s=$?; test $s -lt 128 || s=1; exit $s'

With a file of HLO text as argument, that program is run on the inputs instead, as reducers ask for it.  It must take
them, and only how it fails counts then: what it should give is not known.
"""

import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:] = [place for place in sys.path if os.path.realpath(place) != HERE]  # nothing here is a package

import traceback
from pathlib import Path

HERE = Path(HERE)
RECORDED = {recorded!r}
DTYPES = {dtypes!r}
TOKENS = {tokens!r}  # results that hold nothing
GRANTED = {granted!r}  # how many elements of each result may be beyond their bounds
IS_UNANSWERED = {is_unanswered!r}  # nobody knows what it should give
MORE_CALLS = {more_calls!r}  # of what does not always answer alike
SHOWS, GONE, UNDECIDED = 1, 0, 125


def main():
    program = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "module.hlo"
    try:
        import numpy as np
        from jax.errors import JaxRuntimeError

        step = "compile-error"
        try:
            run = load(program.read_text(encoding="utf-8", errors="replace"))
            step = "crash"
            actual = run()
        except (JaxRuntimeError, ValueError) as error:
            print(f"{{step}} (recorded: {{RECORDED}}): {{error}}")
            return SHOWS if step == RECORDED else UNDECIDED
        for _ in range(MORE_CALLS):
            if [array.tobytes() for array in run()] != [array.tobytes() for array in actual]:
                print("another call gave other results")
                return SHOWS
        if len(sys.argv) > 1 or IS_UNANSWERED:
            print("it runs; whether its results are right is not known")
            return GONE
        is_wrong = judge(np, actual)
    except Exception:  # whatever it is, it says nothing about the failure
        traceback.print_exc()
        return UNDECIDED
    if is_wrong and RECORDED not in ("wrong", "flaky"):
        return UNDECIDED
    return SHOWS if is_wrong else GONE


def read(name):
    import ml_dtypes
    import numpy as np

    with np.load(HERE / f"{{name}}.npz", allow_pickle=False) as archive:
        arrays = [archive[key] for key in archive.files]
    wanted = [np.dtype(getattr(ml_dtypes, dtype, dtype)) for dtype in DTYPES[name]]
    return [a if a.dtype == dtype else a.view(dtype) for a, dtype in zip(arrays, wanted, strict=True)]


def load(text):
    import numpy as np
    from jax import core
    from jaxlib import _hlo, _jax, lapack, xla_client

    if "lapack_" in text:  # its functions are null pointers before
        lapack.prepare_lapack_call("potrf_ffi", np.float32)
    client = xla_client.make_cpu_client(asynchronous=False)
    device = client.local_devices()[0]
    module = _hlo.hlo_module_from_text(text)
    stablehlo = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
    program = client.compile_and_load(stablehlo, _jax.DeviceList((device,)), _jax.CompileOptions())
    sharding = _jax.SingleDeviceSharding(device)

    def run():
        inputs = []
        for array in read("inputs"):
            shape = core.ShapedArray(array.shape, array.dtype)
            inputs.append(_jax.batched_device_put(shape, sharding, [array], [device], enable_x64=True))
        results = program.execute_sharded(inputs).disassemble_into_single_device_arrays()
        return [np.asarray(parts[0]) for number, parts in enumerate(results) if number not in TOKENS]

    return run


def judge(np, results):
    """Hold each element against its value and bound in bounds.npz, infinite where nothing is said; is any wrong?"""
    with np.load(HERE / "bounds.npz", allow_pickle=False) as archive:
        bounds = [archive[key] for key in archive.files]
    is_wrong = False
    pairs = zip(results, read("expected"), bounds[::2], bounds[1::2], GRANTED, strict=True)
    for number, (actual, expected, value, error, granted) in enumerate(pairs):
        if (actual.shape, actual.dtype) != (expected.shape, expected.dtype):
            print(f"result {{number}}: {{actual.dtype}}{{actual.shape}}, expected {{expected.dtype}}{{expected.shape}}")
            is_wrong = True
            continue
        with np.errstate(all="ignore"):
            got = actual.astype(value.dtype)
            right = (got == value) | np.isinf(error)
            if value.dtype.kind in "fc":
                right |= np.isnan(got) & np.isnan(value)
            distance = np.abs(got.astype(np.complex128) - value.astype(np.complex128))
            right |= (distance <= error) & (error > 0)
            if value.dtype.kind == "f":
                right &= ~np.signbit(error) | (np.signbit(got) == np.signbit(value))
        wrong = np.argwhere(~right)
        example = ""
        if len(wrong):
            place = tuple(int(n) for n in wrong[0])
            example = f"; at {{place}}: {{actual[place]}}, expected {{expected[place]}}"
        print(f"result {{number}}: {{len(wrong)}} of {{right.size}} elements are wrong{{example}}")
        is_wrong |= len(wrong) > granted
    return is_wrong


sys.exit(main())
'''
_MORE_CALLS = 20


def contents(failure: Failure) -> tuple[dict[str, bytes], str]:
    """The files by name, and why there are no literals, if there are none."""
    bounds = failure.bounds or tuple(tolerated(array, failure.policy) for array in failure.expected)
    granted = [0 if failure.bounds else _granted(failure, array) for array in failure.expected]
    module, names = edit.named_for_xla(edit.routines_for_xla(compiler.parse(failure.module_text)))
    results = edit.leaves(module.entry.root.shape)
    script = _SCRIPT.format(
        recorded=failure.verdict,
        dtypes={name: _names(arrays) for name, arrays in (("inputs", failure.inputs), ("expected", failure.expected))},
        tokens=[number for number, result in enumerate(results) if result.element_type.name == "token"],
        granted=granted,
        is_unanswered=failure.is_unanswered,
        more_calls=_MORE_CALLS if failure.verdict == "flaky" else 0,
    )
    files = {
        "module.hlo": programs.encoded(compiler.to_text(module) if names else failure.module_text),
        "inputs.npz": pack_arrays(failure.inputs),
        "expected.npz": pack_arrays(failure.expected),
        "bounds.npz": pack_arrays([array for bound in bounds for array in (_plain(bound.value), bound.error)]),
        "run_in_jax.py": script.encode(),
    }
    try:
        literals = write_literals(failure.inputs, failure.actual, failure.expected)
    except Undecidable as error:
        return files, str(error)
    return {**files, "literals.textproto": literals.encode()}, ""


def _names(arrays: Sequence[Array]) -> list[str]:
    return [array.dtype.name for array in arrays]


def _granted(failure: Failure, expected: Array) -> int:
    """How many elements of a result its tolerance leaves open, however far off they are."""
    return 0 if is_inexact(expected.dtype) else int(failure.policy.discrete_share * expected.size)


def _plain(value: Array) -> Array:
    """Values in a type of NumPy's own; others than those are small integers."""
    return value if is_npy_type(value.dtype) else value.astype(np.int64)
