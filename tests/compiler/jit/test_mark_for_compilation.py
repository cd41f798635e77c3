"""Which nodes form clusters: the cases of TensorFlow's mark_for_compilation_pass_test, and why others are in none."""

import pytest
from cluster_cases import BAD, CASES, ENDLESS, FUNCTIONS, GOOD, MORE, READS, SCOPED, TEST, XLA
from cluster_graphs import FLOAT, INT, SETTLED, graph_of, marked
from graph_nodes import function

from compiler.diagnostics import InputError
from compiler.jit import OFF, ON_1, ON_2, Options, Progress, cluster, cluster_of, parse_flags


@pytest.mark.parametrize("name", [*CASES, *MORE])
def test_clusters_are_tensorflows(name):
    text, flags, expected = CASES[name] if name in CASES else MORE[name]
    least = "" if name in CASES else "--tf_xla_min_cluster_size=2"
    found, marking = marked(text, *FUNCTIONS, ENDLESS, flags=f"{least} {flags}")
    assert found == expected
    named = {line.strip().partition(" =")[0] for line in text.strip().splitlines()}
    assert {*marking.clusters, *marking.reasons} == named, "every node is in a cluster, or has a reason"


@pytest.mark.parametrize(
    ("scopes", "level", "expected"),
    [
        (("A", "B", "C"), OFF, ["a", "b", "c"]),
        (("A", "B", "C"), ON_2, ["a b c"]),
        (("A", "A", "B"), OFF, ["a b", "c"]),
        (("A", "B", "B"), OFF, ["a", "b c"]),
    ],
)
def test_scopes_of_a_user_count_where_the_session_asks_for_nothing(scopes, level, expected):
    graph = graph_of(SCOPED.format(*scopes))
    for one in graph.nodes:
        one.attributes["_XlaCompile"] = True
    found, _ = marked(graph, flags=f"--tf_xla_auto_jit={level}", options=Options(progress=Progress()))
    assert found == expected


def test_a_node_without_a_scope_is_a_bridge():
    graph = graph_of("a = Relu(x) {_XlaScope=A}\nx = Stop()\nb = Relu(a)\nc = MatMul(x, b) {_XlaScope=C}")
    for one in graph.nodes:
        one.attributes["_XlaCompile"] = True
    assert marked(graph, flags="--tf_xla_auto_jit=-1")[0] == ["a", "b c"]


@pytest.mark.parametrize(
    ("options", "flags", "expected"),
    [
        (Options(), "", []),
        (Options(global_jit_level=ON_1), "", []),
        (Options(global_jit_level=ON_1, cpu_global_jit=True), "", ["a b"]),
        (Options(global_jit_level=ON_1), "--tf_xla_cpu_global_jit", ["a b"]),
        (Options(global_jit_level=ON_1), "--tf_xla_cpu_global_jit --tf_xla_auto_jit=-1", []),
        (Options(), "--tf_xla_auto_jit=1 --tf_xla_cpu_global_jit", ["a b"]),
        (Options(global_jit_level=ON_1, device="/gpu:0"), "", ["a b"]),
        (Options(device="/gpu:0"), "--tf_xla_auto_jit=single-gpu(2)", ["a b"]),
        (Options(device="/device:XLA_CPU:0"), "", ["a b"]),
        (Options(device="/device:XLA_CPU:0"), "--tf_xla_enable_xla_devices=false", []),
    ],
)
def test_somebody_must_ask(options, flags, expected):
    graph = graph_of("x = Stop()\na = Neg(x)\nb = Neg(a)")
    _, marking = cluster(graph, parse_flags(f"--tf_xla_min_cluster_size=1 {flags}"), options)
    assert [" ".join(nodes) for nodes in marking.members().values()] == expected
    warned = options.global_jit_level == ON_1 and not expected and not flags
    assert any("--tf_xla_cpu_global_jit" in note for note in marking.notes) is warned


def test_a_node_may_ask_or_refuse_itself():
    text = "x = Stop()\na = Neg(x) {_XlaCompile=true}\nb = Neg(a)\nc = Neg(b) {_XlaCompile=true}"
    graph = graph_of(text)
    _, marking = cluster(graph, parse_flags(""), Options())
    assert [*marking.members().values()] == [["a"], ["c"]]
    assert "nobody asks for it" in marking.reasons["b"]
    found, marking = marked("x = Stop()\na = Neg(x) {_XlaCompile=false}\nb = Neg(a)")
    assert (found, "_XlaCompile" in marking.reasons["a"]) == (["b"], True)


def test_functions_ask_by_their_attributes():
    asked = function(
        "asked", {"a": FLOAT}, {"c": FLOAT}, GOOD.nodes, GOOD.returns, attributes={"_XlaMustCompile": True}
    )
    graph = graph_of("x = Stop()\na = asked(x)", asked)
    assert marked(graph, flags="--tf_xla_min_cluster_size=9")[0] == ["a"]
    assert marked(graph, flags="--tf_xla_auto_jit=-1")[0] == []


