"""A worker that does its jobs in the process of the test, for nights and campaigns in which nothing ends it."""

import traceback
from pkgutil import resolve_name

from xlabench.worker import Outcome


class InProcess:
    """Stands for a `Worker`."""

    def __init__(self, **_options):
        self.stages = [""]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def stop(self):
        """There is no process to stop."""

    def interrupt(self):
        """There is no process to interrupt."""

    def run(self, job, arguments, **_times):
        """Do a job, and let what it raises through."""
        self.stages = [""]
        value = resolve_name(job)(arguments, self.stages.append)
        return Outcome("answered", self.stages[-1], value=value)


class Telling(InProcess):
    """The same, and what a job raises is its answer, as of a process."""

    def run(self, job, arguments, **times):
        """Do a job."""
        try:
            return super().run(job, arguments, **times)
        except Exception as error:  # noqa: BLE001 - as a process does
            names = " ".join(kind.__name__ for kind in type(error).__mro__)
            said = "".join(traceback.format_exception(error))
            return Outcome("raised", self.stages[-1], error=names, message=str(error), output=said)
