"""A GPU behind the real bindings: the driver's calls as CUDA documents them, its kernels run by the simulator.

It is as strict as a driver: handles that are of another kind or destroyed, calls without a context, captures that are
disturbed, and streams that do not come back to the one that is captured are errors.  Work runs when it is put on a
stream; what is captured runs when its graph is launched.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.backends.nvptx.simulator import Machine, parse_ptx
from compiler.backends.nvptx.target import runs

INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONTEXT, INVALID_PTX, INVALID_HANDLE, UNSUPPORTED = 1, 2, 201, 218, 400, 900
ISOLATION, UNJOINED, NOT_CAPTURED = 905, 904, 901
_CONTEXT = 0x77
_NON_BLOCKING, _NO_TIMING, _RELAXED = 1, 2, 2
_MAJOR, _MINOR, _MOST_SHARED, _LOG, _LOG_BYTES = 75, 76, 8, 5, 6
_STATIC_SHARED_BYTES = 48 * 1024


class Refused(Exception):
    """What a call answers instead of 0."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass
class Graph:
    """What is being captured: work in order, and how far every stream comes behind the others."""

    work: list[Callable[[], None]] = field(default_factory=list)
    clocks: dict[int, dict[int, int]] = field(default_factory=dict)
    is_over: bool = False


@dataclass
class Stream:
    graph: Graph | None = None
    mode: int = _RELAXED


@dataclass
class Event:
    flags: int
    recorded: tuple[Graph | None, dict[int, int]] | None = None


@dataclass
class Module:
    ptx: Any


@dataclass
class Function:
    ptx: Any
    name: str
    most_shared: int = _STATIC_SHARED_BYTES


