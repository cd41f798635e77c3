"""What a campaign has to know before it draws anything: questions, shared out over watched workers.

What an engine of others supports is some thousand small compilations, which on one worker of several would take longer
than many campaigns do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

from xlabench.worker import Worker

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_STOPPING_S = 0.1


@dataclass(frozen=True, slots=True)
class SupportProbe:
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
        asked: list[Future[Answer]] = []
        with contextlib.ExitStack() as stack:
            workers = [stack.enter_context(self._worker()) for _ in range(self.workers)]
            idle: SimpleQueue[Worker] = SimpleQueue()
            for worker in workers:
                idle.put(worker)

            def answer(item: Item) -> Answer:
                worker = idle.get()
                try:
                    return ask(worker, item)
                finally:
                    idle.put(worker)

            pool = stack.enter_context(ThreadPoolExecutor(self.workers))
            stack.callback(_break_off, asked, workers)
            asked += [pool.submit(answer, item) for item in items]
            for answered in asked:
                answers.append(answered.result())
                self.observe(len(answers), len(items))
        return answers

    def _worker(self) -> Worker:
        return Worker(memory_bytes=self.memory_bytes, preload=self.preload)


def _break_off(asked: Sequence[Future[Any]], workers: Sequence[Worker]) -> None:
    """Ask nothing more, and end what still runs: nobody waits for the answers."""
    for question in asked:
        question.cancel()
    while not all(question.done() for question in asked):  # one may only just be going to its worker
        for worker in workers:
            worker.interrupt()
        wait(asked, _STOPPING_S)
