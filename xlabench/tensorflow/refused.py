"""What TensorFlow has and the namespace has not, with what to do instead.

A name stands for all that is under it.  Whoever asks for one reads the sentence.
"""

from __future__ import annotations

from collections.abc import Mapping

_NO_QUEUES = "queues are not there; feed arrays with feed_dict"
_QUEUES = (
    *("FIFOQueue", "FixedLengthRecordReader", "IdentityReader", "PaddingFIFOQueue", "PriorityQueue", "QueueBase"),
    *("RandomShuffleQueue", "ReaderBase", "TFRecordReader", "TextLineReader", "WholeFileReader"),
    *(
        f"train.{word}"
        for word in (
            *("Coordinator", "QueueRunner", "add_queue_runner", "batch", "batch_join", "input_producer"),
            *("limit_epochs", "maybe_batch", "maybe_shuffle_batch", "queue_runner", "range_input_producer"),
            *("shuffle_batch", "shuffle_batch_join", "slice_input_producer", "start_queue_runners"),
            *("string_input_producer",),
        )
    ),
)
_NO_HOOKS = "monitored sessions, and hooks in them, are not there; use tf.Session, and call in its loop what hooks do"
_MONITORED = (
    *("CheckpointSaverHook", "FinalOpsHook", "LoggingTensorHook", "MonitoredSession", "MonitoredTrainingSession"),
    *("NanTensorHook", "ProfilerHook", "Scaffold", "SessionRunArgs", "SessionRunHook", "SingularMonitoredSession"),
    *("StepCounterHook", "StopAtStepHook", "SummarySaverHook", "Supervisor"),
)
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(_QUEUES, _NO_QUEUES),
    **{f"train.{word}": _NO_HOOKS for word in _MONITORED},
    "data": "tf.data is not there; feed arrays with feed_dict",
    "keras": "Keras is not there; build the graph with tf.nn",
    "estimator": "estimators are not there; write the training loop with a session",
    "saved_model.builder": "models of several graphs are not written here; use tf.saved_model.simple_save",
    "saved_model.Builder": "models of several graphs are not written here; use tf.saved_model.simple_save",
    "distribute": "strategies are not there; a session runs on one device",
    "function": "tf.function is not there; use a session",
    "GradientTape": "eager execution is not there; use tf.gradients and a session",
    "py_function": "eager execution is not there; use tf.py_func, which gives arrays",
    "train.Server": "sessions of other processes are not there; use tf.Session()",
    "contrib.layers.fully_connected": "contrib's layers are not there; use tf.layers.dense",
    "contrib.learn": "estimators are not there; write the training loop with a session",
    "contrib.slim": "slim is not there; use tf.layers",
    "contrib.tensorboard": "projections are not written here; leave them out, tf.summary writes the rest",
    "contrib.data": "tf.data is not there; feed arrays with feed_dict",
    "contrib.lookup": "tables are not there; number words in Python and feed the numbers",
    "string_join": "tensors of strings are not computed here",
    "as_string": "tensors of strings are not computed here",
    "RegisterGradient": "gradients of ops are those of their records; use tf.stop_gradient to change what passes",
    "custom_gradient": "gradients of ops are those of their records; use tf.stop_gradient to change what passes",
    "fixed_size_partitioner": "variables are not cut in pieces; leave partitioner out",
    "train.SyncReplicasOptimizer": "a session runs on one device; use the optimizer itself",
    "train.replica_device_setter": "sessions of other processes are not there; leave it out",
    "train.ClusterSpec": "sessions of other processes are not there; use tf.Session()",
    "decode_raw": "tensors of strings are not computed here; decode in Python and feed arrays",
    "read_file": "tensors of strings are not computed here; read in Python and feed arrays",
    "parse_single_example": "tensors of strings are not computed here; parse in Python and feed arrays",
    "parse_example": "tensors of strings are not computed here; parse in Python and feed arrays",
    "image.decode_jpeg": "tensors of strings are not computed here; decode in Python and feed arrays",
    "image.decode_png": "tensors of strings are not computed here; decode in Python and feed arrays",
    "image.decode_image": "tensors of strings are not computed here; decode in Python and feed arrays",
    "string_split": "tensors of strings are not computed here",
    "string_to_number": "tensors of strings are not computed here",
    "SparseTensor": "sparse tensors are not there",
    "RaggedTensor": "ragged tensors are not there",
}
"""What TensorFlow has and this has not, and what to do instead."""