def test_loops_and_branches_count_for_any_size():
    text = "x = Stop()\np = Stop()\na = If(p, x) {then_branch=@good, else_branch=@good, Tcond=bool}"
    assert marked(text, GOOD, flags="--tf_xla_min_cluster_size=9")[0] == ["a"]
    assert marked(text.replace("else_branch=@good", "else_branch=@bad"), GOOD, BAD)[0] == []
    loop = "x = Stop()\na = While(x) {cond=@test, body=@good}\nb = While(x) {cond=@test, body=@bad}"
    assert marked(loop, GOOD, BAD, TEST, flags="--tf_xla_min_cluster_size=9")[0] == ["a"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a = Assert(p, x)", "would not check"),
        ("a = CheckNumerics(x) {message=m}", "would not check"),
        ("a = RandomUniform(p) {dtype=float32}", "random numbers"),
        ("a = Svd(x)", "compiled it would be less exact"),
        ("a = Wild(x)", "no lowering"),
        ("a = Negg(x)", "did you mean Neg"),
        ("a = Neg(x) {_scoped_allocator=1}", "shares memory"),
        ("a = Neg(x) {T=bool}", "no lowering for bool"),
        ("a = bad(x)", "function 'bad', node 's': op Stop has no lowering"),
        ("a = endless(x)", "more than 10 deep"),
        ("a = reads(v)", "variables inside of a function"),
    ],
)
def test_reasons_are_said(line, said):
    _, marking = marked(f"x = Stop()\np = Stop()\nv = VarHandleOp()\n{line}", BAD, ENDLESS, READS)
    assert said in marking.reasons["a"]


def test_devices_without_kernels_hold_what_others_leave_out():
    text = f"v = VarHandleOp() on {XLA}\na = reads(v) on {XLA}\nb = Neg(a) on {XLA}"
    resource = function("reads", {"v": FLOAT}, {"c": FLOAT}, READS.nodes, READS.returns)
    assert marked(text, resource)[0] == ["a b"]


def test_names_go_on_from_graph_to_graph_and_may_follow_from_the_graph():
    options = Options(progress=Progress())
    names = [*(marked("x = Stop()\na = Neg(x)", options=options)[1].clusters["a"] for _ in range(2))]
    assert names == ["cluster_0", "cluster_1"]
    settled = [
        marked(f"x = Stop()\na = {op}(x)", flags="--tf_xla_deterministic_cluster_names")[1].clusters["a"]
        for op in ("Neg", "Neg", "Exp")
    ]
    assert settled[0] == settled[1] != settled[2]
    assert marked("x = Stop()\na = Neg(x)", options=Options(name="mine"))[1].clusters == {"a": "mine_0"}


def test_fuel_lasts_for_all_graphs_together():
    options = Options(progress=Progress())
    counts = [
        len(
            marked("x = Stop()\na = Neg(x)\nb = Neg(a)", flags="--tf_xla_clustering_fuel=3", options=options)[
                1
            ].clusters
        )
        for _ in range(3)
    ]
    assert counts == [2, 1, 0]


def test_refused_edges_say_why():
    _, marking = marked("a = Const()\nb = Stop(a)\nc = MatMul(a, b)")
    assert marking.refused == {("a", "c"): "it would wait for itself through b"}


def test_a_clustered_graph_is_not_clustered_again():
    once, _ = cluster(graph_of("x = Stop()\na = Neg(x)"), parse_flags(SETTLED), Options())
    again, marking = cluster(once, parse_flags(SETTLED), Options())
    assert marking.clusters == {}
    assert [cluster_of(one) for one in again.nodes] == ["", "cluster_0"]


@pytest.mark.parametrize("flag", ["--tf_xla_ops_to_cluster=Negg", "--tf_xla_cluster_exclude_ops=Negg"])
def test_a_flag_that_names_no_op_is_an_error(flag):
    with pytest.raises(InputError, match=r"'Negg' passed to --tf_xla_.*did you mean Neg"):
        marked("a = Const()", flags=flag)


@pytest.mark.parametrize("device", ["gpu", "/device:GPU", "/gpu:x", "/job:a/gpu:0/"])
def test_devices_are_spelled_as_tensorflow_spells_them(device):
    good = device == "/device:GPU"
    if good:
        assert marked(f"a = Neg(b) on {device}\nb = Stop()")[0] == ["a"]
        return
    with pytest.raises(InputError, match="no name of a device"):
        marked(f"a = Neg(b) on {device}\nb = Stop()")


def test_integers_of_shapes_stay_constants():
    found, _ = marked("x = Stop()\ns = Shape(x)\nr = Reshape(x, s) {Tshape=int32}\nn = Neg(r)")
    assert found == ["n r s"]
    assert INT.element_type is not None


def test_stages_of_a_pipeline_stay_apart():
    before = "a = Const()\nb = Const()\nx = AddV2(a, b)\nv = Relu(x)\ns = Stage(v)"
    text = f"{before}\nu = Unstage()\ny = AddV2(u, b)\nw = Relu(y)"
    assert marked(text)[0] == ["a b v w x y"], "without their scopes"
    _, marking = cluster(graph_of(text), parse_flags(SETTLED), Options())
    assert sorted(map(sorted, marking.members().values())) == [["a", "b/clone_0", "v", "x"], ["b", "w", "y"]]
