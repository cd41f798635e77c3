"""Manual regions: whole arrays in and out, parts inside, as JAX's `shard_map` lowers by Shardy's calls and by tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.diagnostics import UnsupportedError
from compiler.ir.manual import cuts_of, is_crossing

MESH = r'frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=2, "y"=3]>}}'
WHOLE = np.arange(24, dtype=np.float32).reshape(4, 6)


def region(
    line: str,
    *,
    header: str = MESH,
    into: str = r"<@mesh, [{\"x\"}, {\"y\"}]>",
    out_of: str = r"<@mesh, [{\"x\"}, {\"y\"}]>",
    axes: str = r"\"x\", \"y\"",
    part: str = "f32[2,2]",
    result: str = "f32[4,6]",
) -> compiler.Module:
    """A program of one region over Shardy's calls; `line` makes `r` of the part `p`."""
    stated = rf'xla.sdy.manual_axes="#sdy<manual_axes{{{axes}}}>"'
    given = rf'xla.sdy.in_shardings="#sdy.sharding_per_value<[{into}]>",{stated}'
    taken = rf'{stated},xla.sdy.out_shardings="#sdy.sharding_per_value<[{out_of}]>"'
    text = f"""HloModule m, {header}
ENTRY e {{
  x = f32[4,6] parameter(0)
  p = {part} custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape", frontend_attributes={{{given}}}
  {line}
  ROOT y = {result} custom-call(r), custom_call_target="xla.sdy.LocalToGlobalShape", frontend_attributes={{{taken}}}
}}"""
    module = compiler.parse(text)
    compiler.verify(module)
    assert compiler.parse(compiler.to_text(module)) == module
    return module


def everywhere(module: compiler.Module, *inputs: Any) -> np.ndarray:
    """The one result of a program, the same on the reference, in wide mode and on both back ends."""
    (expected,) = compiler.interpret(module, *inputs)
    options = [compiler.CompileOptions(fusion=fusion, verify_each=True) for fusion in (True, False)]
    for result in (
        *(compiler.compile(module, "cpu", chosen)(*inputs)[0] for chosen in options),
        compiler.compile(module, "nvptx", compiler.CompileOptions(device="sim"))(*inputs)[0],
        compiler.interpret(module, *inputs, wide=True)[0].rounded(),
    ):
        np.testing.assert_array_equal(result, expected)
    return np.asarray(expected)


NUMBER = "d = u32[] partition-id() f = f32[] convert(d) b = f32[2,2] broadcast(f), dimensions={} r = f32[2,2] add(p, b)"


@pytest.mark.slow
def test_a_part_is_a_tile_of_the_whole() -> None:
    numbers = np.kron(np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 2), np.float32))
    np.testing.assert_array_equal(everywhere(region(NUMBER), WHOLE), WHOLE + numbers)


@pytest.mark.slow
def test_the_devices_of_a_mesh_may_be_listed_in_any_order() -> None:
    devices = [3, 1, 5, 0, 2, 4]
    header = MESH.replace(">}}", f", device_ids={devices}>}}}}")
    numbers = np.kron(np.reshape(devices, (2, 3)).astype(np.float32), np.ones((2, 2), np.float32))
    np.testing.assert_array_equal(everywhere(region(NUMBER, header=header), WHOLE), WHOLE + numbers)


@pytest.mark.slow
def test_of_axes_that_do_not_cut_a_result_the_first_device_gives_it() -> None:
    module = region(NUMBER, out_of=r"<@mesh, [{}, {\"y\"}]>", result="f32[2,6]")
    numbers = np.repeat(np.arange(3, dtype=np.float32), 2)
    np.testing.assert_array_equal(everywhere(module, WHOLE), WHOLE[:2] + numbers)


@pytest.mark.slow
def test_several_axes_cut_one_dimension_the_first_of_them_outermost() -> None:
    module = region(
        "d = u32[] partition-id() f = f32[] convert(d) r = f32[4,1] broadcast(f), dimensions={}",
        into=r"<@mesh, [{}, {\"y\", \"x\"}]>",
        out_of=r"<@mesh, [{}, {\"y\", \"x\"}]>",
        part="f32[4,1]",
    )
    np.testing.assert_array_equal(everywhere(module, WHOLE)[0], [0, 3, 1, 4, 2, 5])


@pytest.mark.slow
def test_a_piece_of_an_axis_cuts_too() -> None:
    header = MESH.replace('"x"=2, "y"=3', '"x"=4')
    module = region(
        "d = u32[] partition-id() f = f32[] convert(d) r = f32[2,6] broadcast(f), dimensions={}",
        header=header,
        into=r"<@mesh, [{\"x\":(2)2}, {}]>",
        out_of=r"<@mesh, [{\"x\":(1)2}, {}]>",
        axes=r"\"x\"",
        part="f32[2,6]",
    )
    np.testing.assert_array_equal(everywhere(module, WHOLE)[:, 0], [0, 0, 2, 2])


