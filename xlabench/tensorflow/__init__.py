"""TensorFlow's session API on the compiler: graphs, sessions, clusters, timelines, without TensorFlow.

    import xlabench.tensorflow as tf

`xlabench tf SCRIPT` runs a script in which `import tensorflow as tf` means this.  Nothing is loaded here: each name is,
when it is first asked for (`namespace.py`).
"""

from typing import Any

from xlabench.tensorflow import namespace


def __getattr__(name: str) -> Any:
    """What a name of the namespace stands for."""
    if name.startswith("__") and name != "__version__":
        raise AttributeError(name)
    return namespace.resolve(name)


def __dir__() -> list[str]:
    """The names of the namespace."""
    return namespace.known("")
