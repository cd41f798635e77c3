"""Programs of `shard_map` on four devices of JAX's: their StableHLO, inputs and results, into the folder that is given.

Run as a script of its own: how many devices a process has is settled before JAX is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, shard_map
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

MESH = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))
LINE = Mesh(np.array(jax.devices()), ("i",))
CUBE = Mesh(np.array(jax.devices()).reshape(2, 1, 2), ("a", "b", "c"))
BACKWARDS = Mesh(np.array(jax.devices())[::-1].reshape(2, 2), ("x", "y"))

MATRIX = np.arange(32, dtype=np.float32).reshape(4, 8) / 8 - 1
OTHER = np.sin(np.arange(48, dtype=np.float32)).reshape(8, 6)
NUMBERS = np.arange(64, dtype=np.int32).reshape(16, 4)

on_mesh = partial(shard_map, mesh=MESH)
on_line = partial(shard_map, mesh=LINE)
over = partial(shard_map, mesh=MESH, check_vma=False)

RING = [(i, (i + 1) % 4) for i in range(4)]


def _matmul(a: Any, b: Any) -> Any:
    return lax.psum(a @ b, "y") + lax.axis_index("x"), lax.pmean(a.sum(), ("x", "y"))


def _halves(a: Any) -> Any:
    return lax.cond(lax.axis_index("x") == 0, lambda v: v * 2, lambda v: lax.sin(v), a)


def _ring_sum(a: Any) -> Any:
    """A sum by a ring of sends, each device leaving the loop after its own trip count."""

    def iteration(_: Any, state: Any) -> Any:
        total, moving = state
        moving = lax.ppermute(moving, "i", RING)
        return total + moving, moving

    return lax.fori_loop(0, 3, iteration, (a, a))[0]


def _uneven(a: Any) -> Any:
    """A loop of as many iterations as the device's number."""
    return lax.while_loop(lambda s: s[0] < lax.axis_index("i"), lambda s: (s[0] + 1, s[1] * 3), (0, a))[1]


def _nested(a: Any) -> Any:
    inner = shard_map(lambda b: lax.psum(b, "y"), in_specs=P(None, "y"), out_specs=P(), axis_names={"y"})
    return inner(a) + lax.psum(a.sum(), "x")


def _layers(a: Any) -> Any:
    """A scan of whole arrays with a region in its body, and a choice with one in a branch."""
    region = on_mesh(lambda b: lax.ppermute(b, "x", [(0, 1), (1, 0)]) + 1, in_specs=P("x"), out_specs=P("x"))

    def layer(carry: Any, number: Any) -> Any:
        carry = lax.cond(number % 2 == 0, region, lambda v: v * 2, carry)
        return region(carry), carry.sum()

    return lax.scan(layer, a, jnp.arange(3))


def _loss(a: Any, b: Any) -> Any:
    def part(a: Any, b: Any) -> Any:
        return lax.psum(jnp.tanh(a @ b).sum(), ("x", "y"))

    return on_mesh(part, in_specs=(P("x", "y"), P("y", None)), out_specs=P())(a, b)


def _constrained(a: Any) -> Any:
    b = lax.with_sharding_constraint(a * 2, NamedSharding(MESH, P("x", None)))
    return on_mesh(lambda v: lax.psum(v, "y"), in_specs=P("x", "y"), out_specs=P("x"))(b).sum(0)


