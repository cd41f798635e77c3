"""A catalogue of kernel bugs that hardware hides; each is caught with its diagnosis, line, block and thread."""

import numpy as np
import pytest

from compiler.backends.nvptx.simulator import LaunchOptions, Machine, SimulationError, parse_ptx
from compiler.diagnostics import CompilerError

PROLOGUE = """
.visible .entry k(.param .u64 k_in, .param .u64 k_out, .param .u32 k_n)
{
 .reg .b64 %in, %out, %a, %o, %s;
 .reg .b32 %t, %b, %n, %i, %v, %w, %d, %lane;
 .reg .pred %p, %q;
 .shared .align 16 .b8 sh[256];
 ld.param.u64 %in, [k_in];
 ld.param.u64 %out, [k_out];
 ld.param.u32 %n, [k_n];
 mov.u32 %t, %tid.x;
 mov.u32 %b, %ctaid.x;
 mov.u32 %d, %ntid.x;
 mad.lo.s32 %i, %b, %d, %t;
 mul.wide.u32 %o, %i, 4;
 add.u64 %a, %in, %o;
 add.u64 %o, %out, %o;
 mul.wide.u32 %s, %t, 4;
 mov.u64 %in, sh;
 add.u64 %s, %in, %s;
"""
EPILOGUE = "\n ret;\n}\n"

# What the kernel does, the line of the culprit within it, kind, block, thread.
CATALOGUE = {
    "missing barrier": (
        """
 ld.global.u32 %v, [%a];
 st.shared.u32 [%s], %v;
 xor.b32 %w, %t, 1;
 mul.wide.u32 %s, %w, 4;
 add.u64 %s, %in, %s;
 ld.shared.u32 %v, [%s];
 st.global.u32 [%o], %v;""",
        "ld.shared.u32 %v, [%s];", "race", (0, 0, 0), (0, 0, 0),
    ),
    "missing barrier before reuse": (
        """
 ld.global.u32 %v, [%a];
 st.shared.u32 [%s], %v;
 bar.sync 0;
 ld.shared.u32 %v, [sh+8];
 st.shared.u32 [%s], %v;
 st.global.u32 [%o], %v;""",
        "st.shared.u32 [%s], %v;\n st.global", "race", (0, 0, 0), (2, 0, 0),
    ),
    "non-atomic histogram": (
        """
 setp.ne.u32 %p, %t, 0;
 @%p bra next;
 st.shared.u32 [sh], 0;
next:
 bar.sync 0;
 ld.shared.u32 %v, [sh];
 add.u32 %v, %v, 1;
 st.shared.u32 [sh], %v;""",
        "st.shared.u32 [sh], %v;", "race", (0, 0, 0), (1, 0, 0),
    ),
    "off-by-one guard": (
        """
 setp.gt.u32 %p, %i, %n;
 @%p bra done;
 ld.global.u32 %v, [%a];
 st.global.u32 [%o], %v;
done:""",
        "ld.global.u32 %v, [%a];", "out-of-bounds", (1, 0, 0), (28, 0, 0),
    ),
    "wrong stride": (
        """
 mul.wide.u32 %s, %i, 8;
 ld.param.u64 %in, [k_in];
 add.u64 %a, %in, %s;
 ld.global.u32 %v, [%a];
 st.global.u32 [%o], %v;""",
        "ld.global.u32 %v, [%a];", "out-of-bounds", (0, 0, 0), (30, 0, 0),
    ),
    "misaligned vector load": (
        """
 ld.global.v2.u32 {%v, %w}, [%a];""",
        "ld.global.v2.u32 {%v, %w}, [%a];", "misaligned", (0, 0, 0), (1, 0, 0),
    ),
    "uninitialised shared memory": (
        """
 setp.ge.u32 %p, %t, 16;
 @!%p st.shared.u32 [%s], %t;
 bar.sync 0;
 ld.shared.u32 %v, [%s];""",
        "ld.shared.u32 %v, [%s];", "uninitialised", (0, 0, 0), (16, 0, 0),
    ),
    "uninitialised global memory": (
        """
 ld.global.u32 %v, [%o];""",
        "ld.global.u32 %v, [%o];", "uninitialised", (0, 0, 0), (0, 0, 0),
    ),
    "shared memory out of bounds": (
        """
 st.shared.u32 [%s+192], %t;""",
        "st.shared.u32 [%s+192], %t;", "out-of-bounds", (0, 0, 0), (16, 0, 0),
    ),
    "divergent barrier": (
        """
 setp.ge.u32 %p, %t, 5;
 @%p bra done;
 bar.sync 0;
done:""",
        "bar.sync 0;", "divergent-barrier", (0, 0, 0), (0, 0, 0),
    ),
    "barrier on both sides of a branch in one warp": (
        """
 setp.ge.u32 %p, %t, 5;
 @%p bra other;
 bar.sync 0;
 bra done;
other:
 bar.sync 0;
done:""",
        "bar.sync 0;\ndone", "divergent-barrier", (0, 0, 0), (5, 0, 0),
    ),
    "barrier after early exit": (
        """
 setp.eq.u32 %p, %t, 7;
 @%p ret;
 bar.sync 0;""",
        "bar.sync 0;", "divergent-barrier", (0, 0, 0), (0, 0, 0),
    ),
    "endless loop": (
        """
again:
 setp.ge.u32 %p, %t, 0;
 @%p bra again;""",
        "", "endless-loop", (0, 0, 0), (0, 0, 0),
    ),
    "shuffle mask that names absent lanes": (
        """
 setp.ge.u32 %p, %t, 16;
 @%p bra done;
 shfl.sync.down.b32 %v, %t, 8, 31, -1;
done:
 bar.sync 0;""",
        "shfl.sync.down.b32 %v, %t, 8, 31, -1;", "divergent-shuffle", (0, 0, 0), (0, 0, 0),
    ),
    "shuffle mask without the lane itself": (
        """
 shfl.sync.bfly.b32 %v, %t, 1, 31, 0xFFFF;""",
        "shfl.sync.bfly.b32 %v, %t, 1, 31, 0xFFFF;", "divergent-shuffle", (0, 0, 0), (16, 0, 0),
    ),
    "cp.async without a wait": (
        """
 cp.async.ca.shared.global [%s], [%a], 4;
 cp.async.commit_group;
 ld.shared.u32 %v, [%s];""",
        "ld.shared.u32 %v, [%s];", "uninitialised", (0, 0, 0), (0, 0, 0),
    ),
    "trap": ("\n setp.eq.u32 %p, %i, 35;\n @%p trap;", "@%p trap;", "trap", (1, 0, 0), (3, 0, 0)),
}  # fmt: skip


