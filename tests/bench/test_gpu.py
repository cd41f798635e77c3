"""Programs on a GPU: whole calls from and to NumPy, and calls on what is there already, beside XLA:GPU in one run.

What is there already is measured over many calls that nobody waits for in between, as a training loop makes them: with
ours as CUDA graphs, and step by step.  XLA's calls are put on the GPU by Python, which takes longer than most of them
do, so the time in which the GPU is at work on one stands beside it, by XLA's profiler.  XLA rounds factors of f32 to
TF32.  Kernels that memory bounds stand beside a copy on the same card, by CUDA events.
"""

import functools
import json
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx import replay
from compiler.backends.nvptx.cuda import CudaDevice
from xlabench import engine
from xlabench.cases import programs
from xlabench.cases.inputs import recipe_beside
from xlabench.cases.suite import load_suite
from xlabench.errors import BenchError
from xlabench.judging.differ import compare

pytestmark = [pytest.mark.bench, pytest.mark.gpu]

SUITE = os.environ.get("XLABENCH_GPU_SUITE", "corpus")
"""A suite's name, or a folder of programs with recipes."""
PROGRAMS = {program.name: program.path for program in load_suite(SUITE).programs}
ROUNDS, ROUND_S = 4, 0.03
ROWS, COLUMNS = 1 << 16, 1 << 10
"""Of the arrays that memory bounds: more than twice what the L2 cache of an H100 holds, in bf16 too."""
LEAST_OF_COPY = 0.85


def bound_by_memory(t):
    """Programs on arrays of a type, and how often each reads or writes all elements of such an array."""
    n, rc = f"{t}[{ROWS * COLUMNS}]", f"{t}[{ROWS},{COLUMNS}]"
    over = "reduce(x, z), to_apply=add, dimensions="
    add = f"add {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT r = {t}[] add(a, b) }}\n"
    most = f"most {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT r = {t}[] maximum(a, b) }}\n"
    rows, zero = f"x = {rc} parameter(0)", f"z = {t}[] constant(0)"
    return {
        "loop": (2, f"ENTRY e {{ x = {n} parameter(0)  y = {n} multiply(x, x)  ROOT r = {n} add(y, x) }}"),
        "loop of two": (3, f"ENTRY e {{ x = {n} parameter(0)  y = {n} parameter(1)  ROOT r = {n} add(x, y) }}"),
        "exponential": (2, f"ENTRY e {{ x = {n} parameter(0)  ROOT r = {n} exponential(x) }}"),
        "transpose": (2, f"ENTRY e {{ {rows}  ROOT r = {t}[{COLUMNS},{ROWS}] transpose(x), dimensions={{1,0}} }}"),
        "reduce to one": (
            1,
            f"{add}ENTRY e {{ x = {n} parameter(0)  {zero}  ROOT r = {t}[] {over}{{0}} }}",
        ),
        "reduce rows": (
            1,
            f"{add}ENTRY e {{ {rows}  {zero}  ROOT r = {t}[{ROWS}] {over}{{1}} }}",
        ),
        "reduce columns": (
            1,
            f"{add}ENTRY e {{ {rows}  {zero}  ROOT r = {t}[{COLUMNS}] {over}{{0}} }}",
        ),
        "softmax of rows": (
            2,
            f"""{add}{most}ENTRY e {{ {rows}  {zero}  i = {t}[] constant(-inf)
  m = {t}[{ROWS}] reduce(x, i), dimensions={{1}}, to_apply=most  mb = {rc} broadcast(m), dimensions={{0}}
  d = {rc} subtract(x, mb)  e = {rc} exponential(d)
  s = {t}[{ROWS}] reduce(e, z), dimensions={{1}}, to_apply=add  sb = {rc} broadcast(s), dimensions={{0}}
  ROOT r = {rc} divide(e, sb) }}""",
        ),
        "cumulative sum of rows": (
            2,
            f"""{add}ENTRY e {{ {rows}  {zero}
  ROOT r = {rc} reduce-window(x, z), window={{size=1x{COLUMNS} pad=0_0x{COLUMNS - 1}_0}}, to_apply=add }}""",
        ),
    }


@functools.cache
def _gpu():
    try:
        return CudaDevice()
    except compiler.UnsupportedError as error:
        pytest.skip(str(error))


class Resident:
    """One of our executables on inputs that are on the device already."""

    def __init__(self, executable, arrays):
        self.call = executable._call(arrays)
        self.device = self.call.device
        self.memory = ExitStack()
        self.memory.enter_context(self.call.memory())
        self.graphs = replay._all_of(replay._captured(self.call, tuple(self.call.program.steps)))
        self.steps = self.call.run

    def seconds(self, action, count):
        self.device.finish()
        start = time.perf_counter()
        for _ in range(count):
            action()
        self.device.finish()
        return (time.perf_counter() - start) / count

    def event_seconds(self, count):
        def action():
            for _ in range(count):
                self.graphs()

        return self.device.timed(action) / count / 1e9


