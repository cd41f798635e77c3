"""Which nodes form clusters: the cases of TensorFlow's mark_for_compilation_pass_test, and why others are in none."""

import pytest
from cluster_graphs import BOOL, FLOAT, INT, SETTLED, graph_of, marked, node_of
from graph_nodes import const, function, node

from compiler.diagnostics import InputError
from compiler.jit import OFF, ON_1, ON_2, Options, Progress, cluster, cluster_of, parse_flags

GOOD = function("good", {"a": FLOAT}, {"c": FLOAT}, [node("c", "Neg", "a", T=FLOAT)], {"c": "c:y:0"})
BAD = function("bad", {"a": FLOAT}, {"c": FLOAT}, [node("s", "Stop", "a")], {"c": "s:out:0"})
TEST = function("test", {"a": FLOAT}, {"c": BOOL}, [const("t", 1, bool)], {"c": "t:output:0"})
READS = function("reads", {"v": FLOAT}, {"c": FLOAT}, [node_of("r = ReadVariableOp(v)")], {"c": "r:value:0"})
ENDLESS = function("endless", {"a": FLOAT}, {"c": FLOAT}, [node("e", "endless", "a")], {"c": "e:c:0"})
GPU0, GPU1, XLA = ("/job:worker/replica:0/task:0/device:" + name for name in ("XLA_GPU:0", "XLA_GPU:1", "XLA_CPU:0"))

VARIABLES = """
    vr = VarHandleOp()
    vw = VarHandleOp()
    k = Const()
    r = ReadVariableOp(vr{0})
    w = AssignVariableOp(vw, k{1})
"""
CHAIN = """
    v = VarHandleOp()
    k0 = Const()
    k1 = Const()
    w0 = AssignVariableOp(v, k0)
    n0 = Const(^w0)
    r0 = ReadVariableOp(v, ^n0)
    w1 = AssignVariableOp(v, k1, ^r0)
    n1 = Const(^w1)
    r1 = ReadVariableOp(v, ^n1)
"""
SCOPED = "a = Const() {{_XlaScope={}}}\nb = Relu(a) {{_XlaScope={}}}\nc = MatMul(a, b) {{_XlaScope={}}}"