def source_of(name: str) -> str:
    return PROLOGUE + CATALOGUE[name][0] + EPILOGUE


@pytest.mark.parametrize("name", CATALOGUE)
def test_bug_is_caught_with_its_diagnosis(name) -> None:
    _, culprit, kind, block, thread = CATALOGUE[name]
    text = source_of(name)
    with pytest.raises(SimulationError) as caught:
        launch(text, blocks=block[0] + 1)
    error = caught.value
    assert (error.kind, error.block, error.thread) == (kind, block, thread)
    if culprit:
        assert error.span.text[error.span.start :].startswith(culprit)
    assert isinstance(error, CompilerError)


def launch(text: str, blocks: int = 2) -> None:
    machine = Machine()
    source = machine.allocate(60 * 4)
    machine.write(source, np.arange(60, dtype=np.uint32))
    target = machine.allocate(64 * 4)
    module = parse_ptx(".version 8.0\n.target sm_90\n.address_size 64\n" + text)
    options = LaunchOptions(step_limit=10_000)
    machine.launch(module, "k", (blocks, 1, 1), (32, 1, 1), [source, target, 60], options=options)


SCATTER = """
 and.b32 %w, %i, 31;
 mul.wide.u32 %s, %w, 4;
 ld.param.u64 %in, [k_in];
 add.u64 %a, %in, %s;
"""
NON_ATOMIC = "ld.global.u32 %v, [%a];\n add.u32 %v, %v, 1;\n st.global.u32 [%a], %v;"


@pytest.mark.parametrize(("blocks", "block"), [(1, 64), (2, 32)])
def test_non_atomic_scatter_is_a_race_in_global_memory(run_kernel, blocks, block) -> None:
    counts = np.zeros(32, np.uint32)
    shape = {"grid": (blocks, 1, 1), "block": (block, 1, 1), "check_global_races": True}
    with pytest.raises(SimulationError, match="global memory") as caught:
        run_kernel(PROLOGUE + SCATTER + NON_ATOMIC + EPILOGUE, counts, np.zeros(64, np.uint32), 64, **shape)
    assert caught.value.kind == "race"
    atomic = PROLOGUE + SCATTER + "red.global.add.u32 [%a], 1;" + EPILOGUE
    sums, _ = run_kernel(atomic, counts, np.zeros(64, np.uint32), 64, **shape)
    assert sums.tolist() == [2] * 32


def test_races_can_be_left_unchecked(run_kernel) -> None:
    zeros = np.zeros(32, np.uint32)
    _, out = run_kernel(source_of("missing barrier"), np.arange(32, dtype=np.uint32), zeros, 32, check_races=False)
    assert out.tolist() == (np.arange(32) ^ 1).tolist()


def test_a_barrier_makes_the_exchange_legal(run_kernel) -> None:
    text = source_of("missing barrier").replace("xor.b32", "bar.sync 0;\n xor.b32")
    _, out = run_kernel(text, np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32), 32)
    assert out.tolist() == (np.arange(32) ^ 1).tolist()


def test_a_warp_barrier_is_enough_within_a_warp_only(run_kernel) -> None:
    text = source_of("missing barrier").replace("xor.b32", "bar.warp.sync -1;\n xor.b32")
    _, out = run_kernel(text, np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32), 32)
    assert out.tolist() == (np.arange(32) ^ 1).tolist()
    across = text.replace("%t, 1;", "%t, 32;")
    with pytest.raises(SimulationError, match=r"\[race\]"):
        run_kernel(across, np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32), 64, block=(64, 1, 1))


def test_message_points_at_the_line() -> None:
    with pytest.raises(SimulationError) as caught:
        launch(source_of("off-by-one guard"))
    assert "\n   ld.global.u32 %v, [%a];\n   ^^^" in str(caught.value)
    assert "block (1, 0, 0), thread (28, 0, 0) [out-of-bounds]" in str(caught.value)
    assert "has 240 bytes, this is its byte 240" in str(caught.value)


def test_the_bugs_are_valid_ptx(assemble) -> None:
    header = ".version 8.0\n.target sm_90\n.address_size 64\n"
    text = header + "\n".join(source_of(n).replace("entry k(", f"entry k{i}(") for i, n in enumerate(CATALOGUE))
    assert assemble(text) == ""
