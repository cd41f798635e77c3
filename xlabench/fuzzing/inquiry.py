"""What a campaign has to know before it draws anything: questions, shared out over watched workers.

What an engine supports is some thousand small compilations, which on one worker of several would take longer than many
campaigns do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeVar

from xlabench.worker import Worker

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Asks as many workers at once as a campaign has.

    Attributes:
        workers: how many.
        memory_bytes: for one worker.
        preload: what a worker loads before its first question.
        observe: is told how many of how many questions are answered.
    """

    workers: int
    memory_bytes: int | None
    preload: Sequence[str]
    observe: Callable[[int, int], None]

    def each(self, ask: Callable[[Worker, Item], Answer], items: Sequence[Item]) -> list[Answer]:
        """The answers to one question about each of the items, in their order."""
        answers: list[Answer] = []
        with contextlib.ExitStack() as stack:
            idle: SimpleQueue[Worker] = SimpleQueue()
            for _ in range(self.workers):
                idle.put(stack.enter_context(Worker(memory_bytes=self.memory_bytes, preload=self.preload)))

            def answer(item: Item) -> Answer:
                worker = idle.get()
                try:
                    return ask(worker, item)
                finally:
                    idle.put(worker)

            pool = stack.enter_context(ThreadPoolExecutor(self.workers))
            stack.callback(pool.shutdown, wait=False, cancel_futures=True)
            for found in pool.map(answer, items):
                answers.append(found)
                self.observe(len(answers), len(items))
        return answers
