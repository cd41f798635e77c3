"""Write down what functions and classes of `tf.compat.v1` take: the table that `xlabench.tensorflow` is held against.

python tests/record_signatures.py        in an environment with tensorflow-cpu 2.21

Not in it are the namespaces that need Keras 2 (`tf.layers`, `tf.nn.rnn_cell`), and those of which nothing is here.
"""

import inspect
import json
from importlib import import_module
from pathlib import Path

RECORDED = Path(__file__).parent / "xlabench" / "tensorflow" / "signatures.json"
SPACES = """
 bitwise debugging dtypes graph_util image initializers linalg logging losses manip math metrics nn quantization random
 saved_model saved_model.loader signal spectral summary train
"""


def taken(function) -> str | None:
    """The parameters of a function in order, `=` behind those that may be left out; None where Python cannot say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    words = []
    for one in parameters:
        mark = "/" if one.kind is inspect.Parameter.KEYWORD_ONLY else ""
        end = "" if one.default is inspect.Parameter.empty else "="
        words.append(f"{stars.get(one.kind, mark)}{one.name}{end}")
    return " ".join(words)


def recorded() -> dict[str, list[str]]:
    """The names that take the same, by what they take."""
    tensorflow = import_module("tensorflow.compat.v1")
    found: dict[str, list[str]] = {}
    for space in ["", *SPACES.split()]:
        module = tensorflow
        for word in space.split(".") if space else []:
            module = getattr(module, word)
        for name in sorted(dir(module)):
            value = getattr(module, name)
            if name.startswith("_") or inspect.ismodule(value) or not callable(value):
                continue
            said = taken(value)
            if said is not None:
                found.setdefault(said, []).append(f"{space}.{name}" if space else name)
    return found


def main() -> None:
    """Write the table, a line for each way of calling."""
    rows = (f"{json.dumps(said)}: {json.dumps(' '.join(names))}" for said, names in sorted(recorded().items()))
    RECORDED.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
