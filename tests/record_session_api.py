"""Have TensorFlow evaluate the expressions of the files `session_*.py` beside this one, and keep what it says.

python tests/record_session_api.py        in an environment with tensorflow-cpu 2.21
"""

import json
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
RECORDED = HERE / "xlabench" / "tensorflow" / "api.json"


def main() -> None:
    """Write `api.json`, with TensorFlow in the place of ours."""
    tensorflow = import_module("tensorflow.compat.v1")
    tensorflow.disable_eager_execution()
    tensorflow.disable_v2_tensorshape()
    sys.modules["xlabench"] = sys.modules["xlabench.tensorflow"] = tensorflow
    tensorflow.tensorflow = tensorflow
    sys.path.insert(0, str(HERE))
    cases, more = import_module("session_api"), import_module("session_functions")
    tables = more.FUNCTIONS, import_module("session_training").TRAINING, import_module("session_arrays").ARRAYS
    every = {text: case for table in (cases.EXACT, cases.VALUES, *tables) for text, case in table.items()}
    found = {text: cases.recorded(case) for text, case in every.items()}
    rows = (f"{json.dumps(text)}: {json.dumps(said)}" for text, said in found.items())
    RECORDED.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
