"""Loops of frames op by op: an iteration is a plan of its own, run as long as anything goes on to the next.

What TensorFlow's executor does with tokens for each iteration, dead values do here.  A loop's `Merge` is given what
entered in the first iteration and what `NextIteration` let pass in every other; what is not given is dead.  A `Switch`
kills what must not go on, or not leave yet, so that an `Exit` is alive once, and when every `NextIteration` is dead the
loop has ended.  Constants enter every iteration.  Iterations follow one another: how many may run at the same time
(`parallel_iterations`) changes no result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.tf import Frame, Node, is_a, with_outputs
from xlabench.tensorflow.runtime import executor
from xlabench.tensorflow.runtime.kernels import DEAD
from xlabench.tensorflow.runtime.steps import Plan


class Iteration:
    """What a frame runs again and again, as nodes of a graph with feeds and fetches.

    Attributes:
        nodes: the nodes.
        entries: an `_Arg` for each `Enter`, then one for what each `NextIteration` let pass before.
        exits: a `_Retval` for each `Exit`, then one for each `NextIteration`.
    """

    def __init__(self, frame: Frame) -> None:
        """Cut the cycles of a frame."""
        enters, nexts = frame.all("Enter"), frame.all("NextIteration")
        before = {node.name: f"{node.name}/before" for node in nexts}
        ends = [*frame.all("Exit"), *nexts]
        starts = [Node(node.name, "_Arg", (), node.device) for node in enters]
        starts += [Node(before[node.name], "_Arg", (), node.device) for node in nexts]
        results = [Node(f"{node.name}/after", "_Retval", (node.name,), node.device) for node in ends]
        inner = [node for node in frame.nodes if not is_a(node, "Enter")]
        cut = [with_outputs(node, before) if is_a(node, "Merge") else node for node in inner]
        self.nodes = [*starts, *cut, *results]
        self.entries = [node.name for node in starts]
        self.exits = [node.name for node in results]
        self._enters = [node.attributes.get("is_constant") is True for node in enters]
        self._nexts = len(nexts)

    def run(self, plan: Plan, inputs: Sequence[Any]) -> Sequence[Any]:
        """What leaves a loop that is planned.

        Args:
            plan: that of an iteration.
            inputs: what enters.
        """
        exits = len(self.exits) - self._nexts
        left = [DEAD] * exits
        given = [*inputs, *[DEAD] * self._nexts]
        constants = [one if is_constant else DEAD for one, is_constant in zip(inputs, self._enters, strict=True)]
        while True:
            results = executor.run(plan, given)
            left = [old if new is DEAD else new for old, new in zip(left, results[:exits], strict=True)]
            following = results[exits:]
            if all(one is DEAD for one in following):
                return left
            given = [*constants, *following]
