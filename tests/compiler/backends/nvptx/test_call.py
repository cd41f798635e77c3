"""A run of a program: what it asks of a device and in what order, whichever device that is."""

import itertools

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.analysis.storage import Buffer, Storage
from compiler.backends.nvptx.call import Call
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.steps import ConditionalStep, CopyStep, LaunchStep, RecordStep, WaitStep, WhileStep

TEXT = "ENTRY e { x = f32[4] parameter(0)  y = f32[4] sine(x)  ROOT z = f32[4] add(x, y) }"
X = np.zeros(4, np.float32)
OWNER = compiler.parse(TEXT).entry.root
GIVEN, MADE = Buffer(Storage.PARAMETER, 16, OWNER), Buffer(Storage.RESULT, 16, OWNER)
ARENA = Buffer(Storage.ARENA, 4, OWNER, offset=64)


class Device:
    """Keeps what it was asked, and answers what a test wants to be read of it."""

    replays = False

    def __init__(self, *, separate=False, reads=()):
        self.separate_buffers = separate
        self.asked, self.live = [], set()
        self._addresses, self._reads = itertools.count(1000, 1000), iter(reads)

    def allocate(self, size_bytes):
        address = next(self._addresses)
        self.live.add(address)
        return address

    def free(self, address):
        self.live.remove(address)

    def download(self, address, data):
        if not data.ndim:
            data[...] = next(self._reads)
        self.asked.append(("download", address))

    def timed(self, action):
        action()
        return 7.0

    def __getattr__(self, name):
        return lambda *given: self.asked.append((name, *(one for one in given if not isinstance(one, np.ndarray))))


@pytest.fixture(scope="module")
def program():
    options = CompileOptions(device="sim", opt=0)
    return compiler.compile(TEXT, backend="nvptx", options=options)._program


@pytest.fixture
def begin(program):
    def call(device):
        return Call(device, device, program, {}, [X], [np.empty_like(X)])

    return call


def launched(device):
    return [asked[1].function for asked in device.asked if asked[0] == "launch"]


def step(name, *buffers):
    return LaunchStep(Launch(name, 1, 32), buffers, 1)


def test_memory_is_had_filled_and_given_back_whatever_happens(begin):
    device = Device()
    call = begin(device)
    with call.memory():
        assert device.asked == [("upload", 1000)]
        assert len(device.live) >= 2
    assert device.live == set()
    with pytest.raises(StopIteration), call.memory():
        call._read(MADE, np.dtype(np.uint8))
    assert device.live == set()


def test_buffers_lie_where_their_storage_is_or_each_by_itself(begin):
    call = begin(Device())
    with call.memory():
        assert (call.address(GIVEN), call.address(MADE), call.address(None)) == (1000, 2000, 0)
        assert call.address(ARENA) == call._arena + 64
        call.addresses[ARENA] = 5
        assert call.address(ARENA) == 5


def test_a_launch_gets_the_addresses_and_then_its_numbers(begin):
    device = Device()
    call = begin(device)
    launch = LaunchStep(Launch("k", 2, 32, numbers=(7, 8)), (GIVEN, None, MADE), 1, stream=3)
    with call.memory():
        call.run_steps([launch, CopyStep(GIVEN, MADE, stream=1)])
    assert device.asked[1:] == [("launch", launch.launch, [1000, 0, 2000, 7, 8], 3), ("copy", 1000, 2000, 16, 1)]


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_counted_loop_asks_nothing(begin, count):
    device = Device()
    call = begin(device)
    with call.memory():
        call.run_steps([WhileStep((step("c", MADE),), ARENA, (step("b", MADE),), trip_count=count)])
    assert launched(device) == ["b"] * count


def test_a_loop_goes_on_as_long_as_its_condition_leaves_true(begin):
    device = Device(reads=[1, 1, 0])
    call = begin(device)
    with call.memory():
        call.run_steps([WhileStep((step("c", MADE),), ARENA, (step("b", MADE),))])
    assert launched(device) == ["c", "b", "c", "b", "c"]


@pytest.mark.parametrize(
    ("is_pred", "selector", "taken"),
    [(True, 1, "a"), (True, 0, "b"), (False, 0, "a"), (False, 2, "c"), (False, 3, "c"), (False, -1, "c")],
)
def test_a_branch_is_taken_by_number_and_the_last_for_a_number_that_is_none(begin, is_pred, selector, taken):
    device = Device(reads=[selector])
    call = begin(device)
    branches = tuple((step(name, MADE),) for name in ("ab" if is_pred else "abc"))
    with call.memory():
        call.run_steps([ConditionalStep(ARENA, is_pred, branches)])
    assert launched(device) == [taken]


def test_events_order_streams_but_where_each_launch_is_timed(begin):
    steps = [RecordStep(0, 1), WaitStep(0, 2), step("k", MADE)]
    device, times = Device(), {}
    call = begin(device)
    with call.memory():
        call.run_steps(steps)
    assert [asked[0] for asked in device.asked[1:]] == ["record", "wait", "launch"]
    call = begin(device := Device())
    with call.memory():
        call.run_steps(steps, times)
    assert [asked[0] for asked in device.asked[1:]] == ["launch"]
    assert {name: time.duration_ns for name, time in times.items()} == {"k": 7}


def test_results_are_whole_only_when_the_device_has_finished(begin):
    device = Device()
    call = begin(device)
    with call.memory():
        call.results()
    assert [asked[0] for asked in device.asked[1:]] == ["download", "finish"]
