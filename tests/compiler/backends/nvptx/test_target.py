"""An architecture is known by its name, and a GPU gets the newest that it can run."""

import re

import pytest

import compiler
from compiler import CompileOptions
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


_SUMS = {
    "beside": "m = T[64] multiply(a, b) ROOT s = T[64] OP(m, c)",
    "twice": "m = T[64] multiply(a, b) s = T[64] OP(m, c) ROOT t = (T[64], T[64]) tuple(m, s)",
    "behind a branch": "m = T[64] multiply(a, b) z = T[] constant(ZERO)"
    " p = T[70] pad(m, z), padding=3_3 d = T[70] parameter(3) ROOT s = T[70] OP(d, p)",
    "in one of two": "m = T[64] multiply(a, b) p = T[128] concatenate(m, a), dimensions={0}"
    " d = T[128] parameter(3) ROOT s = T[128] OP(p, d)",
    "reduced": "m = T[64] multiply(a, b) z = T[] constant(ZERO) n = T[64] OP(m, c)"
    " ROOT s = T[] reduce(n, z), dimensions={0}, to_apply=sum",
}
_ROUNDED = re.compile(r"^\s+(?:@!?%p\d+ )?(add|sub|mul|fma)(\.\w+)*\.(f16|bf16|f32|f64)(x2)?\s", re.MULTILINE)


@pytest.mark.parametrize("opt", range(4))
@pytest.mark.parametrize("element_type", ["bf16", "f16", "f32", "f64", "c64"])
def test_no_driver_decides_how_sums_of_products_are_rounded(element_type, opt):
    zero = "(0, 0)" if element_type == "c64" else "0"
    for form in _SUMS.values():
        for opcode in ("add", "subtract"):
            given = " ".join(f"{name} = T[64] parameter({number})" for number, name in enumerate("abc"))
            sums = "sum { x = T[] parameter(0) y = T[] parameter(1) ROOT z = T[] add(x, y) }"
            text = f"{sums} ENTRY e {{ {given} {form} }}"
            text = text.replace("T[", f"{element_type}[").replace("OP", opcode).replace("ZERO", zero)
            options = CompileOptions(opt=opt, device="sim")
            ptx = compiler.compile(text, backend="nvptx", options=options).artifacts["ptx"]
            said = [match[0] for match in _ROUNDED.finditer(ptx)]
            assert said
            assert [line for line in said if ".rn" not in line] == []
