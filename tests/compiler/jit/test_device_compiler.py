"""Executables of clusters: what is in a signature, when it pays to compile, and what runs op by op for ever."""

import threading

import numpy as np
import pytest
from cluster_graphs import FLOAT, INT, graph_of, node_of
from graph_nodes import X, function, node

from compiler.diagnostics import InputError, UnsupportedError
from compiler.graph import BY_NAME, FunctionReference
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32, S32
from compiler.jit import DeviceCompiler, Mode, Resource, Statistics, on_backend, on_reference, parse_flags

F = "cluster_0"
CLUSTER = function(F, {"a": FLOAT}, {"b": FLOAT}, [node("n", "Neg", "a", T=FLOAT)], {"b": "n:y:0"})
CHAIN = function(
    F,
    {"a": FLOAT},
    {"b": FLOAT},
    [node("n", "Neg", "a", T=FLOAT), node("e", "Exp", "n:y:0", T=FLOAT)],
    {"b": "e:y:0"},
)
RESHAPES = function(
    "reshapes",
    {"dims": INT, "a": FLOAT},
    {"b": FLOAT},
    [node("r", "Reshape", "a", "dims", T=FLOAT, Tshape=INT)],
    {"b": "r:output:0"},
)
WILD = function("wild", {"a": FLOAT}, {"b": FLOAT}, [node("n", "Wild", "a")], {"b": "n:y:0"})
COUNTS = function(
    "counts",
    {"a": FLOAT, "v": BY_NAME["resource"]},
    {"b": FLOAT},
    [node_of("r = ReadVariableOp(v)"), node_of("s = AddV2(r:value:0, a)"), node_of("w = AssignVariableOp(v, s:z:0)")],
    {"b": "r:value:0"},
    control_returns={"w": "w"},
)


class _Builds:
    """Counts what is compiled, and runs it on the reference."""

    def __init__(self):
        self.count = 0

    def __call__(self, module):
        self.count += 1
        return on_reference()(module)


def _compiler(flags=""):
    builds = _Builds()
    graph = graph_of("x = NoOp()", CLUSTER, RESHAPES, WILD, COUNTS)
    return DeviceCompiler(graph, builds, parse_flags(flags)), builds


def _of(size):
    return np.ones(size, np.float32)


def test_a_first_shape_is_compiled_at_once_and_others_at_their_second_request():
    compiler, builds = _compiler()
    ran = [compiler.compile(F, [_of(size)]) is not None for size in (3, 3, 4, 4, 4)]
    assert ran == [True, True, False, True, True]
    assert builds.count == 2
    assert compiler.statistics(F).executions == 5
    assert compiler.statistics(F).compile_ns > compiler.compile(F, [_of(3)]).compile_ns > 0


def test_strict_compilation_does_not_wait():
    compiler, builds = _compiler()
    compiled = [compiler.compile(F, [_of(size)], Mode.STRICT) for size in (3, 4, 3)]
    assert [one.is_new for one in compiled] == [True, True, False]
    assert builds.count == 2


def test_what_is_compiled_beside_the_run_runs_op_by_op_until_it_is_done():
    may_end, graph = threading.Event(), graph_of("x = NoOp()", CLUSTER, WILD)

    def build(module):
        assert may_end.wait(60)
        return on_reference()(module)

    compiler = DeviceCompiler(graph, build, parse_flags("--tf_xla_async_compilation"))
    assert [compiler.compile(F, [_of(3)]) for _ in range(3)] == [None] * 3
    assert compiler.compile("wild", [_of(3)]) is None
    may_end.set()
    assert compiler.compile(F, [_of(4)], Mode.STRICT).is_new
    compiler._beside.shutdown()
    assert compiler.compile("wild", [_of(3)]) is None
    assert compiler.unsupported("wild") is not None
    np.testing.assert_array_equal(compiler.compile(F, [_of(3)])([_of(3)])[0][0], -_of(3))


@pytest.mark.parametrize(
    ("compilations", "executions", "is_megamorphic"),
    [(10, 20, False), (11, 20, True), (11, 548, True), (11, 549, False), (20, 998, True)],
)
def test_what_is_compiled_often_and_seldom_runs_is_megamorphic(compilations, executions, is_megamorphic):
    statistics = Statistics(compilations=compilations, executions=executions)
    statistics.executed()
    assert statistics.is_megamorphic is is_megamorphic
    statistics.executions = 100_000
    statistics.executed()
    assert statistics.is_megamorphic is is_megamorphic, "for ever"
    assert statistics.pays(2) is not is_megamorphic


