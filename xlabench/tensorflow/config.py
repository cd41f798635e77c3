"""The options of sessions and runs, and what a run records, as messages of TensorFlow's names.

Fields that change nothing here (memory fractions, numbers of threads) are kept, so that programs may set them.
"""

from __future__ import annotations

from xlabench.tensorflow.framework.messages import Message


class GPUOptions(Message):
    """Memory of GPUs, of which nothing is asked here."""

    FIELDS = {
        "per_process_gpu_memory_fraction": 0.0,
        "allow_growth": False,
        "allocator_type": "",
        "visible_device_list": "",
        "force_gpu_compatible": False,
    }


class OptimizerOptions(Message):
    """What is done to a graph before it runs; `global_jit_level` alone is heard."""

    L1, L0 = 0, -1
    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    FIELDS = {
        "do_common_subexpression_elimination": False,
        "do_constant_folding": False,
        "do_function_inlining": False,
        "opt_level": 0,
        "global_jit_level": 0,
        "cpu_global_jit": False,
    }


class RewriterConfig(Message):
    """Rewrites of graphs that TensorFlow makes before it runs them, and nobody makes here."""

    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    FIELDS = dict.fromkeys(
        (
            "layout_optimizer",
            "constant_folding",
            "shape_optimization",
            "remapping",
            "arithmetic_optimization",
            "dependency_optimization",
            "loop_optimization",
            "function_optimization",
            "memory_optimization",
            "meta_optimizer_iterations",
        ),
        0,
    ) | {"disable_meta_optimizer": False, "disable_model_pruning": False}


class GraphOptions(Message):
    """What is done with graphs."""

    FIELDS = {
        "optimizer_options": OptimizerOptions,
        "rewrite_options": RewriterConfig,
        "infer_shapes": False,
        "place_pruned_graph": False,
        "build_cost_model": 0,
        "build_cost_model_after": 0,
        "enable_bfloat16_sendrecv": False,
        "timeline_step": 0,
    }


class ConfigProto(Message):
    """The options of a session."""

    FIELDS = {
        "device_count": {},
        "intra_op_parallelism_threads": 0,
        "inter_op_parallelism_threads": 0,
        "use_per_session_threads": False,
        "allow_soft_placement": False,
        "log_device_placement": False,
        "gpu_options": GPUOptions,
        "graph_options": GraphOptions,
        "operation_timeout_in_ms": 0,
        "isolate_session_state": False,
        "device_filters": [str],
    }


class RunOptions(Message):
    """The options of one run."""

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3
    FIELDS = {
        "trace_level": 0,
        "timeout_in_ms": 0,
        "inter_op_thread_pool": 0,
        "output_partition_graphs": False,
        "report_tensor_allocations_upon_oom": False,
    }


class AllocationDescription(Message):
    """The memory of a value."""

    FIELDS = {"requested_bytes": 0, "allocated_bytes": 0, "allocator_name": ""}


class Dim(Message):
    """A size."""

    FIELDS = {"size": 0, "name": ""}


class TensorShapeProto(Message):
    """Sizes."""

    FIELDS = {"dim": [Dim], "unknown_rank": False}


class TensorDescription(Message):
    """What a value is."""

    FIELDS = {
        "dtype": 0,
        "shape": TensorShapeProto,
        "allocation_description": AllocationDescription,
    }


class NodeOutput(Message):
    """One output of a node."""

    FIELDS = {"slot": 0, "tensor_description": TensorDescription}


class AllocatorMemoryUsed(Message):
    """What a node took of an allocator."""

    FIELDS = {
        "allocator_name": "",
        "total_bytes": 0,
        "peak_bytes": 0,
        "live_bytes": 0,
    }


class NodeExecStats(Message):
    """One execution of a node; microseconds since 1970, and from its start on."""

    FIELDS = {
        "node_name": "",
        "all_start_micros": 0,
        "op_start_rel_micros": 0,
        "op_end_rel_micros": 0,
        "all_end_rel_micros": 0,
        "memory": [AllocatorMemoryUsed],
        "output": [NodeOutput],
        "timeline_label": "",
        "scheduled_micros": 0,
        "thread_id": 0,
        "all_start_nanos": 0,
        "op_start_rel_nanos": 0,
        "op_end_rel_nanos": 0,
        "all_end_rel_nanos": 0,
        "scheduled_nanos": 0,
    }


class DeviceStepStats(Message):
    """What one device did in a step."""

    FIELDS = {"device": "", "node_stats": [NodeExecStats]}


class StepStats(Message):
    """What a step did."""

    FIELDS = {"dev_stats": [DeviceStepStats]}


class RunMetadata(Message):
    """What a run records."""

    FIELDS = {"step_stats": StepStats}
