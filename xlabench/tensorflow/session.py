"""`tf.Session`: runs parts of a graph, and keeps its variables between runs.

What a run does is planned once for its fetches and feeds (`runtime/plan.py`), so that a step that a program takes again
costs a look-up, the check of what is fed, and its kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from xlabench.tensorflow.config import ConfigProto, RunMetadata, RunOptions
from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework.graph import SESSIONS, Graph, get_default_graph
from xlabench.tensorflow.runtime import calls, clustering, executor, fetches, plan, step_stats, steps
from xlabench.tensorflow.runtime.feeds import Fed, keys_of
from xlabench.tensorflow.runtime.placement import lines_of
from xlabench.tensorflow.runtime.resources import Resources
from xlabench.tensorflow.runtime.settings import devices

_ONLY_LOCAL = "sessions of other processes are not there: leave the target out"


class BaseSession:
    """What every session does."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        """Begin.

        Args:
            target: of a session of this process nothing.
            graph: what is run, by default the default graph.
            config: options.
        """
        if target:
            raise NotHereError(f"Session(target={target!r}): {_ONLY_LOCAL}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"Argument `config` must be a tf.ConfigProto, but got '{type(config).__name__}'")
        self._graph = graph if graph is not None else get_default_graph()
        self._config = config if config is not None else ConfigProto()
        self._devices = {
            name: one
            for name, one in devices().items()
            if self._config.device_count.get(one.device_name.type, 1) > 0 or one.is_host
        }
        self._resources = Resources()
        self._clusters = clustering.Clusters(self._config, next(iter(self._devices)))
        self._plans: dict[Any, steps.Plan] = {}
        self._fetches: dict[Any, fetches.Fetches] = {}
        self._fed: dict[Any, Fed] = {}
        self._is_closed = False
        self._logged = 0
        self.copies: dict[tuple[str, str], int] = {}
        """How many values were copied from one device to another, by both names."""

    @property
    def graph(self) -> Graph:
        """What is run."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as data."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        """What it is connected to."""
        return ""

    def list_devices(self) -> list[Any]:
        """The devices that there are."""
        return list(self._devices.values())

    def close(self) -> None:
        """End; its variables are forgotten."""
        self._is_closed = True
        self._resources = Resources()
        self._plans.clear()

    @contextmanager
    def as_default(self) -> Iterator[BaseSession]:
        """What `eval` and `run` of tensors and operations use."""
        SESSIONS.append(self)
        try:
            with self._graph.as_default():
                yield self
        finally:
            SESSIONS.remove(self)

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Run what is fetched, and give its values in the structure in which it was asked for.

        Args:
            fetches: tensors, operations or their names, in lists, tuples, named tuples and dictionaries.
            feed_dict: values for tensors, which are not computed then.
            options: whether the run is traced.
            run_metadata: where the trace goes.

        Raises:
            OpError: a node failed.
            TypeError: a fetch or feed is none.
            ValueError: it is not in the graph, or has other sizes.
            RuntimeError: the session is closed.
        """
        if self._is_closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph.version:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")
        asked = self._asked(fetches)
        fed = [self._feed(key) for key in feed_dict] if feed_dict else []
        values = [one.value(given) for one, given in zip(fed, feed_dict.values(), strict=True)] if feed_dict else []
        names = tuple([one.name for one in fed])
        key = asked.tensors, asked.targets, names
        planned = self._plans.get(key)
        if self._config.log_device_placement:
            self._log_placement()
        if planned is None:
            planned = self._plans[key] = self._planned(asked, names)
        is_traced = options is not None and options.trace_level > RunOptions.NO_TRACE and run_metadata is not None
        rows: list[steps.Row] | None = [] if is_traced else None
        found = executor.run(planned, values, rows)
        for pair, count in planned.copies.items():
            self.copies[pair] = self.copies.get(pair, 0) + count
        if rows is not None and run_metadata is not None:
            step_stats.record(rows, run_metadata)
        return asked.build([_result(value) for value in found])

    def make_callable(self, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Any:
        """A function of the values of what is fed, `feed_list`, that runs `fetches`, which are as of `run`.

        With `accept_options` it also takes `options` and `run_metadata` by name.
        """
        feeds = list(feed_list or ())

        def call(*values: Any, **traced: Any) -> Any:
            if len(values) != len(feeds):
                raise ValueError(f"Expected {len(feeds)} positional arguments, got {len(values)}")
            given = dict(zip(feeds, values, strict=True))
            return self.run(fetches, given, **(traced if accept_options else {}))

        return call

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> Any:
        """Refuse: a run is whole.

        Raises:
            NotHereError: always.
        """
        raise NotHereError("Session.partial_run_setup: a run is whole here; use Session.run with all feeds at once")

    def partial_run(self, handle: Any, fetches: Any, feed_dict: Any = None) -> Any:
        """Refuse, as `partial_run_setup` does: there is no `handle` of which `fetches` may be had with `feed_dict`.

        Raises:
            NotHereError: always.
        """
        raise NotHereError("Session.partial_run: a run is whole here; use Session.run with all feeds at once")

    def _asked(self, what: Any) -> fetches.Fetches:
        key = _identity(what)
        asked = self._fetches.get(key) if key is not None else None
        if asked is None:
            asked = fetches.of(self._graph, what)
            if key is not None:
                self._fetches[key] = asked
        return asked

    def _feed(self, key: Any) -> Fed:
        fed = self._fed.get(key)
        if fed is None or fed.dims != fed.tensor.output.shape.dims:
            [fed] = keys_of(self._graph, [key])  # type: ignore[arg-type]  # keys are all that counts
            self._fed[key] = fed
        return fed

    def _log_placement(self) -> None:
        """Print where nodes run, once for each state of the graph, as TensorFlow prints it."""
        if self._logged == self._graph.version:
            return
        self._logged = self._graph.version
        nodes = self._graph.definition.nodes
        for line in lines_of(nodes, self._devices, is_soft=bool(self._config.allow_soft_placement)):
            print(line)  # noqa: T201 - TensorFlow prints it

    def _planned(self, asked: fetches.Fetches, feeds: tuple[str, ...]) -> steps.Plan:
        around = plan.Around(
            self._devices,
            self._resources,
            self._clusters.cluster,
            {**calls.CALLS, **self._clusters.kernels},
            is_soft=bool(self._config.allow_soft_placement),
        )
        wanted = [one.name for one in asked.tensors]
        return plan.make(self._graph.definition, feeds, wanted, asked.targets, around)


def _identity(what: Any) -> Any:
    """A key by which the same fetches are known again; None where there is none."""
    if isinstance(what, list | tuple):
        elements = tuple([_identity(one) for one in what])
        return None if None in elements else (type(what), elements)
    return what if hasattr(what, "graph") and what.__hash__ is not None else None


def _result(value: Any) -> Any:
    """What the caller gets, who may change it: a copy, a number where it has no dimensions."""
    if isinstance(value, np.ndarray):
        return value.copy() if value.ndim else value[()]
    return value


class Session(BaseSession):
    """A session; as a context it is the default one, and ends with it."""

    def __enter__(self) -> Session:
        self._entered = self.as_default()
        self._entered.__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._entered.__exit__(kind, error, trace)
        self.close()


class InteractiveSession(BaseSession):
    """A session that is the default one from its beginning to its end."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        """Begin, and be the default."""
        super().__init__(target, graph, config)
        self._entered = self.as_default() if graph is not None else None
        if self._entered is not None:
            self._entered.__enter__()
        else:
            SESSIONS.append(self)

    def close(self) -> None:
        """End, and be the default no longer."""
        super().close()
        if self._entered is not None:
            self._entered.__exit__(None, None, None)
            self._entered = None
        elif self in SESSIONS:
            SESSIONS.remove(self)


def get_default_session() -> BaseSession | None:
    """The innermost session that is the default."""
    return SESSIONS[-1] if SESSIONS else None
