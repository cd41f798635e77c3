"""What is decided is noted for whoever watches, in the same thread, and for nobody else."""

import threading
from types import SimpleNamespace

from compiler.ir.decisions import Decisions, rewritten, watching, went

REWRITES = [SimpleNamespace(pass_name="dce", rule="dead", where=where) for where in ("e/a", "e/b", "e/a")]
FUNCTION = SimpleNamespace(name="f", lines=["entry.0:", "vector.loop.12:", "  %x = add i32 1, 2", "tail.3:"])


def test_rules_are_kept_with_their_places_and_ways_with_their_kernels():
    with watching() as found:
        rewritten(REWRITES)
        went("cpu", [("loop", ["f", "gone"])], [FUNCTION])
    assert found.rules == {"dce: dead": {"e/a", "e/b"}}
    assert found.ways == {"cpu loop", "cpu loop entry", "cpu loop vector.loop", "cpu loop tail"}


def test_nobody_is_told_after_the_end_or_in_another_thread():
    with watching() as found:
        thread = threading.Thread(target=rewritten, args=(REWRITES,))
        thread.start()
        thread.join()
    rewritten(REWRITES)
    assert found == Decisions()


def test_watching_within_watching_tells_the_inner_one():
    with watching() as outer:
        with watching() as inner:
            rewritten(REWRITES)
        assert outer == Decisions()
        outer.add(inner)
        outer.add(inner)
    assert outer == inner