def test_a_megamorphic_cluster_compiles_no_more_and_runs_what_it_has():
    compiler, builds = _compiler()
    for size in range(1, 13):
        for _ in range(2):
            compiler.compile(F, [_of(size)])
    assert builds.count == 11
    assert compiler.compile(F, [_of(12)]) is None
    assert compiler.compile(F, [_of(1)]) is not None
    assert compiler.compile(F, [_of(12)], Mode.STRICT) is not None


def test_signatures_hold_types_sizes_and_values_of_constants():
    compiler, builds = _compiler()
    for dims in ([6], [6], [2, 3], [3, 2]):
        compiled = compiler.compile("reshapes", [np.array(dims, np.int32), X], Mode.STRICT)
        results, _ = compiled([np.array(dims, np.int32), X + 1])
        np.testing.assert_array_equal(results[0], (X + 1).reshape(dims))
    assert builds.count == 3
    compiler.compile(F, [X], Mode.STRICT)
    compiler.compile(F, [X + 1], Mode.STRICT)
    assert builds.count == 4


def test_variables_are_read_before_and_written_after():
    compiler, builds = _compiler()
    shape = ArrayShape(F32, (2, 3))
    compiled = compiler.compile("counts", [X, Resource("v", shape)])
    assert (compiled.lowered.reads, compiled.lowered.writes) == (("v",), ("v",))
    results, written = compiled([X, None], {"v": 2 * X})
    np.testing.assert_array_equal(results[0], 2 * X)
    np.testing.assert_array_equal(written["v"], 3 * X)
    compiler.compile("counts", [X, Resource("u", shape)], Mode.STRICT)
    assert builds.count == 2
    with pytest.raises(InputError, match="variable 'v' is read, and no value is given"):
        compiled([X, None])


def test_a_variable_without_a_value_is_another_signature():
    compiler, _ = _compiler()
    for _ in range(2):
        with pytest.raises(InputError, match="not initialised"):
            compiler.compile("counts", [X, Resource("v")], Mode.STRICT)
    assert compiler.compile("counts", [X, Resource("v", ArrayShape(F32, (2, 3)))], Mode.STRICT) is not None


def test_what_has_no_lowering_runs_op_by_op_for_ever():
    compiler, builds = _compiler()
    assert [compiler.compile("wild", [_of(3)]) for _ in range(3)] == [None, None, None]
    assert "op Wild" in str(compiler.unsupported("wild"))
    assert compiler.statistics("wild").executions == 1
    with pytest.raises(UnsupportedError, match="op Wild"):
        compiler.compile("wild", [_of(3)], Mode.STRICT)
    assert builds.count == 0


def test_a_flag_defers_everything():
    compiler, _ = _compiler("--tf_xla_always_defer_compilation")
    assert compiler.compile(F, [X]) is None
    assert compiler.compile(F, [X], Mode.STRICT) is not None


def test_the_old_flags_draw_a_module_from_pass_to_pass(tmp_path):
    said = []
    flags = parse_flags(f"--xla_generate_hlo_graph=cluster_.* --xla_hlo_graph_path={tmp_path}/d")
    compiler = DeviceCompiler(graph_of("x = NoOp()", CHAIN, RESHAPES), on_reference(), flags, said.append)
    compiler.compile(F, [X])
    compiler.compile("reshapes", [np.array([6], np.int32), X])
    files = sorted(path.name for path in (tmp_path / "d").iterdir())
    assert files == [f"hlo_graph_{number}.dot" for number in range(len(said))]
    assert said[0] == f"computation cluster_0 [as it was lowered]: {tmp_path}/d/hlo_graph_0.dot"
    drawn = [(tmp_path / "d" / name).read_text(encoding="utf-8") for name in files]
    assert ["fusion" in text for text in (drawn[0], drawn[-1])] == [False, True]
    with pytest.raises(InputError, match="no regular expression"):
        DeviceCompiler(graph_of("x = NoOp()"), on_reference(), parse_flags("'--xla_generate_hlo_graph=('"))
    blocked = parse_flags(f"--xla_generate_hlo_graph=. --xla_hlo_graph_path={tmp_path}/d/{files[0]}")
    with pytest.raises(InputError, match="xla_hlo_graph_path names the folder"):
        DeviceCompiler(graph_of("x = NoOp()", CHAIN), on_reference(), blocked).compile(F, [X])


