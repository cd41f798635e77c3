"""Who is to blame where a graph fails op by op or in clusters: a lowering, a decision of clustering, or what compiles.

From the reference outwards, each step believed only when the one before is right:

1. `tf2xla/OP`: every array of the graph, op by op on the reference, is held against the same of the whole program.  The
   first that differs, behind inputs that do not, is that of an op that is lowered to another thing among others than
   alone; a function that it calls is looked into in the same way.  Where that op gives the same with its constants fed,
   it is `execution`: how the graph is put together, op by op or in the whole, whichever op shows it first.
2. `clustering/OP`: not even on the reference is the graph with clusters right.  Fuel names the node with which that
   begins.  A cluster that is wrong on what it gets comes back to 1.
3. Else the clusters mean the same: the first op, or cluster, that is wrong alone on the engine is a program like any
   other, and `blame` says which pass, rewrite or kernel of it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from compiler import CompilerError, aot
from compiler.tf import Node
from xlabench.diagnosis import blame
from xlabench.diagnosis.bisection import nearest
from xlabench.diagnosis.blame import Blame, Evidence, Search
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import FAILURES, Judgement, Prober, require_failure, with_options
from xlabench.engines import OF_GRAPHS, compiled_by
from xlabench.engines.spec import split_spec
from xlabench.graphs.case import VARIABLES, GraphCase, in_order, source_of
from xlabench.graphs.clustered import Clustered, clustered
from xlabench.graphs.clusters import flags_of
from xlabench.judging.tolerance import Array
from xlabench.judging.wrongness import kind_of

_REFERENCE, _OPS = "reference", "ops"
_NO_OP = "no op is wrong alone"


@dataclass(frozen=True, slots=True)
class Found:
    """Who is to blame; `case` and `engine` show it: those that were asked about, or a part and what compiled that."""

    blame: Blame
    case: Case
    engine: str

    @property
    def is_about_graph(self) -> bool:
        """Whether what is to blame is there before anything is compiled."""
        return split_spec(self.engine)[0] in OF_GRAPHS


def is_of_graphs(engine: str) -> bool:
    """Whether an engine runs the graph that a program carries."""
    return split_spec(engine)[0] in OF_GRAPHS


def find(
    prober: Prober,
    case: Case,
    judgement: Judgement | None = None,
    *,
    in_detail: bool = True,
    report: Callable[[Evidence], None] = lambda _: None,
) -> Found:
    """Find who is to blame for what a case shows on any engine; as `blame.find` does of programs.

    Args:
        prober: who asks the engine.
        case: the program that carries a graph.
        judgement: what it shows.
        in_detail: whether code is looked into, too.
        report: hears each step.
    """
    judgement = judgement or prober.judge(case)
    require_failure(judgement)
    engine = prober.setup.engine
    graph = GraphCase.of(case.module, case.inputs) if is_of_graphs(engine) else None
    if graph is None:
        return Found(blame.find(prober, case, judgement, in_detail=in_detail, report=report), case, engine)
    search = _Search(prober, case, judgement, in_detail, report, graph)
    found = search.found()
    kind = kind_of(judgement.expected, judgement.actual) if judgement.verdict == "wrong" else ""
    return replace(found, blame=replace(found.blame, evidence=(*search.evidence, *found.blame.evidence), kind=kind))


@dataclass
class _Search(Search):
    graph: GraphCase

    @property
    def engine(self) -> str:
        return self.prober.setup.engine

    def found(self) -> Found:
        """The steps in order."""
        lowering = self._in_lowering(self.graph)
        if lowering is not None:
            return self._of_graph(lowering)
        if split_spec(self.engine)[0] == _OPS:
            return self._in_ops(self.graph) or self._together()
        alone = with_options(self.engine, {"on": _REFERENCE})
        verdict = self._ask(f"clusters on {_REFERENCE}", self.case, alone)
        return self._in_clustering(alone) if verdict.is_failure else self._in_clusters()

    def _ask(self, witness: str, case: Case, engine: str) -> Judgement:
        judgement = self.prober.judge(case, engine=engine)
        self.note(witness, judgement.verdict)
        return judgement

    def _of_graph(self, found: Blame) -> Found:
        return Found(found, self.case, self.engine)

    def _unknown(self, said: str) -> Found:
        return self._of_graph(Blame("engine", f"{self.engine}: {said}", self.judgement.verdict))

    def _together(self) -> Found:
        """What is to blame where every op is right alone."""
        is_execution = self._ask(f"the graph op by op on {_REFERENCE}", self.case, _OPS).is_failure
        return self._of_graph(self._execution()) if is_execution else self._unknown(_NO_OP)

    def _execution(self, where: str = "") -> Blame:
        return Blame("execution", "", self.judgement.verdict, where=where, diff=self.judgement.message)

    def _in_lowering(self, graph: GraphCase) -> Blame | None:
        """The first op that is lowered to another thing in the whole than alone."""
        graph = graph.pruned()
        opened = graph.opened()
        case = _program_of(opened)
        if case is None:
            return None
        judgement = self._ask(f"every op of {len(opened.fetches)} on {_REFERENCE}", case, _OPS)
        if not judgement.is_failure:
            return None
        arrays = [text for text in opened.fetches if not text.startswith("^")]
        whole = {**graph.constants, **graph.values, **dict(zip(arrays, judgement.expected, strict=False))}
        if not judgement.wrong or judgement.wrong[0] >= len(arrays):  # nothing is given, or variables alone are wrong
            return self._alone_or_together(opened, whole)
        node, found = graph.graph.node(source_of(arrays[judgement.wrong[0]])), self._found(graph)
        if node.op == "Merge" and (way := self._on_a_way(graph, found)) is not None:
            return way
        inner = graph.body(node, found)
        inside = self._in_lowering(inner) if inner is not None else None
        if inside is not None:
            return replace(inside, where=f"{node.name}/{inside.where}")
        return self._of_op(graph, node, whole)

    def _of_op(self, graph: GraphCase, node: Node, whole: Mapping[str, Array]) -> Blame:
        """An op's lowering, unless that is the same with constants fed, as op by op."""
        if self._is_lowered_alike(graph, node, whole):
            return self._execution(node.name)
        return Blame("tf2xla", node.op, self.judgement.verdict, where=node.name, diff=str(node))

    def _is_lowered_alike(self, graph: GraphCase, node: Node, whole: Mapping[str, Array]) -> bool:
        """Whether an op gives with constants fed what it gives in the whole, or of what takes variables with them."""
        fed, kept = (_program_of(graph.subgraph([node.name], whole, feeds_constants=feeds)) for feeds in (True, False))
        given = None if fed is None else self.prober.expected(fed)
        if fed is None or given is None:
            return False
        outputs = graph.outputs(node)
        takes_variables = any(graph.graph.node(source_of(text)).op in VARIABLES for text in node.data_inputs)
        if takes_variables or not whole.keys() >= set(outputs):
            wanted = None if kept is None else self.prober.expected(kept)
        else:
            wanted = tuple(whole[one] for one in outputs)
        return wanted is not None and self.prober.agrees(fed, wanted, given)

    def _on_a_way(self, graph: GraphCase, found: Mapping[str, Array]) -> Blame | None:
        """The first op on one side of a `Switch` that is lowered to another thing on what it gets there than alone."""
        for name, alone in self._alone(graph, found):
            if name in graph.may_be_dead and self._ask(f"{name} alone, on {_REFERENCE}", alone, _OPS).is_failure:
                return self._of_op(graph, graph.graph.node(name), found)
        return None

    def _alone_or_together(self, graph: GraphCase, whole: Mapping[str, Array]) -> Blame:
        """The first op that fails alone; if there is none, they do together."""
        for name, alone in self._alone(graph, whole):
            if self._ask(f"{name} alone, on {_REFERENCE}", alone, _OPS).is_failure:
                return self._of_op(graph, graph.graph.node(name), whole)
        return self._execution()

    def _found(self, graph: GraphCase) -> Mapping[str, Array]:
        """What stands at every place of a graph."""
        return values_in(self.prober, graph)

    def _alone(self, graph: GraphCase, found: Mapping[str, Array]) -> Iterator[tuple[str, Case]]:
        """Every node alone on what it gets."""
        for node in in_order(graph.graph.nodes):
            is_given = any(text.partition(":")[0] == node.name for text in graph.values)
            if node.op in ("Const", "NoOp") or is_given:
                continue
            piece = _program_of(graph.subgraph([node.name], found))
            if piece is not None:
                yield node.name, piece

    def _in_ops(self, graph: GraphCase) -> Found | None:
        """The first op that is wrong alone on the engine."""
        found = self._found(graph)
        inner = compiled_by(self.engine)
        for node, alone in self._alone(graph, found):
            judgement = self._ask(f"{node} ({graph.graph.node(node).op}) alone on {inner}", alone, inner)
            if judgement.is_failure:
                return self._handed(alone, inner)
            body = graph.body(graph.graph.node(node), found)
            inside = self._in_ops(body) if body is not None else None
            if inside is not None:
                return inside
        return None

    def _in_clustering(self, engine: str) -> Found:
        """The node with which clusters begin to be wrong."""
        whole = clustered(self.graph, flags_of(self.engine))
        bad = len(whole.marking.candidates)

        def is_bad(fuel: int) -> bool:
            asked = with_options(engine, {"fuel": fuel})
            return self._ask(f"clusters of {fuel} nodes", self.case, asked).is_failure

        if is_bad(0):
            return self._of_graph(self._execution())
        good, bad = nearest(0, bad, is_bad)
        before, after = (clustered(self.graph, replace(flags_of(self.engine), clustering_fuel=n)) for n in (good, bad))
        for name, nodes in after.members.items():
            alone = after.case.subgraph(nodes, self._found_in(after))
            lowering = self._in_lowering(alone) if alone is not None and not alone.variables else None
            if lowering is not None:
                return self._of_graph(replace(lowering, where=f"{name}/{lowering.where}"))
        node = whole.marking.candidates[bad - 1]
        lines = _changed(before, after)
        engines = [with_options(self.engine, {"fuel": fuel}) for fuel in (good, bad)]
        return self._of_graph(
            Blame(
                "clustering",
                after.case.graph.node(node).op,
                self.judgement.verdict,
                where=node,
                rewrite=bad,
                last_good=engines[0],
                first_bad=engines[1],
                diff=lines,
            )
        )

    def _found_in(self, made: Clustered) -> Mapping[str, Array]:
        """What stands at every place of the graph that runs."""
        return {**self._found(self.graph), **made.case.values}

    def _in_clusters(self) -> Found:
        """The first cluster that is wrong alone on the engine."""
        made, inner = clustered(self.graph, flags_of(self.engine)), compiled_by(self.engine)
        found = self._found_in(made)
        for name, nodes in made.members.items():
            alone = _program_of(made.case.subgraph(nodes, found))
            if alone is not None and self._ask(f"{name} alone on {inner}", alone, inner).is_failure:
                return self._handed(alone, inner)
        return self._unknown("every cluster is right alone")

    def _handed(self, alone: Case, inner: str) -> Found:
        """Who is to blame for what a part shows, as a program."""
        program = Case(aot.without_graph(alone.module), alone.inputs)
        with Prober(replace(self.prober.setup, engine=inner), self.prober.budget) as prober:
            found = blame.find(prober, program, in_detail=self.in_detail, report=self.report)
        return Found(found, program, inner)


