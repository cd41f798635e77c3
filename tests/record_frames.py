"""Record the graphs that TensorFlow makes of the programs in `frame_programs.py`, and what they compute.

    pip install tensorflow-cpu==2.21.* . && python tests/record_frames.py

It writes `compiler/tf2xla/frames.npz` beside itself: for each program its graph in binary form, the names of what is
fetched, and the results.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import tensorflow as tf
from frame_programs import PROGRAMS, RECORDED


def main() -> None:
    """Record every program."""
    tf.compat.v1.disable_eager_execution()
    tf.compat.v1.disable_control_flow_v2()
    found: dict[str, np.ndarray[Any, Any]] = {}
    for name, (build, given) in PROGRAMS.items():
        with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
            x = tf.compat.v1.placeholder(tf.as_dtype(given.dtype), given.shape, name="x")
            fetches = tf.nest.flatten(build(tf, x))
            session.run(tf.compat.v1.global_variables_initializer())
            results = session.run(fetches, {x: given})
            definition = graph.as_graph_def()
        found[f"{name} graph"] = np.frombuffer(definition.SerializeToString(), np.uint8)
        names = json.dumps([one.name for one in fetches]).encode()
        found[f"{name} fetches"] = np.frombuffer(names, np.uint8)
        found |= {f"{name} {number}": np.asarray(one) for number, one in enumerate(results)}
    np.savez_compressed(RECORDED, **found)


if __name__ == "__main__":
    main()