class Gpu:
    """The driver's calls by name; each gets the eleven words that may be its arguments."""

    def __init__(self, library: str, capability: int = 90) -> None:
        self.capability = capability
        self.machine = Machine()
        self.most_bytes = 1 << 30
        self.allocated: dict[int, int] = {}
        self.pinned: dict[int, Any] = {}
        self.things: dict[int, Any] = {}
        self.calls: list[str] = []
        self.before: dict[str, Callable[[], None]] = {}
        self._local, self._lock, self._handles = threading.local(), threading.RLock(), iter(range(0x1000, 1 << 30, 16))
        self._handler = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64))(self._call)
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL).set_handler(self._handler)

    def _call(self, name: bytes, arguments: Any) -> int:
        call = name.decode()
        self.before.pop(call, lambda: None)()
        with self._lock:
            self.calls.append(call)
            try:
                getattr(self, f"_{call}")(*arguments[:11])
            except Refused as refused:
                return refused.status
        return 0

    def count(self) -> Counter[str]:
        """How often each call was made since the last count."""
        calls, self.calls = self.calls, []
        return Counter(calls)

    def _give(self, place: int, thing: Any) -> None:
        handle = next(self._handles)
        self.things[handle] = thing
        _word(place).value = handle

    def _get(self, handle: int, kind: type) -> Any:
        self._enter()
        thing = self.things.get(handle)
        if not isinstance(thing, kind):
            raise Refused(INVALID_HANDLE)
        return thing

    def _enter(self) -> None:
        if getattr(self._local, "contexts", [])[-1:] != [_CONTEXT]:
            raise Refused(INVALID_CONTEXT)

    def _enter_unsafe(self) -> None:
        """A call that a thread must not make while it captures, unless it does so relaxed."""
        self._enter()
        if getattr(self._local, "strict", 0):
            raise Refused(UNSUPPORTED)

    def _destroy(self, kind: type) -> Callable[..., None]:
        def destroy(handle: int, *_: int) -> None:
            self._get(handle, kind)
            del self.things[handle]

        return destroy

    def __getattr__(self, name: str) -> Any:
        kinds = {"Stream": Stream, "Event": Event, "Graph": Graph, "GraphExec": list}
        found = re.fullmatch(r"_cu(\w+)Destroy", name)
        if not found:
            raise AttributeError(name)
        return self._destroy(kinds[found[1]])

    # -- the context, and what is known of the device ------------------------------------------------------------
    def _cuInit(self, *_: int) -> None:
        pass

    def _cuDeviceGet(self, place: int, *_: int) -> None:
        ctypes.c_int.from_address(place).value = 0

    def _cuDeviceGetAttribute(self, place: int, attribute: int, *_: int) -> None:
        known = {_MAJOR: self.capability // 10, _MINOR: self.capability % 10}
        ctypes.c_int.from_address(place).value = known[_low(attribute)]

    def _cuDevicePrimaryCtxRetain(self, place: int, *_: int) -> None:
        _word(place).value = _CONTEXT

    def _cuCtxSetCurrent(self, context: int, *_: int) -> None:
        self._local.contexts = [context]

    def _cuCtxPushCurrent(self, context: int, *_: int) -> None:
        self._local.contexts = [*getattr(self._local, "contexts", []), context]

    def _cuCtxPopCurrent(self, *_: int) -> None:
        self._local.contexts = self._local.contexts[:-1]

    def _cuGetErrorString(self, _: int, place: int, *__: int) -> None:
        self._sentence = ctypes.create_string_buffer(b"a sentence")
        _word(place).value = ctypes.addressof(self._sentence)

    # -- streams, events, graphs ---------------------------------------------------------------------------------
    def _put(self, stream: int, work: Callable[[], None]) -> None:
        graph = self._get(stream, Stream).graph
        if graph is None:
            work()
            return
        graph.work.append(work)
        clock = graph.clocks[stream]
        clock[stream] = clock.get(stream, 0) + 1

    def _cuStreamCreate(self, place: int, flags: int, *_: int) -> None:
        self._enter()
        assert _low(flags) == _NON_BLOCKING
        self._give(place, Stream())

    def _cuStreamSynchronize(self, stream: int, *_: int) -> None:
        if self._get(stream, Stream).graph is not None:
            raise Refused(UNSUPPORTED)

    def _cuEventCreate(self, place: int, flags: int, *_: int) -> None:
        self._enter()
        self._give(place, Event(_low(flags)))

    def _cuEventRecord(self, event: int, stream: int, *_: int) -> None:
        graph = self._get(stream, Stream).graph
        self._get(event, Event).recorded = (graph, dict(graph.clocks[stream]) if graph else {})

    def _cuStreamWaitEvent(self, stream: int, event: int, *_: int) -> None:
        waiting, recorded = self._get(stream, Stream), self._get(event, Event).recorded
        if recorded is None:
            return
        graph, clock = recorded
        if waiting.graph not in (None, graph) or (graph is not None and graph.is_over):
            raise Refused(ISOLATION)
        if graph is not None:
            waiting.graph = graph
            mine = graph.clocks.setdefault(stream, {})
            mine.update({other: max(time, mine.get(other, 0)) for other, time in clock.items()})

    def _cuEventSynchronize(self, event: int, *_: int) -> None:
        self._get(event, Event)

    def _cuEventElapsedTime(self, place: int, *events: int) -> None:
        if any(self._get(event, Event).flags & _NO_TIMING for event in events[:2]):
            raise Refused(INVALID_HANDLE)
        ctypes.c_float.from_address(place).value = 0.5

    def _cuStreamBeginCapture(self, stream: int, mode: int, *_: int) -> None:
        begun = self._get(stream, Stream)
        if begun.graph is not None:
            raise Refused(UNSUPPORTED)
        begun.graph, begun.mode = Graph(clocks={stream: {}}), _low(mode)
        self._local.strict = getattr(self._local, "strict", 0) + (begun.mode != _RELAXED)

    def _cuStreamEndCapture(self, stream: int, place: int, *_: int) -> None:
        begun = self._get(stream, Stream)
        graph = begun.graph
        if graph is None:
            raise Refused(NOT_CAPTURED)
        self._local.strict -= begun.mode != _RELAXED
        for thing in self.things.values():
            if isinstance(thing, Stream) and thing.graph is graph:
                thing.graph = None
        graph.is_over = True
        reached = graph.clocks[stream]
        if any(clock.get(other, 0) > reached.get(other, 0) for other, clock in graph.clocks.items()):
            raise Refused(UNJOINED)
        self._give(place, graph)

    def _cuGraphInstantiateWithFlags(self, place: int, graph: int, *_: int) -> None:
        self._give(place, list(self._get(graph, Graph).work))

    _cuGraphInstantiate = _cuGraphInstantiateWithFlags

    def _cuGraphLaunch(self, executable: int, stream: int, *_: int) -> None:
        self._cuStreamSynchronize(stream)
        for work in self._get(executable, list):
            work()

    # -- memory --------------------------------------------------------------------------------------------------
    def _cuMemAlloc(self, place: int, size: int, *_: int) -> None:
        self._enter_unsafe()
        if not size:
            raise Refused(INVALID_VALUE)
        if sum(self.allocated.values()) + size > self.most_bytes:
            raise Refused(OUT_OF_MEMORY)
        address = _word(place).value = self.machine.allocate(size)
        self.allocated[address] = size

    def _cuMemFree(self, address: int, *_: int) -> None:
        self._enter_unsafe()
        self.machine.free(address)
        del self.allocated[address]

    def _cuMemHostAlloc(self, place: int, size: int, *_: int) -> None:
        self._enter_unsafe()
        memory = np.zeros(size, np.uint8)
        address = _word(place).value = memory.ctypes.data
        self.pinned[address] = memory

    def _cuMemFreeHost(self, address: int, *_: int) -> None:
        self._enter_unsafe()
        del self.pinned[address]

    def _check_pinned(self, stream: int, address: int, size: int) -> None:
        """A graph must find the host's memory in its place whenever it runs."""
        if self._get(stream, Stream).graph is not None and not any(
            start <= address and address + size <= start + memory.size for start, memory in self.pinned.items()
        ):
            raise Refused(UNSUPPORTED)

    def _cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: int, *_: int) -> None:
        self._check_pinned(stream, source, size)
        self._put(stream, lambda: self.machine.write(target, ctypes.string_at(source, size)))

    def _cuMemcpyDtoHAsync(self, target: int, source: int, size: int, stream: int, *_: int) -> None:
        self._check_pinned(stream, target, size)
        self._put(stream, lambda: ctypes.memmove(target, self.machine.read(source, size), size) and None)

    def _cuMemcpyDtoDAsync(self, target: int, source: int, size: int, stream: int, *_: int) -> None:
        self._put(stream, lambda: self.machine.write(target, self.machine.read(source, size)))

    # -- modules and launches ------------------------------------------------------------------------------------
    def _cuModuleLoadDataEx(self, place: int, image: int, count: int, options: int, values: int, *_: int) -> None:
        self._enter_unsafe()
        text = ctypes.string_at(image).decode()
        given = {
            ctypes.c_int.from_address(options + 4 * i).value: _word(values + 8 * i).value for i in range(_low(count))
        }
        if not runs(re.search(r"\.target (\w+)", text)[1], self.capability):  # type: ignore[index]
            words = b"line 3: no\0"
            assert given[_LOG_BYTES] >= len(words)
            ctypes.memmove(given[_LOG], words, len(words))
            raise Refused(INVALID_PTX)
        self._give(place, Module(parse_ptx(text)))

    def _cuModuleUnload(self, module: int, *_: int) -> None:
        self._destroy(Module)(module)

    def _cuModuleGetFunction(self, place: int, module: int, name: int, *_: int) -> None:
        ptx, function = self._get(module, Module).ptx, ctypes.string_at(name).decode()
        if function not in ptx.kernels:
            raise Refused(INVALID_VALUE)
        self._give(place, Function(ptx, function))

    def _cuFuncSetAttribute(self, function: int, attribute: int, value: int, *_: int) -> None:
        assert _low(attribute) == _MOST_SHARED
        self._get(function, Function).most_shared = _low(value)

    def _cuLaunchKernel(self, function: int, *rest: int) -> None:
        launched, (*extents, shared) = self._get(function, Function), map(_low, rest[:7])
        stream, pointers, extra = rest[7:10]
        if not all(extents) or shared > launched.most_shared or extra:
            raise Refused(INVALID_VALUE)
        count = len(launched.ptx.kernels[launched.name].parameters)
        # The arguments are read during the call.
        values = [_word(_word(pointers + 8 * number).value).value for number in range(count)]
        grid, block = tuple(extents[:3]), tuple(extents[3:])

        def work() -> None:
            self.machine.launch(launched.ptx, launched.name, grid, block, values, shared_bytes=shared)

        self._put(stream, work)


def _word(address: int) -> Any:
    return ctypes.c_uint64.from_address(address)


def _low(value: int) -> int:
    """What an argument of 32 bits is: the rest of its word is anything."""
    return value & 0xFFFF_FFFF
