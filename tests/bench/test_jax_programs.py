"""Programs drawn from JAX's API beside XLA: what one thread does, in CPU time, which neighbours do not change much."""

import gc
import os
import re
import time
from importlib import import_module

import numpy as np
import pytest
from bench.jax_programs import PROGRAMS
from bench.rounds import geometric_mean

import xlabench
from xlabench import engine

pytestmark = pytest.mark.bench

ROUNDS, ROUND_S = 7, 0.01
NEVER_SLOWER, ALLOWED, MEAN = 0.95, 0.01, 3.0
ARGUMENT = re.compile(r"(\w)=(\w+)\[([\d,]*)\]")
NUMPY = {"f32": "float32", "f64": "float64", "s32": "int32", "u32": "uint32", "c64": "complex64", "bf16": "bfloat16"}
CASES = [(spec, text.strip()) for spec, texts in PROGRAMS.items() for text in texts.split(";") if text.strip()]


@pytest.fixture(scope="module", autouse=True)
def one_processor():
    """Have everybody use one processor, XLA's threads too where they are not there yet."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def arguments(spec, jnp):
    """The names and the arrays of a description."""
    rng, arrays = np.random.default_rng(0), {}
    for name, type_, dims in ARGUMENT.findall(spec):
        shape, dtype = tuple(map(int, dims.split(","))), getattr(jnp, NUMPY[type_])
        drawn = rng.integers(0, 10, shape) if type_ in ("s32", "u32") else rng.normal(size=shape)
        arrays[name] = (drawn + 1j * rng.normal(size=shape) if type_ == "c64" else drawn).astype(dtype)
    return arrays


def lowered(spec, text):
    """The module of an expression, and its inputs."""
    jax = pytest.importorskip("jax", reason="jax is not installed")
    for module in ("signal", "spatial.transform"):
        import_module(f"jax.scipy.{module}")
    names = {"jax": jax, "jnp": jax.numpy, "jsp": jax.scipy, "nn": jax.nn, "lax": jax.lax}
    jax.config.update("jax_enable_x64", "f64" in spec)
    arrays = arguments(spec, jax.numpy)
    function = eval(f"lambda {', '.join(arrays)}: {text}", names)
    return xlabench.from_jax(function, *arrays.values()), list(arrays.values())


def cpu_seconds(call, count):
    """The CPU seconds of a call, on average over as many."""
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


def least(*calls):
    """The CPU seconds of each call in its best round; they take turns."""
    counts = [max(1, int(ROUND_S / max(cpu_seconds(call, 1), 1e-7))) for call in calls]
    rounds = [[cpu_seconds(call, count) for call, count in zip(calls, counts, strict=True)] for _ in range(ROUNDS)]
    return [min(column) for column in zip(*rounds, strict=True)]


def test_programs_of_jax_are_no_slower_than_with_xla(benchmark):
    pytest.importorskip("jaxlib", reason="jaxlib is not installed")
    ratios = {}
    for spec, text in CASES:
        module, arrays = lowered(spec, text)
        ours, xla = (engine(name).compile(module) for name in ("cpu:threads=1", "xla"))
        calls = [lambda call=call, given=arrays: call(*given) for call in (ours, xla)]
        for call in calls:
            call()
        ours_s, xla_s = least(*calls)
        ratios[f"{spec}: {text}"] = xla_s / ours_s
        gc.collect()
    slower = {name: ratio for name, ratio in ratios.items() if ratio < NEVER_SLOWER}
    benchmark.extra_info |= {"geometric_mean": geometric_mean(ratios.values()), "slower": slower}
    benchmark.pedantic(lambda: None, rounds=1)
    assert len(slower) <= ALLOWED * len(ratios), slower
    assert geometric_mean(ratios.values()) >= MEAN