CASES = {
    "Chains": ("a = Stop()\nb = Relu(a)\nc = Relu(b)\nd = Stop(c)\ne = Relu(d)\nf = Relu(e)", "", ["b c", "e f"]),
    "UncompilableCycles": ("a = Const()\nb = Stop(a)\nc = MatMul(a, b)", "--tf_xla_min_cluster_size=2", []),
    "CompilableCycles": ("a = Const()\nb = Relu(a)\nc = MatMul(a, b)", "", ["a b c"]),
    "StringUnsupported": ("a = Const() {dtype=string}\nb = Identity(a) {T=string}\nc = Neg(a) {T=string}", "", []),
    "HalfSupported": ("a = Placeholder()\nb = Neg(a) {T=float16}\nc = MatMul(b, b) {T=float16}", "", ["b c"]),
    "ConcatWithConstArg": (
        "d = Const() {dtype=int32, value=[0]}\na = Const()\nc = ConcatV2(a, a, d) {N=2}",
        "",
        ["a c d"],
    ),
    "FunctionCalls": ("a = Stop()\nb = good(a)\nc = Relu(b)\nd = bad(c)\ne = endless(c)", "", ["b c"]),
    "CallsByAttribute": (
        "a = Stop()\nb = PartitionedCall(a) {f=@good}\nc = PartitionedCall(b) {f=@bad}\nd = PartitionedCall(b) {f=@no}",
        "",
        ["b"],
    ),
    "Loops": (
        """
        a = Placeholder()
        c = AddV2(a, a)
        e = Enter(c) {frame_name=f}
        n = NextIteration(e)
        x = Exit(n)
        d = AddV2(c, x)
        """,
        "--tf_xla_min_cluster_size=2",
        [],
    ),
    "ResourcesClusteringAllowed": (VARIABLES.format("", ", ^r"), "", ["k r w"]),
    "ResourcesClusteringDisallowed": (VARIABLES.format(", ^w", ""), "--tf_xla_min_cluster_size=1", ["k w", "r"]),
    "ResourceChecksDisabled": (
        VARIABLES.format(", ^w", ""),
        "--tf_xla_disable_resource_variable_safety_checks_for_debugging",
        ["k r w"],
    ),
    "ChainOfOps": (CHAIN, "", ["k0 w0", "k1 n0 r0 w1", "n1 r1"]),
    "Retval": ("a = Const()\nb = Relu(a)\nr = _Retval(b) {index=0}", "", ["a b"]),
    "DontCountIdentityOps": ("a = _Arg()\nb = Identity(a)\nc = Identity(b)\nr = _Retval(c)", "", []),
    "DontCountConstants": (
        "a = Const()\nb = Identity(a)\nc = Const()\nd = AddV2(b, c)",
        "--tf_xla_min_cluster_size=2",
        [],
    ),
    "DontClusterIdentityWithRefInput": ("v = Variable()\nr = Identity(v)\nn = Neg(r)\na = AddV2(n, n)", "", ["a n"]),
    "ClusterIdentityWithNonRefInput": (
        "v = Variable()\nr = Identity(v)\nn = Neg(r)\ni = Identity(n)\na = AddV2(i, n)",
        "",
        ["a i n"],
    ),
    "OpsOnReferences": ("v = Variable()\nk = Const()\na = Assign(v, k)\nn = Neg(a)", "", ["n"]),
    "ClusterControlTrigger": ("a = _Recv()\nt = ControlTrigger(^a)\nu = ControlTrigger()\nc = Const(^u)", "", []),
    "RandomShape": (
        """
        s = Const() {dtype=int32, value=[2]}
        r = RandomUniformInt(s, s, s) {Tout=int32, T=int32}
        x = Stop()
        y = Reshape(x, r)
        """,
        "",
        ["y"],
    ),
    "DontAutoClusterStatefulRandomOp": (
        "s = Const() {dtype=int32, value=[2]}\na = RandomUniform(s) {dtype=float32, T=int32}\nb = Neg(a)",
        "",
        ["b"],
    ),
    "DontClusterMergingNodes": (
        f"""
        a = Const() on {GPU0}
        m0 = MatMul(a, a) on {GPU0}
        b = Const() on {GPU1}
        m1 = MatMul(b, b) on {GPU1}
        both = MatMul(m0, m1) on {GPU1}
        """,
        "",
        ["a m0", "b m1", "both"],
    ),
    "NOT_DontClusterSpreadingNodes": (
        f"a = Const() on {GPU0}\ns = MatMul(a, a) on {GPU0}\nm0 = MatMul(s, s) on {GPU0}\nm1 = MatMul(s, s) on {GPU1}",
        "",
        ["a m0 s", "m1"],
    ),
    "CPUAndOneGPU": ("a = Const() on /cpu:0\nb = Relu(a) on /gpu:0\nc = Relu(b) on /gpu:1", "", ["a b", "c"]),
    "UnknownDevice": ("a = Const()\nb = Relu(a) on /device:TPU:0", "--tf_xla_min_cluster_size=0", ["a"]),
    "VariablesStayWhereTheyAre": (
        "v = VarHandleOp()\nr = ReadVariableOp(v)\nn = Neg(r) on /gpu:0\nm = Neg(n) on /gpu:0",
        "",
        ["m n", "r"],
    ),
    "ShapesGoWithWhatTheyAskAbout": (
        "a = Relu(x)\nx = Stop()\nb = Size(a)\ns = Stop(a)\nc = Cast(b) {SrcT=int32, DstT=float32}\nd = AddV2(c, s)",
        "",
        ["a b", "c d"],
    ),
    "CountersComeLast": (
        """
        v = VarHandleOp()
        i = VarHandleOp() {dtype=int64}
        x = Stop()
        u = AssignAddVariableOp(v, x)
        one = Const() {dtype=int64, value=[1]}
        inc = AssignAddVariableOp(i, one, ^u) {dtype=int64}
        c = Neg(x, ^u)
        end = NoOp(^c, ^inc)
        """,
        "",
        ["c u", "end inc one"],
    ),
    "FillsOfOthersStayOut": (
        "d = Const() {dtype=int32, value=[2]}\nk = Const()\nf = Fill(d, k)\ns = Stop(f)\nn = Neg(k)",
        "",
        ["d k n"],
    ),
    "MaxClusterSize": ("x = Stop()\na = Neg(x)\nb = Neg(a)\nc = Neg(b)", "--tf_xla_max_cluster_size=2", ["a", "b c"]),
    "OpsToCluster": (
        "x = Stop()\na = Neg(x)\nb = Softmax(a)\nc = Exp(b)",
        "--tf_xla_ops_to_cluster=PW,Cast",
        ["a", "c"],
    ),
    "Fusible": ("x = Stop()\na = Neg(x)\nb = MatMul(a, a)", "--tf_xla_ops_to_cluster=FUSIBLE", ["a"]),
    "ExcludedOps": ("x = Stop()\na = Neg(x)\nb = Exp(a)", "--tf_xla_cluster_exclude_ops=Exp", ["a"]),
    "Fuel": ("x = Stop()\na = Neg(x)\nb = Neg(a)\nc = Neg(b)", "--tf_xla_clustering_fuel=2", ["a b"]),
    "DeadAtDifferentTimes": (
        """
        p = Stop()
        x = Stop()
        s = Switch(x, p)
        a = Neg(s)
        b = Neg(s:1)
        m = Merge(a, b)
        c = Neg(m)
        d = AddV2(c, x)
        """,
        "",
        ["a", "b", "c d"],
    ),
    "DeadnessChecksDisabled": (
        "p = Stop()\nx = Stop()\ns = Switch(x, p)\na = Neg(s)\nd = AddV2(a, b)\nb = Neg(x)",
        "--tf_xla_disable_deadness_safety_checks_for_debugging",
        ["a b d"],
    ),
    "IdentityThatDrivesConstants": (
        """
        x = Stop()
        e = Enter(x) {frame_name=f}
        m = Merge(e, n)
        t = Stop(m)
        l = LoopCond(t)
        s = Switch(m, l)
        i = Identity(s:1)
        k = Const(^i)
        n = NextIteration(j)
        j = AddV2(i, k)
        """,
        "",
        ["j k"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_clusters_are_tensorflows(name):
    text, flags, expected = CASES[name]
    found, marking = marked(text, GOOD, BAD, ENDLESS, flags=flags)
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