def test_functions_come_and_are_called_with_attributes():
    compiler, _ = _compiler()
    compiler.add_functions(graph_of("x = NoOp()", function("more", {"a": FLOAT}, {"b": FLOAT}, [], {"b": "a"})))
    assert compiler.compile(FunctionReference("more", {"T": FLOAT}), [X]) is not None
    compiler.add_functions(graph_of("x = NoOp()", CLUSTER))
    with pytest.raises(InputError, match=r"two functions are named 'cluster_0'.*share their Progress"):
        compiler.add_functions(graph_of("x = NoOp()", CHAIN))
    with pytest.raises(InputError, match="did you mean more"):
        compiler.compile("mre", [X], Mode.STRICT)


@pytest.mark.slow
def test_back_ends_run_what_the_reference_runs():
    graph = graph_of("x = NoOp()", CLUSTER)
    ran = [DeviceCompiler(graph, build).compile(F, [X])([X])[0][0] for build in (on_backend("cpu"), on_reference())]
    np.testing.assert_array_equal(*ran)


@pytest.mark.parametrize(("dims", "size"), [((3,), [-1]), ((3, 4), [2, -1]), ((3, 4), [-1, -1]), ((3, 4), [-1, 0])])
@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("build", [on_reference(), on_backend("cpu")], ids=["reference", "cpu"])
def test_a_slice_in_a_cluster_may_have_sizes_that_values_in_it_decide(dims, size, index, build):
    kind = BY_NAME[index]
    body = [
        node("n", "Neg", "i", T=kind),
        node("s", "Slice", "a", "n:y:0", "m", T=FLOAT, Index=kind),
        node("e", "Square", "s:output:0", T=FLOAT),
        node("d", "Shape", "e:y:0", T=FLOAT, out_type=INT),
    ]
    inputs = {"a": FLOAT, "i": kind, "m": kind}
    cut = function("cut", inputs, {"b": FLOAT, "c": INT}, body, {"b": "e:y:0", "c": "d:output:0"})
    compiler = DeviceCompiler(graph_of("x = NoOp()", cut), build, parse_flags(""))
    a = np.arange(np.prod(dims), dtype=np.float32).reshape(dims)
    for begin in (1, 0, dims[0]):
        given = [a, np.array([-begin] + [-1] * (len(dims) - 1), index), np.array(size, index)]
        starts = [begin, *([1] * (len(dims) - 1))]
        left = [own if one < 0 else min(own, at + one) for own, at, one in zip(dims, starts, size, strict=True)]
        expected = a[tuple(slice(at, end) for at, end in zip(starts, left, strict=True))] ** 2
        if size[0] >= 0 and begin + size[0] > dims[0]:
            continue  # TensorFlow's kernel refuses it
        found, shape = compiler.compile("cut", given, Mode.STRICT)(given)[0]
        np.testing.assert_array_equal(found, expected)
        assert shape.tolist() == list(expected.shape)


def test_a_cluster_with_a_size_that_nothing_bounds_runs_op_by_op_for_ever():
    body = [node_of("r = ReadVariableOp(v)"), node("s", "Fill", "r:value:0", "a", T=FLOAT, index_type=INT)]
    body[0].attributes["dtype"] = INT
    inputs = {"a": FLOAT, "v": BY_NAME["resource"]}
    filled = function("filled", inputs, {"b": FLOAT}, body, {"b": "s:output:0"})
    compiler = DeviceCompiler(graph_of("x = NoOp()", filled), on_reference(), parse_flags(""))
    given = [np.float32(1), Resource("v", ArrayShape(S32, (2,)))]
    assert compiler.compile("filled", given) is None
    assert "a size in it depends on a value" in str(compiler.unsupported("filled"))
    with pytest.raises(UnsupportedError, match="cluster filled is not supported by the lowering to HLO"):
        compiler.compile("filled", given, Mode.STRICT)