class Peer:
    """XLA's executable on inputs that are on the device already."""

    def __init__(self, program, arrays):
        self.program = program
        self.inputs = program.placed(arrays)
        self.run()

    def run(self):
        for result in self.program.execute(self.inputs):
            result.block_until_ready()

    def seconds(self, count):
        self.run()
        start = time.perf_counter()
        for _ in range(count):
            results = self.program.execute(self.inputs)
        for result in results:
            result.block_until_ready()
        return (time.perf_counter() - start) / count

    def busy_seconds(self, count=20):
        """The time in which the GPU is at work on a call: what lies between its kernels is left out."""
        jax = pytest.importorskip("jax")
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder):
                self.seconds(count)
            [path] = Path(folder).rglob("*.xplane.pb")
            planes = jax.profiler.ProfileData.from_file(str(path)).planes
            streams = [line for p in planes if "GPU" in p.name for line in p.lines if line.name.startswith("Stream")]
            return _covered_ns(event for line in streams for event in line.events) / (count + 1) / 1e9


def _covered_ns(events):
    """The nanoseconds that events take, those at one time once."""
    total = end = 0.0
    for start, stop in sorted((event.start_ns, event.start_ns + event.duration_ns) for event in events):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def _count(call):
    call(1)
    return max(1, min(2000, int(ROUND_S / max(call(3), 1e-6))))


def _whole(program, arrays):
    def seconds(count):
        start = time.perf_counter()
        for _ in range(count):
            program(*arrays)
        return (time.perf_counter() - start) / count

    return seconds


def _peer(text):
    try:
        return engine("xla:gpu").compile(text)
    except BenchError:
        return None


def measured(text, arrays, *, whole=True, policy=None):
    """Seconds of a call in each way, by its name; XLA's where it is installed with a GPU and takes the program."""
    ours = engine("nvptx").compile(text)
    results = ours(*arrays)
    resident = Resident(ours, arrays)
    ways = {
        "events": resident.event_seconds,
        "graphs": functools.partial(resident.seconds, resident.graphs),
        "steps": functools.partial(resident.seconds, resident.steps),
    }
    peer = _peer(text)
    beside = None if peer is None else Peer(peer, arrays)
    if beside:
        ways["xla"] = beside.seconds
    if whole:
        ways |= {name: _whole(call, arrays) for name, call in (("whole", ours), ("xla_whole", peer)) if call}
    counts = {name: _count(call) for name, call in ways.items()}
    least = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, call in ways.items():
            least[name] = min(least[name], call(counts[name]))
    resident.memory.close()
    if beside:
        least["xla_busy"] = beside.busy_seconds()
    return least, str(compare(engine("cpu").compile(text)(*arrays), results, policy=policy).agreement)


def _write(kind, name, row):
    """A line of the table, and of the file that XLABENCH_GPU_LOG names."""
    path = os.environ.get("XLABENCH_GPU_LOG")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, "name": name, **row}) + "\n")


def test_copies():
    _write("copy", "copy", {"bytes_per_s": copy_rate()})
    assert copy_rate() > 0


@functools.cache
def copy_rate():
    """Bytes read and written by a copy on the device, a second."""
    device, size = _gpu(), 4 * ROWS * COLUMNS
    source, target = device.allocate(size), device.allocate(size)

    def copies():
        for _ in range(10):
            device.copy(source, target, size)

    return max(20 * size / device.timed(copies) * 1e9 for _ in range(10))


@pytest.mark.parametrize("type_", ["f32", "bf16"])
@pytest.mark.parametrize("name", bound_by_memory("f32"))
def test_what_memory_bounds(name, type_):
    _gpu()
    times, text = bound_by_memory(type_)[name]
    rng = np.random.default_rng(7)
    parameters = compiler.parse(text).entry.parameters
    types = [(p.array.dims, p.array.element_type.dtype) for p in parameters]
    arrays = [rng.standard_normal(dims, np.float32).astype(dtype) for dims, dtype in types]
    least, agreement = measured(text, arrays, whole=False)
    share = times * ROWS * COLUMNS * types[0][1].itemsize / least["events"] / copy_rate()
    _write("memory", f"{name}, {type_}", {**least, "share": share, "agreement": agreement})
    assert share >= LEAST_OF_COPY


@pytest.mark.parametrize("name", PROGRAMS)
def test_beside_xla(name):
    _gpu()
    path = PROGRAMS[name]
    module, recipe = programs.read(path), recipe_beside(path)
    least, agreement = measured(compiler.to_text(module), recipe.make(), policy=recipe.policy(module))
    _write("program", name, {**least, "agreement": agreement})
    assert agreement != "wrong"
