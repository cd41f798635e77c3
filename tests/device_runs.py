"""Programs on many devices: run by the reference and compiled, with arrays that all differ."""

from __future__ import annotations

from typing import Any

import numpy as np

import compiler
from compiler import Host

ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }"


def run(
    lines: str,
    inputs: list[list[Any]],
    *,
    replicas: int = 1,
    partitions: int = 1,
    computations: str = ADD,
    hosts: list[Host] | None = None,
) -> list[list[Any]]:
    header = f"HloModule m, replica_count={replicas}, num_partitions={partitions}"
    module = compiler.parse(f"{header}\n{computations}\nENTRY e {{\n{lines}\n}}")
    compiler.verify(module)
    results = compiler.interpret_devices(module, inputs, hosts=hosts)
    if hosts is None:
        compiled = compiler.compile(module)(*(value for given in inputs for value in given))
        assert [r.tobytes() for r in compiled] == [r.tobytes() for given in results for r in given]
    return results


def rows(count: int, length: int = 4) -> list[list[Any]]:
    """One array for each device, none equal to another."""
    return [[np.arange(length, dtype=np.float32) + 10 * (device + 1)] for device in range(count)]


def firsts(results: list[list[Any]]) -> list[list[float]]:
    return [result[0].tolist() for result in results]


X = "x = f32[4] parameter(0)\n"
