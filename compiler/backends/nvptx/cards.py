"""What is known of GPUs, beyond what their architecture can do: how many units, how fast, how far away memory is.

Sources, by the letters that stand behind the fields:

- [H] NVIDIA H100 Tensor Core GPU Architecture, V1.04 (H100 SXM5); [A] NVIDIA A100 Tensor Core GPU Architecture, V1.0.
- [P] CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", and of rates "Throughput of Native
  Arithmetic Instructions"; allocation units as NVIDIA's occupancy calculator has them.
- [L] Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking",
  arXiv:2402.13499; [J] Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking",
  arXiv:1804.06826.
- [M] measured by this project on an H100 80GB HBM3 (SXM5), 26 November 2026, by CUDA events around calls as graphs.
- [E] an estimate that nobody has measured for this project.

Whole programs took 1.1 times what the model says there in the middle, half of them 0.9 to 1.2 times, all 0.5 to 1.7,
and one 4.8, whose loops over updates the model ran on zeros (those with loops on the host aside, whose bodies it
counts once): less where launches are many or data stays in the L2 cache from call to call, more where products are
made in tiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.backends.nvptx.simulator.pipes import Pipe


@dataclass(frozen=True, slots=True)
class Card:
    """A model of GPU: its clocks, units, caches and limits.

    Attributes:
        name: what it is called.
        multiprocessors: how many are enabled [H, A].
        clock_ghz: cycles of a multiprocessor per ns, boosted [H, A].
        memory_bytes_per_ns: bandwidth of device memory, at its peak [H, A].
        memory_share: what a copy reaches of that [M: 2,975 of 3,350; for A100 the same is taken].
        l2_bytes_per_cycle: read bandwidth of the L2 cache for all multiprocessors together [A; for H100 the same is
            taken, since [H] gives none].
        port_bytes_per_cycle: what a multiprocessor gets of the L2 cache [J].
        l1_sectors_per_cycle: sectors that a multiprocessor's L1 cache serves [J].
        schedulers: warp instructions that a multiprocessor issues in a cycle [H, A].
        threads: of a multiprocessor at once, at most [P].
        blocks: of a multiprocessor at once, at most [P].
        registers: of 32 bits, of a multiprocessor [P].
        shared_bytes: shared memory of a multiprocessor [P].
        shared_unit_bytes: shared memory of a block comes in multiples of so much [P].
        reserved_bytes: shared memory of each block that the system keeps [P].
        rates: results per cycle and multiprocessor of each unit [P]; of tensor cores multiply-adds [H, A].
        mma_share: what `mma.sync` reaches of the tensor cores' rate [L].
        atomic_cycles: between two updates of one place in the L2 cache [E].
        launch_ns: what a launch takes beside its work [M, as `LAUNCH_NS`; for A100 the same is taken].
    """

    name: str
    multiprocessors: int
    clock_ghz: float
    memory_bytes_per_ns: float
    memory_share: float
    l2_bytes_per_cycle: float
    port_bytes_per_cycle: float
    l1_sectors_per_cycle: float
    schedulers: int
    threads: int
    blocks: int
    registers: int
    shared_bytes: int
    shared_unit_bytes: int
    reserved_bytes: int
    rates: Mapping[Pipe, float]
    mma_share: float
    atomic_cycles: float
    launch_ns: float


LAUNCH_NS = 2000.0
"""Nanoseconds that a launch takes beside its work [M]: a graph of one small kernel 2,070; of further ones in the same
graph, each after the other, 900 (four reductions) to 1,500 (a transformer's 24 kernels).  Published are 1,300 (in a
CUDA graph) to 3,800 (on a stream)."""
MEMORY_SHARE = 0.89
"""What a copy of 256 MiB on the device reaches of the peak of its memory [M]; loops on as much reach the same."""

H100 = Card(
    name="H100 SXM5",
    multiprocessors=132,
    clock_ghz=1.83,
    memory_bytes_per_ns=3350.0,
    memory_share=MEMORY_SHARE,
    l2_bytes_per_cycle=5120.0,
    port_bytes_per_cycle=64.0,
    l1_sectors_per_cycle=4.0,
    schedulers=4,
    threads=2048,
    blocks=32,
    registers=65536,
    shared_bytes=228 << 10,
    shared_unit_bytes=128,
    reserved_bytes=1024,
    rates={
        Pipe.FP32: 128.0,
        Pipe.FP64: 64.0,
        Pipe.HALF: 256.0,
        Pipe.INTEGER: 64.0,
        Pipe.CONVERSION: 64.0,
        Pipe.SPECIAL: 16.0,
        Pipe.SHUFFLE: 32.0,
        Pipe.MEMORY: 32.0,
        Pipe.TENSOR: 2048.0,
        Pipe.TENSOR_FP64: 128.0,
        Pipe.TENSOR_INT8: 4096.0,
        Pipe.GROUP_TENSOR: 2048.0,
        Pipe.GROUP_TENSOR_INT8: 4096.0,
    },
    mma_share=0.63,
    atomic_cycles=1.0,
    launch_ns=LAUNCH_NS,
)
A100 = Card(
    name="A100 SXM4 80GB",
    multiprocessors=108,
    clock_ghz=1.41,
    memory_bytes_per_ns=2039.0,
    memory_share=MEMORY_SHARE,
    l2_bytes_per_cycle=5120.0,
    port_bytes_per_cycle=64.0,
    l1_sectors_per_cycle=4.0,
    schedulers=4,
    threads=2048,
    blocks=32,
    registers=65536,
    shared_bytes=164 << 10,
    shared_unit_bytes=128,
    reserved_bytes=1024,
    rates={
        **H100.rates,
        Pipe.FP32: 64.0,
        Pipe.FP64: 32.0,
        Pipe.TENSOR: 1024.0,
        Pipe.TENSOR_FP64: 64.0,
        Pipe.TENSOR_INT8: 2048.0,
        Pipe.GROUP_TENSOR: 1024.0,
        Pipe.GROUP_TENSOR_INT8: 2048.0,
    },
    mma_share=1.0,
    atomic_cycles=1.0,
    launch_ns=LAUNCH_NS,
)


def card_for(capability: int) -> Card:
    """The GPU by which time is estimated for an architecture: the newest that is not newer, or the oldest known."""
    return H100 if capability >= 90 else A100