def values_in(prober: Prober, graph: GraphCase) -> Mapping[str, Array]:
    """What stands at every place of a graph, op by op on the reference, of what is dead nothing."""
    case = _program_of(graph)
    known = {**graph.constants, **graph.values}
    return known if case is None else {**known, **prober.graph_values(case, graph.endpoints)}


def _changed(before: Clustered, after: Clustered) -> str:
    """The lines of the clusters' listing that differ."""
    first, second = (one.listing.splitlines() for one in (before, after))
    return "\n".join(difflib.unified_diff(first, second, "before", "after", n=2, lineterm=""))


def _program_of(alone: GraphCase | None) -> Case | None:
    """A part as a program, None where it is none."""
    if alone is None or not alone.fetches:
        return None
    try:
        return Case(*alone.program())
    except CompilerError:
        return None


def same_cause(prober: Prober, case: Case, wanted: Blame) -> bool:
    """Whether a graph fails in the same way for the same reason.

    Args:
        prober: asks engines about programs.
        case: the program that carries the graph.
        wanted: who is to blame for the original.
    """
    judgement = prober.judge(case)
    if judgement.verdict not in FAILURES or judgement.verdict != wanted.verdict:
        return False
    return find(prober, case, judgement, in_detail=False).blame.signature == wanted.signature
