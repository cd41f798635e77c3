"""One kernel of a PTX text on arrays: by name or by order, what comes back, and what is said of faults."""

import numpy as np
import pytest

from compiler.backends.nvptx.standalone import Launch, simulate
from compiler.diagnostics import InputError

KERNEL = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry shift(.param .u64 source, .param .u64 target, .param .u32 by)
{
 .reg .b64 %s, %t, %o;
 .reg .b32 %i, %v, %c;
 ld.param.u64 %s, [source];
 ld.param.u64 %t, [target];
 ld.param.u32 %c, [by];
 mov.u32 %i, %tid.x;
 mul.wide.u32 %o, %i, 4;
 add.u64 %s, %s, %o;
 add.u64 %t, %t, %o;
 ld.global.u32 %v, [%s];
 add.u32 %v, %v, %c;
 st.global.u32 [%t], %v;
 ret;
}
"""
EMPTY = ".visible .entry nothing() { ret; }"
X = np.arange(4, dtype=np.uint32)
ONE = (1, 1, 1)


def run(text=KERNEL, *, kernel="", block=(4, 1, 1), given=None, **options):
    arguments = {"source": X, "target": np.zeros(4, np.uint32), "by": np.uint32(10)} if given is None else given
    return simulate(text, Launch(kernel, ONE, block, **options), arguments, filename="k.ptx")


def test_arrays_come_back_by_name_with_what_was_executed_and_how_long_a_gpu_would_take():
    found = run()
    assert (found.kernel, found.fault) == ("shift", None)
    assert {name: array.tolist() for name, array in found.results.items()} == {
        "source": [0, 1, 2, 3],
        "target": [10, 11, 12, 13],
    }
    assert found.statistics.lane_instructions > 0
    assert found.modelled is not None


def test_arguments_of_other_names_go_by_their_order():
    found = run(given={"x": X, "y": np.zeros(4, np.uint32), "z": np.uint32(1)})
    assert found.results["y"].tolist() == [1, 2, 3, 4]


def test_what_is_given_is_never_written():
    given = {"source": X, "target": np.zeros(4, np.uint32), "by": np.uint32(3)}
    run(given=given)
    assert given["target"].tolist() == [0, 0, 0, 0]


def test_a_fault_is_a_result():
    found = run(block=(8, 1, 1))
    assert found.results == {}
    assert found.fault.kind
    assert run(uninitialised=frozenset({"source"})).fault.kind == "uninitialised"


def test_races_in_global_memory_are_told_where_that_is_asked():
    text = KERNEL.replace("add.u64 %t, %t, %o;", "mov.u32 %v, 0;")
    assert run(text).fault is None
    assert run(text, check_global_races=True).fault.kind == "race"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kernel": "other"}, r"no kernel 'other' in k\.ptx; kernels are: shift"),
        ({"text": KERNEL + EMPTY}, "has 2 kernels; name one of: shift, nothing"),
        ({"text": KERNEL.partition(".visible")[0]}, "has 0 kernels; name one of: none"),
        ({"given": {"x": X}}, r"shift has 3 parameters \(source, target, by\), 1 arguments are given \(x\)"),
        ({"uninitialised": frozenset({"by"})}, "no array 'by' among the arguments to leave uninitialised"),
    ],
)
def test_what_is_wrong_with_the_call_is_said_with_what_there_is(options, said):
    with pytest.raises(InputError, match=said):
        run(**options)


def test_of_several_kernels_one_is_named():
    assert run(KERNEL + EMPTY, kernel="shift").results["target"].tolist() == [10, 11, 12, 13]
    assert run(KERNEL + EMPTY, kernel="nothing", given={}).results == {}
