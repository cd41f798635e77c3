"""Graphs and the clusters that TensorFlow makes of them: cases of its mark_for_compilation_pass_test, and more.

Each is the graph, flags beside those that cluster everything, and the nodes of each cluster.
"""

from cluster_graphs import BOOL, FLOAT, INT, node_of
from graph_nodes import const, function, node

GOOD = function("good", {"a": FLOAT}, {"c": FLOAT}, [node("c", "Neg", "a", T=FLOAT)], {"c": "c:y:0"})
BAD = function("bad", {"a": FLOAT}, {"c": FLOAT}, [node("s", "Stop", "a")], {"c": "s:out:0"})
TEST = function("test", {"a": FLOAT}, {"c": BOOL}, [const("t", 1, bool)], {"c": "t:output:0"})
READS = function("reads", {"v": FLOAT}, {"c": FLOAT}, [node_of("r = ReadVariableOp(v)")], {"c": "r:value:0"})
ADD = function("add", {"a": FLOAT, "b": FLOAT}, {"c": FLOAT}, [node_of("s = AddV2(a, b)")], {"c": "s:z:0"})
DRAWS = function(
    "draws",
    {},
    {"n": INT},
    [node_of("k = Const() {dtype=int32}"), node_of("r = RandomUniformInt(k:output:0, k:output:0, k:output:0)")],
    {"n": "r:output:0"},
)
ENDLESS = function("endless", {"a": FLOAT}, {"c": FLOAT}, [node("e", "endless", "a")], {"c": "e:c:0"})
DEVICES = ("CPU:0", "GPU:0", "GPU:1", "XLA_GPU:0", "XLA_GPU:1", "XLA_CPU:0")
CPU, REAL0, REAL1, GPU0, GPU1, XLA = (f"/job:worker/replica:0/task:0/device:{name}" for name in DEVICES)
FUNCTIONS = (GOOD, BAD, ADD, DRAWS)

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

