"""`tf.compat.v1`: the namespace itself, which is that of version 1."""

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
