"""Variants of engines: drawn for each program, whatever a spec says itself stays, and a failure keeps its own."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import compiler
from compiler.pipeline import OPTIONAL
from xlabench.engines import ENGINES, engine
from xlabench.engines.spec import split_spec
from xlabench.fuzzing import variants
from xlabench.fuzzing.generate import PROFILES, draw_case, drawer

TEXT = """ENTRY main { x = f32[3,40] parameter(0) y = f32[40,3] parameter(1)
  d = f32[3,3] dot(x, y), lhs_contracting_dims={1},
  rhs_contracting_dims={0} t = f32[3,3] transpose(d), dimensions={1,0} ROOT r = f32[3,3] multiply(t, d) }"""


def drawn(count=300):
    return [variants.draw(np.random.default_rng(seed)) for seed in range(count)]


def test_every_value_of_every_option_is_drawn():
    for name, choices in (variants.CHOICES | variants.OF_OTHERS).items():
        for key, values in choices.items():
            found = Counter(options[name].get(key, "") for options in drawn())
            assert set(found) == set(values), key
            assert sum(values.values()) == 100, key


def test_every_optional_pass_is_left_out_and_kept_alone():
    assert variants.PASSES == OPTIONAL
    left_out = [set(options["cpu"].get("disable_passes", "").split("+")) for options in drawn(1500)]
    for name in variants.PASSES:
        assert any(name in names for names in left_out)
        assert any(name not in names and len(names) >= len(variants.PASSES) - 3 for names in left_out)
    assert sum(names == {""} for names in left_out) > len(left_out) / 2
    assert all(options["cpu"].get("disable_passes") == options["nvptx"].get("disable_passes") for options in drawn())


@pytest.mark.parametrize("name", variants.CHOICES)
def test_an_engine_takes_every_variant_of_it(name):
    assert name in ENGINES
    module = compiler.parse(TEXT)
    inputs = [np.arange(120, dtype=np.float32).reshape(shape) / 8 for shape in ((3, 40), (40, 3))]
    (expected,) = compiler.interpret(module, *inputs)
    device = {"nvptx": "nvptx:sim"}.get(name, name)
    for spec in {variants.varied(device, options) for options in drawn(24)}:
        (actual,) = engine(spec).compile(module)(*inputs)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, err_msg=spec)


def test_what_a_spec_says_itself_stays():
    options = {"cpu": {"opt": "0", "threads": "7"}}
    assert variants.varied("cpu:opt=3", options) == "cpu:opt=3,threads=7"
    assert variants.varied("cpu", options) == "cpu:opt=0,threads=7"
    assert variants.varied("cpu:opt=1,threads=2", options) == "cpu:opt=1,threads=2"
    assert variants.varied("xla", options) == "xla"
    assert [variants.quickest(spec) for spec in ("cpu", "cpu:opt=3", "nvptx:sim", "xla")] == [
        "cpu:opt=0",
        "cpu:opt=3",
        "nvptx:sim,opt=0",
        "xla:opt=0",
    ]


def test_what_is_whole_lacks_neither_features_nor_passes_and_compiles_quickly():
    wholes = [variants.whole(options) for options in drawn(60)]
    kept = {key for options in wholes for key in options["cpu"]}
    assert {"threads", "opt", "share_all"} <= kept
    assert not kept & {"without", "disable_passes"}
    known = {key for options in wholes for key in options["nvptx"]}
    assert known == {"opt", "arch", "atomics", "check_races", "share_all"}
    assert {options["nvptx"]["arch"] for options in wholes} == {"sm_90a"}
    assert {options["cpu"]["opt"] for options in wholes} == {options["nvptx"]["opt"] for options in wholes} == {"0"}


def test_kernels_meet_warp_groups_and_small_tiles_more_often_than_other_programs():
    def count(**how):
        rng = np.random.default_rng(0)
        found = [variants.draw(rng, **how)["nvptx"] for _ in range(400)]
        return sum(one.get("arch") == "sm_90a" and one.get("share_all") == "on" for one in found)

    assert count(of_kernels=True) > 2 * count() > 0


def test_variants_change_no_program():
    profile = PROFILES["ratchet"]
    for number in range(6):
        plain, varied = (draw_case(profile, 4, number, varied=varied) for varied in (False, True))
        assert plain.module == varied.module
        assert [a.tobytes() for _, arrays in plain.calls for a in arrays] == [
            a.tobytes() for _, arrays in varied.calls for a in arrays
        ]
        assert plain.on("cpu") == "cpu"
        assert set(split_spec(varied.on("cpu"))[1]) >= {"opt"}


def test_a_drawer_draws_variants_unless_it_is_told_not_to():
    arguments = {"profile": "ratchet", "seed": 4, "banned": []}
    assert drawer(arguments)(0).options == drawer({**arguments, "varied": True})(0).options != {}
    assert drawer({**arguments, "varied": False})(0).options == {}
