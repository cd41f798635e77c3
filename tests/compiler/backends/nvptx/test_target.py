"""An architecture is known by its name, and a GPU gets the newest that it can run."""

import pytest

from compiler.backends.nvptx.target import (
    ARCHITECTURES,
    DEFAULT_ARCHITECTURE,
    compute_capability,
    has_warp_groups,
    newest_for,
    runs,
    target_of,
)
from compiler.diagnostics import InputError, UnsupportedError


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_gpu_gets_its_own_architecture(arch):
    own = f"{arch}a" if f"{arch}a" in ARCHITECTURES else arch
    assert newest_for(compute_capability(arch)) == own
    assert target_of(arch).cpu == arch


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_newer_gpus_run_what_older_ones_do_but_for_what_only_those_have(arch):
    capability = compute_capability(arch)
    assert runs(arch, capability)
    assert not runs(arch, capability - 1)
    assert runs(arch, capability + 1) == (not arch.endswith("a"))


def test_only_one_architecture_has_warp_groups():
    assert [arch for arch in ARCHITECTURES if has_warp_groups(arch)] == ["sm_90a"]
    assert runs(DEFAULT_ARCHITECTURE, 100)


@pytest.mark.parametrize(("capability", "arch"), [(71, "sm_70"), (88, "sm_87"), (99, "sm_90"), (999, "sm_121")])
def test_a_gpu_in_between_gets_the_one_before(capability, arch):
    assert newest_for(capability) == arch


def test_older_gpus_and_unknown_names_are_refused_with_what_is_known():
    with pytest.raises(UnsupportedError, match="the oldest that it knows is sm_70"):
        newest_for(61)
    with pytest.raises(InputError, match=r"unknown architecture 'sm_1'.*known are: sm_70, "):
        target_of("sm_1")


def test_later_architectures_need_no_earlier_ptx_within_a_generation():
    assert DEFAULT_ARCHITECTURE in ARCHITECTURES
    versions = [ARCHITECTURES[arch].ptx for arch in ("sm_70", "sm_80", "sm_86", "sm_90", "sm_100")]
    assert versions == sorted(versions)
    assert min(row.ptx for row in ARCHITECTURES.values()) == 64
