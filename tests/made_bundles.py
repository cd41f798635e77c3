"""A failure that shows wherever it runs, and bundles of it."""

import ml_dtypes
import numpy as np

from xlabench.bundles import saving
from xlabench.bundles.failure import Failure

PROGRAM = """HloModule m

ENTRY e {
  x = bf16[3]{0} parameter(0)
  ROOT y = bf16[3]{0} add(x, x)
}
"""
ENDLESS = """HloModule m

same {
  ROOT s = f32[] parameter(0)
}

always {
  s = f32[] parameter(0)
  ROOT t = pred[] constant(true)
}

ENTRY e {
  x = f32[] parameter(0)
  ROOT y = f32[] while(x), condition=always, body=same
}
"""
X = np.array([1.5, -2.0, np.nan], ml_dtypes.bfloat16)
FLOATS = "ENTRY e { x = f32[3] parameter(0) ROOT y = f32[3] add(x, x) }"
ONES = np.ones(3, np.float32)
NEAR = ONES + ONES + np.array([0, 0, 2.0**-20], np.float32)
"""Inside of the tolerance of f32, beyond what one sum may err."""


def failure(**changes):
    """A right program whose expected result was tampered with, so that the failure shows wherever it runs."""
    fields = {
        "module_text": PROGRAM,
        "inputs": [X],
        "expected": [X + X + np.float32(1).astype(X.dtype)],
        "actual": [X + X],
        "engine": "reference",
        "reference": "reference",
        "seed": 7,
        "verdict": "wrong",
        "message": "2 of 3 elements are wrong",
    }
    return Failure(**{**fields, **changes})


def draft(folder, **changes):
    """A bundle on disk without the verification, which takes a process."""
    folder.mkdir()
    for name, data in saving._contents(failure(**changes)).items():
        (folder / name).write_bytes(data)
    return folder
