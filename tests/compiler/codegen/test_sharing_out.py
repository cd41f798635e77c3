"""Work is done whether the system gives threads for it or not."""

import _thread
import subprocess
import sys
import threading

import pytest

from compiler.codegen.sharing_out import share_out

LIMITED = """
import resource, threading
import compiler
from compiler.codegen.sharing_out import share_out

compiler.compile("ENTRY e { x = f32[4] parameter(0)  ROOT y = f32[4] sine(x) }")
threading.stack_size(2 << 30)
memory = 1 << 30  # room to compile, and none for a stack
resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
try:
    threading.Thread(target=print).start()
except RuntimeError as error:
    print(error)
print(share_out(abs, [-1, 2, -3], threads=3))
lines = "".join(f"y{i} = f32[64,64] dot(x{i}, x{i}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{i % 2}}}"
    f"  t{i} = f32[64,64] sine(y{i})  x{i + 1} = f32[64,64] transpose(t{i}), dimensions={{1,0}}\\n" for i in range(6))
text = "ENTRY e { x0 = f32[64,64] parameter(0)\\n" + lines + "ROOT r = f32[64,64] negate(x6) }"
print(type(compiler.compile(text, options=compiler.CompileOptions(threads=4))).__name__)
"""


@pytest.mark.parametrize("threads", [1, 2, 3, 50])
def test_everything_is_done_in_order(threads):
    assert share_out(str, list(range(40)), threads=threads) == [str(number) for number in range(40)]
    assert share_out(str, [], threads=threads) == []


def test_several_work_at_a_time():
    meeting = threading.Barrier(3, timeout=30)
    assert share_out(lambda number: meeting.wait() >= 0 and number, [1, 2, 3], threads=3) == [1, 2, 3]


@pytest.mark.parametrize("threads", [1, 4])
def test_what_is_raised_is_raised_by_the_caller(threads):
    def work(number):
        if number == 2:
            raise LookupError(f"no {number}")
        return number

    with pytest.raises(LookupError, match="no 2"):
        share_out(work, [0, 1, 2], threads=threads)


def test_a_thread_that_does_not_come_is_not_waited_for(monkeypatch):
    kept = []
    monkeypatch.setattr(_thread, "start_new_thread", lambda run, arguments: kept.append((run, arguments)))
    assert share_out(str, [1, 2, 3], threads=3) == ["1", "2", "3"]
    assert len(kept) == 2
    for run, arguments in kept:
        run(*arguments)  # it comes late, finds nothing to do and ends


def test_what_another_thread_has_begun_is_waited_for():
    begun, may_end = threading.Event(), threading.Event()

    def work(name):
        if threading.current_thread() is not caller:
            begun.set()
            may_end.wait(30)
        elif begun.wait(30):
            threading.Timer(0.05, may_end.set).start()
        return name

    caller = threading.current_thread()
    assert share_out(work, ["one", "another"], threads=2) == ["one", "another"]
    assert may_end.is_set()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not count a stack as data")
def test_what_no_thread_can_be_started_for_is_done_by_the_caller():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr == ""
    assert done.stdout.split("\n")[:3] == ["can't start new thread", "[1, 2, 3]", "CpuExecutable"]