def _two_regions(a: Any) -> Any:
    b = on_mesh(lambda v: lax.all_gather(v, "x", tiled=True), in_specs=P("x", "y"), out_specs=P("x", "y"))(a)
    c = jnp.sort(b.reshape(-1)).reshape(8, 8)
    return shard_map(lambda v: lax.psum(v, ("a", "c")), mesh=CUBE, in_specs=P(("c", "a"), "b"), out_specs=P(None, "b"))(
        c
    )


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "matmul": (on_mesh(_matmul, in_specs=(P("x", "y"), P("y", None)), out_specs=(P("x", None), P())), (MATRIX, OTHER)),
    "all_gather": (over(lambda v: lax.all_gather(v, "x"), in_specs=P("x", "y"), out_specs=P(None, "y")), (MATRIX,)),
    "gather_tiled": (
        over(lambda v: lax.all_gather(v, ("y", "x"), axis=1, tiled=True), in_specs=P("x"), out_specs=P("x")),
        (MATRIX,),
    ),
    "psum_scatter": (
        on_line(lambda v: lax.psum_scatter(v, "i", scatter_dimension=1, tiled=True), in_specs=P("i"), out_specs=P("i")),
        (MATRIX,),
    ),
    "all_to_all": (
        on_line(lambda v: lax.all_to_all(v, "i", 1, 0, tiled=True), in_specs=P("i"), out_specs=P(None, "i")),
        (NUMBERS,),
    ),
    "ppermute": (on_line(lambda v: lax.ppermute(v, "i", RING[:3]), in_specs=P("i"), out_specs=P("i")), (NUMBERS,)),
    "axis_index": (
        on_mesh(
            lambda: (lax.axis_index("x") * 10 + lax.axis_index("y"))[None, None], in_specs=(), out_specs=P("x", "y")
        ),
        (),
    ),
    "extrema": (
        on_mesh(
            lambda v: (lax.pmax(v, "x"), lax.pmin(v, ("x", "y"))), in_specs=P("x", "y"), out_specs=(P(None, "y"), P())
        ),
        (MATRIX,),
    ),
    "two_axes": (on_mesh(lambda v: v * 2, in_specs=P(("y", "x")), out_specs=P("y", "x")), (NUMBERS,)),
    "not_replicated": (over(lambda v: v + lax.axis_index("x"), in_specs=P("y"), out_specs=P("y")), (MATRIX,)),
    "backwards": (
        shard_map(lambda v: lax.psum(v, "x") + v, mesh=BACKWARDS, in_specs=P(("x", "y")), out_specs=P(("y", "x"))),
        (MATRIX,),
    ),
    "branches": (on_mesh(_halves, in_specs=P("x", "y"), out_specs=P("x", "y")), (MATRIX,)),
    "ring": (on_line(_ring_sum, in_specs=P("i"), out_specs=P("i")), (NUMBERS,)),
    "layers": (_layers, (MATRIX,)),
    "gradient": (jax.grad(_loss, argnums=(0, 1)), (MATRIX, OTHER)),
    "constrained": (_constrained, (MATRIX,)),
    "two_regions": (_two_regions, (MATRIX,)),
}

SHARDY: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "uneven": (shard_map(_uneven, mesh=LINE, in_specs=P("i"), out_specs=P("i"), check_vma=False), (NUMBERS,)),
    "nested": (on_mesh(_nested, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}), (MATRIX,)),
    "auto_axis": (
        on_mesh(lambda v: lax.psum(jnp.cumsum(v, 1), "x"), in_specs=P("x"), out_specs=P(), axis_names={"x"}),
        (MATRIX,),
    ),
}
"""Those with axes that are not manual, or not yet, which only Shardy names, and one that the older way refuses."""


def main(folder: Path) -> None:
    """Write every program, with Shardy's calls and with the older ones."""
    for shardy in (True, False):
        jax.config.update("jax_use_shardy_partitioner", shardy)
        for name, (function, inputs) in (PROGRAMS | (SHARDY if shardy else {})).items():
            jax.clear_caches()
            jitted = jax.jit(function)
            text = jitted.lower(*inputs).as_text()
            results = [np.asarray(leaf) for leaf in jax.tree.leaves(jitted(*inputs))]
            stem = f"{name}.{'shardy' if shardy else 'spmd'}"
            (folder / f"{stem}.mlir").write_text(text, encoding="utf-8")
            np.savez(folder / f"{stem}.npz", **{f"input{n}": array for n, array in enumerate(inputs)})
            np.savez(folder / f"{stem}.expected.npz", **{f"result{n}": array for n, array in enumerate(results)})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