PAIR = f"""
    a = Placeholder()
    b = Placeholder()
    x = AddV2(a, b) on {REAL0}
    y = MatMul(a, b) on {{}}
    z = AddV2(x, y){{}} on {REAL0}
"""
TWO = "a = Placeholder()\nb = Placeholder()\nx = AddV2(a, b) on {}\ny = AddV2(x, x) on {}"
READ = "a = Placeholder()\nv = VarHandleOp() on {0}\nr = ReadVariableOp(v) on {0}\nb = AddV2(r, a) on {1}"
SIZE = "a = Placeholder()\nb = Placeholder()\nx = MatMul(a, b){}\ny = Size(x){}\nz = AddV2(y, y) {{T=int32}}{}"
SWITCHES = """
    p = Placeholder() {dtype=bool}
    q = Placeholder() {dtype=bool}
    x = Placeholder()
    s = Switch(x, p)
    t = Switch(x, q)
"""
LISTS = """
    a = Placeholder() {{dtype=int64}}
    n = Cast(a) {{SrcT=int64, DstT=int32}}{}
    l = TensorListReserve(n, n) {{shape_type=int32}}{}
"""
MORE = {
    "PartitionedCallUnsupported": (
        "a = Placeholder()\nb = PartitionedCall(a, a) {f=@add}\nc = PartitionedCall(a) {f=@bad}\nd = AddV2(b, c)",
        "",
        ["b d"],
    ),
    "SymbolicGradients": ("a = Stop()\nb = SymbolicGradient(a, a) {f=@add}\nc = Relu(b)\nd = Relu(c)", "", ["c d"]),
    "DontClusterNodesWithMismatchingDeadness": (
        f"{SWITCHES}a0 = Tanh(s:1)\na1 = Tanh(a0)\nb0 = Tanh(t:1)\nb1 = Tanh(b0)\nadd = AddV2(a1, b1)",
        "",
        ["a0 a1", "b0 b1"],
    ),
    "ClusterNodesWithMismatchingInputDeadness": (
        f"{SWITCHES}a = AddV2(s:1, t:1)\nb = AddV2(s:1, t:1)\nc = AddV2(a, b)",
        "",
        ["a b c"],
    ),
    "ConstOp": ("k = Const() {_XlaCompile=true}\ns = Const() {dtype=string, _XlaCompile=true}", "", ["k"]),
    "RandomShapeWithFunc": ("f = draws()\nx = Placeholder()\ny = Reshape(x, f) {Tshape=int32}", "", []),
    "RandomShapeOnXlaDevice": (
        f"""
        n = Const() {{dtype=int32}} on {GPU0}
        r = RandomUniformInt(n, n, n) {{Tout=int32, T=int32}} on {GPU0}
        x = Placeholder()
        y = Reshape(x, r) {{Tshape=int32}} on {GPU0}
        """,
        "",
        [],
    ),
    "TensorArrayShapeOnXlaDevice": (
        f"""
        size = Const() {{dtype=int32}} on {GPU0}
        array = TensorArrayV3(size) {{dtype=int32}} on {GPU0}
        zero = Const() {{dtype=int32}} on {GPU0}
        value = Const() {{dtype=int32}} on {GPU0}
        write = TensorArrayWriteV3(array, zero, value, array:1) {{T=int32}} on {GPU0}
        read = TensorArrayReadV3(array, zero, write) {{dtype=int32}} on {GPU0}
        x = Placeholder()
        y = Reshape(x, read) {{Tshape=int32}} on {GPU0}
        """,
        "",
        ["array read size value write y zero"],
    ),
    "DontClusterMergingNodesOnCPU": (
        f"""
        a = Const() on {REAL0}
        m0 = MatMul(a, a) on {REAL0}
        n0 = Tanh(m0) on {REAL0}
        b = Const() on {REAL1}
        m1 = MatMul(b, b) on {REAL1}
        n1 = Tanh(m1) on {REAL1}
        both = MatMul(n0, n1) on {CPU}
        """,
        "",
        ["a m0 n0", "b m1 n1"],
    ),
    "ClusterStatefulRandomOpOnXlaDevice": (
        f"s = Const() {{dtype=int32}} on {XLA}\na = RandomUniform(s) {{T=int32}} on {XLA}\nb = Neg(a) on {XLA}",
        "",
        ["a b s"],
    ),
    "ClusterDummyOpsOnXlaDevice": (
        f"""
        a = Placeholder()
        k = CheckNumerics(a) {{message=m}} on {XLA}
        p = GreaterEqual(k, a) on {XLA}
        n = Assert(p, a) on {XLA}
        """,
        "",
        ["k n p"],
    ),
    "DontAutoClusterDummyOps": (
        "a = Placeholder()\nk = CheckNumerics(a) {message=m}\np = GreaterEqual(k, a)\nn = Assert(p, a)",
        "--tf_xla_min_cluster_size=0",
        ["p"],
    ),
    "DontAutoClusterOpsProducingVariant": (LISTS.format("", ""), "--tf_xla_min_cluster_size=1", ["n"]),
    "DontAutoClusterOpsConsumingVariant": (
        "v = Placeholder() {dtype=variant}\nl = TensorListLength(v)\nm = TensorListElementShape(v) {shape_type=int32}",
        "--tf_xla_min_cluster_size=1",
        [],
    ),
    "ClusterOpsProducingVariantIfOnXlaDevice": (LISTS.format(f" on {XLA}", f" on {XLA}"), "", ["l n"]),
    "CreateCombinedCpuGpuClusters": (PAIR.format(CPU, ""), "", ["x y z"]),
    "DontCreateGpu0AndGpu1Clusters": (TWO.format(REAL0, REAL1), "", []),
    "DontCreateCombinedCpuUnknownClusters": (TWO.format(CPU, GPU0), "", []),
    "ClusterResourceOpsWhenSafe": (READ.format(REAL0, CPU), "", ["b r"]),
    "DontClusterResourceOpsWhenUnsafe": (READ.format(CPU, REAL0), "", []),
    "DontClusterNodesWithScopedAllocatorAttr": (PAIR.format(REAL0, " {_scoped_allocator=155}"), "", []),
    "DontClusterNodesWithForwardFromAttr": (PAIR.format(REAL0, " {_forward_from=0}"), "", []),
    "ClusterShapeConsumerWithProducer": (SIZE.format(f" on {REAL0}", f" on {CPU}", f" on {REAL1}"), "", ["x y"]),
    "ClusterShapeConsumerWithProducerAndConsumer": (SIZE.format("", "", ""), "", ["x y z"]),
    "IterationIncrementAndGroupDeps": (
        """
        i = VarHandleOp() {dtype=int64}
        w0 = VarHandleOp()
        w1 = VarHandleOp()
        delta = Placeholder()
        one = Const() {dtype=int64, value=[1]}
        some = NoOp()
        u0 = AssignAddVariableOp(w0, delta, ^some)
        u1 = AssignAddVariableOp(w1, delta, ^some)
        inc = AssignAddVariableOp(i, one, ^u0, ^u1) {dtype=int64}
        x = Placeholder()
        m0 = MatMul(x, x, ^u0)
        m1 = MatMul(x, x, ^u1)
        group = NoOp(^inc, ^m0, ^m1)
        """,
        "",
        ["group inc one", "m0 m1 some u0 u1"],
    ),
    "UnsupportedEnterExitPattern": (
        """
        a = Placeholder()
        e0 = Enter(a) {frame_name=f}
        x0 = Exit(e0)
        t = Tanh(x0)
        u = Tanh(t)
        e1 = Enter(u) {frame_name=f}
        x1 = Exit(e1)
        """,
        "",
        [],
    ),
}
"""Those that say which devices, and which ops, go together: TensorFlow's least cluster has two ops there."""