@pytest.mark.slow
def test_axes_of_no_region_cut_nothing_and_each_keeps_its_own() -> None:
    module = region(
        "r = f32[2,6] negate(p)",
        into=r"<@mesh, [{\"x\", ?}, {\"y\"}]>",
        out_of=r"<@mesh, [{\"x\", ?}, {?}]>",
        axes=r"\"x\"",
        part="f32[2,6]",
    )
    (into, out_of) = (cuts_of(i)[0] for i in module.entry.instructions if is_crossing(i))
    assert into.counts == out_of.counts == (2, 1)
    assert out_of.holders == ((0, 3), (1, 4), (2, 5)) * 2
    np.testing.assert_array_equal(everywhere(module, WHOLE), -WHOLE)


TILES = """HloModule m, num_partitions=4
ENTRY e {
  x = f32[4,6] parameter(0)
  s = f32[4,6] custom-call(x), custom_call_target="Sharding", sharding={INTO}
  p = f32[2,6] custom-call(s), custom_call_target="SPMDFullToShardShape", sharding={manual}
  d = u32[] partition-id()
  f = f32[] convert(d)
  b = f32[2,6] broadcast(f), dimensions={}
  r = f32[2,6] add(p, b)
  t = f32[2,6] custom-call(r), custom_call_target="Sharding", sharding={manual}
  ROOT y = f32[OUT,6] custom-call(t), custom_call_target="SPMDShardToFullShape", sharding={OUTOF}
}"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("into", "out_of", "expected"),
    [
        pytest.param(
            "devices=[2,1,2]<=[4] last_tile_dim_replicate",
            "devices=[2,1,2]<=[4] last_tile_dim_replicate",
            WHOLE + np.array([[0], [0], [2], [2]]),
            id="iota",
        ),
        pytest.param(
            "devices=[2,1,2]3,1,2,0 last_tile_dim_replicate",
            "devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate",
            # Rows of device 0 are the last two, of device 1 the first two.
            np.concatenate([WHOLE[2:], WHOLE[:2] + 1]),
            id="listed",
        ),
        pytest.param("devices=[2,1,2]<=[4] last_tile_dim_replicate", "replicated", WHOLE[:2], id="replicated"),
    ],
)
def test_tiles_cut_as_meshes_do(into: str, out_of: str, expected: np.ndarray) -> None:
    text = TILES.replace("INTO", into).replace("OUTOF", out_of).replace("OUT,", f"{len(expected)},")
    np.testing.assert_array_equal(everywhere(compiler.parse(text), WHOLE), expected)


@pytest.mark.slow
def test_the_number_of_devices_follows_from_the_tiles_where_the_header_is_silent() -> None:
    text = TILES.replace("INTO", "devices=[2,1]<=[2]").replace("OUTOF", "devices=[2,1]<=[2]").replace("OUT,", "4,")
    module = compiler.parse(text.replace(", num_partitions=4", ""))
    assert (compiler.device_count(module), compiler.times_given(module)) == (2, 1)
    np.testing.assert_array_equal(everywhere(module, WHOLE), WHOLE + np.array([[0], [0], [1], [1]]))


def test_a_mesh_of_one_device_cuts_nothing() -> None:
    header = MESH.replace("=2", "=1").replace("=3", "=1")
    np.testing.assert_array_equal(
        everywhere(region("r = f32[4,6] negate(p)", header=header, part="f32[4,6]"), WHOLE), -WHOLE
    )


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        pytest.param({"part": "f32[2,3]"}, "only equal parts", id="parts that are not equal"),
        pytest.param({"into": r"<@mesh, [{\"z\"}, {}]>", "axes": r"\"z\""}, "no axis 'z'", id="axis"),
        pytest.param({"into": r"<@other, [{\"x\"}, {}]>", "header": MESH + ", num_partitions=6"}, "@other", id="mesh"),
        pytest.param({"into": r"<@mesh, [{\"x\"}]>"}, "1 dimensions", id="dimensions"),
        pytest.param({"into": ""}, "shardings of 0 arrays", id="none stated"),
        pytest.param({"header": MESH + ", num_partitions=4"}, "mesh has 6 devices", id="devices"),
        pytest.param({"header": MESH + ", replica_count=2"}, "several replicas", id="replicas"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(changed: dict[str, str], reason: str) -> None:
    part = changed.get("part", "f32[2,2]")
    module = region(f"r = {part} negate(p)", **changed)
    for work in (lambda: compiler.interpret(module, WHOLE), lambda: compiler.compile(module)):
        with pytest.raises(UnsupportedError, match="custom-call") as caught:
            work()
        assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("into", "reason"),
    [
        ("devices=[2,1,2]<=[4] last_tile_dims={manual}", "needs the sharding"),
        ("maximal device=0", "needs the sharding"),
        ("devices=[2,1]<=[2]", "num_partitions=4"),
    ],
)
def test_tiles_that_say_too_little_are_refused_by_name(into: str, reason: str) -> None:
    text = TILES.replace("INTO", into).replace("OUTOF", "replicated").replace("OUT,", "2,")
    if "last_tile_dims" in into:
        text = text.replace(
            "sharding={manual}\n  d", "sharding={devices=[1,1,2,2]<=[4] last_tile_dims={manual, replicated}}\n  d"
        )
        reason = "some axes are manual"
    with pytest.raises(UnsupportedError) as caught:
        compiler.interpret(compiler.parse(text), WHOLE)
    assert reason in str(caught.value)
